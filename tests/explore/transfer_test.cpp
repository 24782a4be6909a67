// SPDX-License-Identifier: BSD-3-Clause
// Transfers that both ranks copy: the slot of shm/transfer.cpp.
#include "shm/transfer.hpp"

#include <array>
#include <cstring>
#include <map>
#include <memory>

#include "tests/explore/check.hpp"
#include "tests/explore/host.hpp"

namespace rmq::shm {
namespace {

using explore::Bounds;
using explore::Change;
using explore::expect;
using explore::Mutant;
using explore::Program;

struct Job {
  std::uint64_t bytes;
  bool put;
  std::uint64_t here() const { return (bytes + put) << 20; }   // address of the data in the active rank
  std::uint64_t there() const { return (bytes + put) << 30; }  // and in the helper
};

struct Copy {
  bool under_way = false;
  std::uint64_t from, to;
};

struct Copiers {
  std::vector<Job> jobs;
  std::map<std::uint64_t, std::vector<Copy>> copies;  // by address in the helper, of the transfer under way
  std::size_t now = 0;
  std::size_t helped = 0;
  Atomic<std::uint32_t> over{0};
  methods::Sink sink;

  explicit Copiers(std::vector<Job> all) : jobs(std::move(all)) {
    sink.device = this;
    sink.on_moved = [](void* world, Request*, std::uint64_t bytes, Errc error) {
      static_cast<Copiers*>(world)->moved(bytes, error);
    };
  }

  int copy(std::uint64_t here, std::uint64_t there, bool put, std::uint64_t offset, std::uint64_t bytes) {
    expect(now < jobs.size(), "nothing is copied when all is done");
    const Job& job = jobs[now];
    expect(here == job.here() && there == job.there() && put == job.put, "what is copied is the transfer under way");
    expect(offset < job.bytes && bytes <= job.bytes - offset, "inside of it");
    std::vector<Copy>& list = copies[now];
    const std::size_t mine = list.size();
    list.push_back({true, offset, offset + bytes});
    explore::plain_write(reinterpret_cast<const void*>(job.here() + offset), "chunk");
    explore::step("copies");
    copies[now][mine].under_way = false;
    return 0;
  }
  void moved(std::uint64_t bytes, Errc error) {
    expect(error == Errc::ok && bytes == jobs[now].bytes, "all has moved");
    std::uint64_t sum = 0;
    for (const Copy& c : copies[now]) {
      expect(!c.under_way, "nobody still copies");
      sum += c.to - c.from;
      explore::plain_read(reinterpret_cast<const void*>(jobs[now].here() + c.from), "chunk");
    }
    expect(sum == jobs[now].bytes, "each chunk was copied once");
    ++now;
  }
};

Program program(std::vector<Job> jobs) {
  auto host = std::make_shared<explore::Host>(2);
  auto all = std::make_shared<Copiers>(std::move(jobs));
  explore::seams().single_copy = [w = all.get()](bool from_peer, std::uint64_t address, const DataView& here,
                                                 std::uint64_t offset, std::uint64_t bytes) {
    const auto base = reinterpret_cast<std::uint64_t>(here.base);
    return explore::me() == 0 ? w->copy(base, address - offset, !from_peer, offset, bytes)
                              : w->copy(address - offset, base, from_peer, offset, bytes);
  };
  Program p;
  p.threads.emplace_back([=] {
    Transfers mine(host->directories[0], all->sink);
    for (std::size_t i = 0; i < all->jobs.size(); ++i) {
      const Job& job = all->jobs[i];
      Transfer t;
      t.peer = 1;
      t.put = job.put;
      t.address = job.there();
      t.view = DataView::contiguous(reinterpret_cast<const void*>(job.here()), job.bytes);
      t.bytes = job.bytes;
      mine.start(t);
      while (all->now == i) {
        std::optional<std::uint32_t> lost;
        if (mine.advance(lost) == 0 && all->now == i) explore::pause();
        expect(!lost, "nobody is lost");
      }
    }
    all->over.store(1, std::memory_order_release);
  });
  p.threads.emplace_back([=] {
    Transfers mine(host->directories[1], all->sink);
    while (all->over.load(std::memory_order_acquire) == 0) {
      const int pieces = mine.help();
      all->helped += static_cast<std::size_t>(pieces);
      if (pieces == 0) explore::pause();
    }
  });
  return p;
}

constexpr std::uint64_t kK = 1024;
constexpr Bounds kCopyBounds{.preemptions = 2, .stale = 1, .random = 3000};

TEST(Transfer, TwoOfOneSizeHoldInEveryInterleaving) {
  explore::holds([] { return program({{128 * kK, false}, {128 * kK, true}}); }, kCopyBounds);
}

TEST(Transfer, AShortOneAndALongerOneHoldInEveryInterleaving) {
  explore::holds([] { return program({{128 * kK, false}, {1280 * kK, false}}); }, kCopyBounds);
}

// ---- the word that says what is left ----

/// The slot reduced to its count, told in the way that fails: chunks are counted up, and whether one is left is judged
/// by a field, which may be that of the next transfer already.
struct CountedUp {
  Atomic<std::uint64_t> claim{UINT32_MAX}, helped{0}, chunks{0}, over{0};
  std::uint64_t under_way = 0;

