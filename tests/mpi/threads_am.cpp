// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// Two threads of each rank make sets of active messages, use and free them, each on a communicator of its own: the
// first and the last of all come and go at any time. Then both send by one set, and wait for the answers.
#include <atomic>
#include <rmq/active_messages.hpp>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

void come_and_go(MPI_Comm comm, int rank, int ranks) {
  for (int round = 0; round < 60; ++round) {
    std::atomic<int> handled{0};
    rmq::ActiveMessages am(comm,
                           {[&](rmq::Message& m) { ++handled, m.reply(1, 0); }, [&](rmq::Message&) { ++handled; }});
    am.request((rank + 1) % ranks, 0, round);
    am.flush();
    if (!am.wait([&] { return handled == 2; })) ++check::failures;
  }
}

void both_send(MPI_Comm comm, int ranks) {
  constexpr int kEach = 500;
  std::atomic<int> answers{0};
  rmq::ActiveMessages am(comm, {[](rmq::Message& m) { m.reply(1, 0); }, [&](rmq::Message&) { ++answers; }});
  const auto send = [&] {
    for (int i = 0; i < kEach; ++i) am.request(i % ranks, 0, i);
    am.flush();
    am.wait([&] { return answers == 2 * kEach; });
  };
  std::thread other(send);
  send();
  other.join();
  CHECK(answers == 2 * kEach);
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const int rank = check::rank(), ranks = check::size();
  MPI_Comm comms[2];
  for (MPI_Comm& c : comms) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  std::thread other(come_and_go, comms[0], rank, ranks);
  come_and_go(comms[1], rank, ranks);
  other.join();
  both_send(comms[0], ranks);
  for (MPI_Comm& c : comms) MPI_Comm_free(&c);
  return check::finish();
}
