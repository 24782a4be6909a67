// SPDX-License-Identifier: BSD-3-Clause
// The buffer of a remote queue: rma/queue/queue_store.hpp.
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "rma/queue/queue_store.hpp"
#include "tests/explore/check.hpp"

namespace rmq::rma {
namespace {

using explore::Bounds;
using explore::Change;
using explore::expect;
using explore::Mutant;
using explore::Program;

struct Buffer {
  static constexpr std::uint32_t kCapacity = 2;
  alignas(kCacheLine) std::array<std::byte, 256> memory{};
  QueueStore store{memory.data(), 8, kCapacity};
  std::array<std::uint64_t, 3> next{};  // by sender: its next message
  std::uint32_t got = 0;

  Buffer() { store.open(1, 0); }

  // A message names its sender and counts; puts go on until all were taken.
  void put(int me, std::uint32_t messages) {
    for (std::uint64_t n = 0; n < messages;) {
      const std::uint64_t message = static_cast<std::uint64_t>(me) << 32 | n;
      if (store.put(&message, me))
        ++n;
      else
        explore::pause();
    }
  }
  void get(std::uint32_t messages, bool lock) {
    for (std::uint32_t round = 1; got < messages; ++round) {
      while (store.empty()) explore::pause();
      std::uint32_t taken = store.close(round);
      if (lock && round == 1) {  // what has come stays, and more may come
        store.open(round, taken);
        taken = store.close(round);
      }
      for (std::uint32_t i = 0; i < taken; ++i) {
        while (!store.whole(i, round)) explore::pause();
        std::uint64_t message;
        explore::plain_read(store.message(i) - sizeof message, "message");
        std::memcpy(&message, store.message(i), sizeof message);
        const std::size_t from = message >> 32;
        expect(from < next.size() && store.sender(i, round) == static_cast<std::int64_t>(from), "of a sender");
        expect((message & UINT32_MAX) == next[from]++, "each message comes once, in order");
        ++got;
      }
      store.open(round + 1, 0);
    }
  }
};

Program queue_program(bool lock) {
  auto buffer = std::make_shared<Buffer>();
  return {{[=] { buffer->get(3, lock); }, [=] { buffer->put(1, 2); }, [=] { buffer->put(2, 1); }}, {}};
}

constexpr Bounds kBounds{.preemptions = 2, .stale = 1, .random = 3000};

TEST(QueueStore, HoldsInEveryInterleaving) {
  explore::holds([] { return queue_program(false); }, kBounds);
}

TEST(QueueStore, HoldsWhenTheOwnerLocksAndUnlocks) {
  explore::holds([] { return queue_program(true); }, kBounds);
}

TEST(QueueStore, NeedsItsOrders) {
  const Mutant mutants[] = {
      {"queue_store.hpp", "reserved = head_->reserved.fetch_add(1", Change::relaxed},
      {"queue_store.hpp", "reserved = head_->reserved.fetch_add(1", Change::torn},
      {"queue_store.hpp", "stamp.store(mark | kWhole", Change::relaxed},
      {"queue_store.hpp", "head_->reserved.exchange(full", Change::torn},
      {"queue_store.hpp", "head_->reserved.store(std::uint64_t{round}", Change::relaxed},
      {"queue_store.hpp", "load(std::memory_order_acquire);  // SYNC POINT Q2", Change::relaxed},
  };
  explore::kills([] { return queue_program(false); }, kBounds, mutants);
}

}  // namespace
}  // namespace rmq::rma