  void copy() {
    ++under_way;
    explore::step("copies");
    --under_way;
  }
  void transfer(std::uint64_t generation, std::uint64_t count) {
    chunks.store(count, std::memory_order_relaxed);
    helped.store(0, std::memory_order_relaxed);
    claim.store(generation << 32, std::memory_order_release);
    std::uint64_t here = 0;
    for (; (claim.fetch_add(1, std::memory_order_relaxed) & UINT32_MAX) < count; ++here) copy();
    while (here + helped.load(std::memory_order_acquire) < count) explore::pause();
    expect(under_way == 0, "nobody still copies");
  }
  void help() {
    while (over.load(std::memory_order_acquire) == 0) {
      std::uint64_t now = claim.load(std::memory_order_acquire);
      const bool left = (now & UINT32_MAX) < chunks.load(std::memory_order_relaxed);
      if (left && claim.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        copy();
        helped.fetch_add(1, std::memory_order_release);
      } else {
        explore::pause();
      }
    }
  }
};

Program counted_up(std::uint64_t first, std::uint64_t second) {
  auto slot = std::make_shared<CountedUp>();
  return {{[=] {
             slot->transfer(1, first);
             slot->transfer(2, second);
             slot->over.store(1, std::memory_order_release);
           },
           [=] { slot->help(); }},
          {}};
}

TEST(Transfer, WhatIsLeftHasToStandBesideTheGeneration) {
  EXPECT_FALSE(explore::explore([] { return counted_up(2, 2); }, kCopyBounds).failed) << "equal sizes hide it";
  EXPECT_TRUE(explore::explore([] { return counted_up(2, 4); }, kCopyBounds).failed);
}

TEST(Transfer, NeedsItsOrders) {
  const Mutant mutants[] = {
      {"transfer.cpp", "s.claim.store(generation | chunks_", Change::relaxed},
      {"transfer.cpp", "claim = s.claim.load(std::memory_order_acquire)", Change::relaxed},
      {"transfer.cpp", "if (!s.claim.compare_exchange_strong(claim, claimed", Change::torn},
      {"transfer.cpp", "if (!s.claim.compare_exchange_strong(claim, claimed", Change::blind},
      {"transfer.cpp", "} while (!s.claim.compare_exchange_weak(claim, claim - 1", Change::torn},
      {"transfer.cpp", "s.helped.load(std::memory_order_acquire)", Change::relaxed},
      {"transfer.cpp", "while (!s.helped.compare_exchange_weak(helped, more", Change::relaxed},
  };
  explore::kills([] { return program({{128 * kK, false}, {1280 * kK, false}}); }, kCopyBounds, mutants);
}

}  // namespace
}  // namespace rmq::shm
