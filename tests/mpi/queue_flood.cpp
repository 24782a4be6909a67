// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// Everybody floods rank 0's queue buffer, which empties and locks it at random: each message comes exactly once, whole,
// and in the order of its sender. Another size: mpi_queue_flood <messages of each> <places>; the big run:
// rmqrun -n 9 mpi_queue_flood 1000000 1024
#include <cstdlib>
#include <cstring>

#include "queue_exchange.hpp"

namespace {

using queue_test::Message;

void produce(rmq::QueueBuffer& queue, int each) {
  for (int number = 0; number < each; ++number) {
    const Message m = queue_test::message(check::rank(), number);
    CHECK(queue.put(0, &m));
  }
  CHECK(queue.counters().puts == static_cast<std::uint64_t>(each));
}

void own(rmq::QueueBuffer& queue, int each) {
  std::mt19937_64 chance(7);
  std::vector<int> next(static_cast<std::size_t>(check::size()), 0);
  const long all = static_cast<long>(each) * (check::size() - 1);
  long wrong = 0;
  bool locked = false;
  for (long got = 0; got < all;) {
    int count = 0;
    const std::byte* at = queue.get(count);
    for (int i = 0; i < count; ++i, at += sizeof(Message)) {
      Message m;
      std::memcpy(&m, at, sizeof m);
      const bool known = m.from > 0 && m.from < check::size();
      const Message right = known ? queue_test::message(m.from, next[static_cast<std::size_t>(m.from)]++) : Message{};
      if (!known || std::memcmp(&m, &right, sizeof m) != 0) ++wrong;
    }
    got += count;
    if (locked || chance() % 8 == 0) {
      locked ? queue.unlock() : queue.lock();
      locked = !locked;
    }
  }
  if (locked) queue.unlock();
  CHECK(wrong == 0);
  for (int r = 1; r < check::size(); ++r) CHECK(next[static_cast<std::size_t>(r)] == each);
}

template <class Queue>
void flood(const char* name, int each, int capacity) {
  Queue queue(MPI_COMM_WORLD, sizeof(Message), capacity);
  const double start = MPI_Wtime();
  check::rank() == 0 ? own(queue, each) : produce(queue, each);
  MPI_Barrier(MPI_COMM_WORLD);
  int count = 0;
  queue.get(count);
  CHECK(count == 0);
  if (check::rank() == 0) {
    std::printf("%s, %d places: %d messages from each of %d producers in %.1f s\n", name, capacity, each,
                check::size() - 1, MPI_Wtime() - start);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int each = argc > 2 ? std::atoi(argv[1]) : 0, places = argc > 2 ? std::atoi(argv[2]) : 0;
  if (each > 0 && places > 0) {
    flood<rmq::NativeQueueBuffer>("native", each, places);
  } else {
    for (const int few_or_many : {16, 1024}) flood<rmq::NativeQueueBuffer>("native", 4000, few_or_many);
    flood<rmq::PortableQueueBuffer>("portable", 300, 64);
  }
  return check::finish();
}
