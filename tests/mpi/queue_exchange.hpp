// SPDX-License-Identifier: BSD-3-Clause
// Every rank puts into everybody's queue buffer while it empties its own, locking it at random: each message comes
// exactly once, whole, and in the order of its sender.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "check.hpp"
#include "mpi/include/rmq/queue_buffer.hpp"

namespace queue_test {

struct Message {
  std::int32_t from, number;
  std::uint64_t filling[3];
};

inline Message message(int from, int number) {
  Message m{from, number, {}};
  std::mt19937_64 words(static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(number));
  for (std::uint64_t& w : m.filling) w = words();
  return m;
}

class Exchange {
 public:
  Exchange(rmq::QueueBuffer& queue, int each, std::uint64_t seed)
      : queue_(queue), each_(each), chance_(seed), sent_(size(), 0), next_(size(), 0) {}

  void run() {
    // Who has put everything says so; then I only have to empty what is left.
    std::vector<MPI_Request> ends;
    for (int r = 0; r < check::size(); ++r) {
      ends.push_back(MPI_REQUEST_NULL);
      if (r != check::rank()) MPI_Irecv(nullptr, 0, MPI_BYTE, r, 0, MPI_COMM_WORLD, &ends.back());
    }
    const long all = static_cast<long>(each_) * check::size();
    for (long put = 0; put < all;) {
      put += try_one();
      if (chance_() % 8 == 0) look();
    }
    for (int r = 0; r < check::size(); ++r) {
      if (r != check::rank()) MPI_Send(nullptr, 0, MPI_BYTE, r, 0, MPI_COMM_WORLD);
    }
    queue_.unlock();
    while (got_ < all) drain();
    MPI_Waitall(check::size(), ends.data(), MPI_STATUSES_IGNORE);
    drain();
    CHECK(got_ == all);
    CHECK(wrong_ == 0);
    CHECK(queue_.counters().puts == static_cast<std::uint64_t>(all));
    CHECK(queue_.counters().taken == static_cast<std::uint64_t>(all));
  }

 private:
  static std::size_t size() { return static_cast<std::size_t>(check::size()); }

  int try_one() {
    const auto to = static_cast<int>(chance_() % size());
    int& number = sent_[static_cast<std::size_t>(to)];
    if (number == each_) return 0;
    const Message m = message(check::rank(), number);
    if (!queue_.try_put(to, &m)) {
      drain();
      if (locked_) toggle();  // mine may be what the others wait for
      return 0;
    }
    ++number;
    return 1;
  }
  void toggle() {
    locked_ = !locked_;
    if (locked_)
      queue_.lock();
    else
      queue_.unlock();
  }
  void look() {
    if (chance_() % 16 == 0) toggle();
    if (chance_() % 4 == 0) drain();
  }
  void drain() {
    int count = 0;
    const std::byte* at = queue_.get(count);
    for (int i = 0; i < count; ++i, at += sizeof(Message)) {
      Message m;
      std::memcpy(&m, at, sizeof m);
      const bool known = m.from >= 0 && m.from < check::size();
      const Message right = known ? message(m.from, next_[static_cast<std::size_t>(m.from)]++) : Message{};
      if (!known || std::memcmp(&m, &right, sizeof m) != 0) ++wrong_;
    }
    got_ += count;
  }

  rmq::QueueBuffer& queue_;
  int each_;
  std::mt19937_64 chance_;
  std::vector<int> sent_, next_;
  long got_ = 0, wrong_ = 0;
  bool locked_ = false;
};

/// `each` messages from every rank to every rank, through a buffer that is much too small and one that is not.
template <class Queue>
void suite(int each) {
  for (const int capacity : {1, 7, 1000}) {
    Queue queue(MPI_COMM_WORLD, sizeof(Message), capacity);
    Exchange(queue, each, static_cast<std::uint64_t>(check::rank() * 1000 + capacity)).run();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // A locked buffer refuses, keeps what it has, and gives it out.
  Queue queue(MPI_COMM_WORLD, sizeof(Message), 8);
  const Message m = message(check::rank(), 0);
  int count = 0;
  CHECK(queue.try_put(check::rank(), &m));
  queue.lock();
  CHECK(!queue.try_put(check::rank(), &m));
  CHECK(!queue.put(check::rank(), &m, 0.01));
  const std::byte* got = queue.get(count);
  CHECK(count == 1 && std::memcmp(got, &m, sizeof m) == 0);
  CHECK(!queue.try_put(check::rank(), &m));
  queue.unlock();
  CHECK(queue.try_put(check::rank(), &m));
  queue.get(count);
  CHECK(count == 1);
  queue.get(count);
  CHECK(count == 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace queue_test
