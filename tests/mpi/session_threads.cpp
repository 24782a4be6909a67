// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// A program whose other threads may call nothing of MPI but what any may: they open sessions and register for events,
// while its one thread sends and receives.
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

long heard = 0;

void on_event(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, void*) {
  ++heard;
}

constexpr int kRounds = 400, kMessages = 20000;

}  // namespace

int main(int argc, char** argv) {
  int provided, rank, sent = -1;
  MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  CHECK(provided == MPI_THREAD_FUNNELED);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(MPI_T_event_get_index("rmq_packet_sent", &sent) == MPI_SUCCESS);
  std::vector<MPI_Session> sessions(kRounds);
  int failed = 0, refused = 0;
  std::thread opens([&] {
    for (MPI_Session& s : sessions) failed += MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) != MPI_SUCCESS;
  });
  std::thread registers([&] {
    for (int round = 0; round < kRounds; ++round) {
      MPI_T_event_registration all[8];
      for (auto& one : all) {
        refused += MPI_T_event_handle_alloc(sent, nullptr, MPI_INFO_NULL, &one) != MPI_SUCCESS;
        MPI_T_event_register_callback(one, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, nullptr, on_event);
      }
      for (auto& one : all) MPI_T_event_handle_free(one, nullptr, nullptr);
    }
  });
  for (int i = 0; i < kMessages; ++i) {
    int mine = i, theirs = -1;
    MPI_Sendrecv(&mine, 1, MPI_INT, 1 - rank, 1, &theirs, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(theirs == i);
  }
  opens.join();
  registers.join();
  CHECK(failed == 0 && refused == 0);
  for (MPI_Session& s : sessions) CHECK(MPI_Session_finalize(&s) == MPI_SUCCESS);
  MPI_T_finalize();
  return check::finish();
}
