// SPDX-License-Identifier: BSD-3-Clause
// The rings of a directed pair, the inbox of a rank, and the lists that ranks push to: shm/cell_ring.hpp,
// byte_ring.hpp, link.hpp, inbox.hpp, directory.hpp.
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "shm/directory.hpp"
#include "shm/link.hpp"
#include "tests/explore/check.hpp"

namespace rmq::shm {
namespace {

using explore::Bounds;
using explore::Change;
using explore::expect;
using explore::Mutant;
using explore::Program;

// ---- cells ----

constexpr std::uint32_t kCells = 2;

struct CellRing {
  alignas(kCacheLine) std::array<Cell, kCells> cells{};
  Atomic<std::uint64_t> taken;
  std::uint64_t start;

  explicit CellRing(std::uint64_t at) : taken(at), start(at) {
    // What the laps before have left.
    for (std::uint64_t p = at - kCells; p != at; ++p)
      cells[p % kCells].stamp.store(lap_of(p, 1), std::memory_order_relaxed);
  }

  void write(int packets) {
    CellWriter w(cells.data(), kCells, start);
    for (int n = 0; n < packets; ++n) {
      while (w.full()) {
        expect(w.returned(taken), "the reader returned what it was sent");
        if (w.full()) explore::pause();
      }
      explore::plain_write(&w.cell().rest, "cell");
      w.cell().rest[0] = static_cast<std::byte>(n);
      w.publish();
    }
  }
  void read(int packets) {
    CellReader r(cells.data(), kCells, start);
    for (int n = 0; n < packets;) {
      expect(r.sane(), "a stamp is of this lap or of the last");
      if (!r.ready()) {
        explore::pause();
        continue;
      }
      explore::plain_read(&r.cell().rest, "cell");
      expect(r.cell().rest[0] == static_cast<std::byte>(n), "packets come in order");
      r.advance();
      ++n;
      if (r.return_is_due()) r.give_back(taken);
    }
  }
};

Program cell_program(std::uint64_t start, int packets) {
  auto ring = std::make_shared<CellRing>(start);
  return {{[=] { ring->write(packets); }, [=] { ring->read(packets); }}, {}};
}

constexpr Bounds kCellBounds{.preemptions = 3, .stale = 2, .random = 2000};

TEST(CellRing, HoldsInEveryInterleaving) {
  explore::holds([] { return cell_program(kCells, 4); }, kCellBounds);
}

TEST(CellRing, HoldsWhereTheLapsStartAnew) {
  explore::holds([] { return cell_program((std::uint64_t{1} << 33) - 2, 4); }, kCellBounds);
}

TEST(CellRing, NeedsItsOrders) {
  const Mutant mutants[] = {
      {"cell_ring.hpp", "cell().stamp.store(lap_of(position_, shift_)", Change::relaxed},
      {"cell_ring.hpp", "== lap_of(position_, shift_);  // SYNC POINT A", Change::relaxed},
      {"cell_ring.hpp", "cells_taken.store(position_", Change::relaxed},
      {"cell_ring.hpp", "taken = cells_taken.load(", Change::relaxed},
      {"cell_ring.hpp", "cells_taken.store(position_", Change::skipped},
  };
  explore::kills([] { return cell_program(kCells, 4); }, kCellBounds, mutants);
}

// ---- cells and bytes ----

template <class Fn>
void each_line(const std::byte* at, std::size_t length, const Fn& fn) {
  for (std::size_t i = 0; i < length; i += kCacheLine) fn(at + i);
}

struct Pair {
  static constexpr std::uint32_t kBytes = 512;
  Shape shape;
  alignas(kCacheLine) RingHeader header{};
  alignas(kCacheLine) std::array<Cell, 8> cells{};
  alignas(kCacheLine) std::array<std::byte, kBytes> bytes{};
  alignas(kCacheLine) RankControl control{};
  Ring ring{&header, cells.data(), bytes.data()};

  Pair(std::uint32_t first, std::uint32_t bytes_used) {
    shape.cells = 8, shape.ring_bytes = bytes_used, shape.first_bytes = first;
  }

  // Lengths that fill a cell, or the byte ring before there are no more cells.
  static std::uint32_t length(std::uint32_t n) { return n == 1 ? 8 : 40 + n % 3 * 12; }

  // What a write of `length` bytes is about to touch.
  static void will_write(Outbound& out, ByteWriter bytes, std::uint32_t length) {
    const std::byte* at = length > 32 ? bytes.reserve(length) : nullptr;
    if (at) each_line(at, length, [](const void* line) { explore::plain_write(line, "payload"); });
    if (at || length <= 32) explore::plain_write(&out.cells.cell(), "cell");
  }

  void send(std::uint32_t packets) {
    Outbound out(ring, shape, control, 0);
    std::array<std::byte, 64> data;
    for (std::uint32_t n = 0; n < packets;) {
      data.fill(static_cast<std::byte>(n));
      Packet p(Kind::SHORT);
      p.length = length(n);
      p.msg = n;
      const Payload payload{DataView::contiguous(data.data(), p.length), 0, p.length};
      if (!out.cells.full()) {
        will_write(out, out.bytes, p.length);
        if (n % 2 == 0 ? out.write(p, payload) : out.write_header(p, data.data())) {
          ++n;
          continue;
        }
      }
      const bool news = out.may_refresh();
      expect(out.refresh(), "the receiver returned what it was sent");
      if (news) continue;
      const std::uint64_t size = out.bytes.next_size(1);
      if (out.cells.full() || size == out.bytes.size()) {
        explore::pause();
        continue;
      }
      ByteWriter grown = out.bytes;
      grown.grow(size);
      will_write(out, grown, p.length);
      out.grow_and_write(p, payload, size);
      ++n;
    }
  }
  void receive(std::uint32_t packets) {
    Inbound in(ring, shape, control, 0, 0);
    for (std::uint32_t n = 0; n < packets;) {
      if (!in.cells.ready()) {
        explore::pause();
        continue;
      }
      Packet p;
      const std::byte* payload = nullptr;
      explore::plain_read(&in.cells.cell(), "cell");
      expect(in.read(p, payload), "the length is possible");
      expect(p.msg == n && p.length == length(n), "packets come in order");
      if (p.length > 32) each_line(payload, p.length, [](const void* line) { explore::plain_read(line, "payload"); });
      expect(payload[p.length - 1] == static_cast<std::byte>(n), "and with their payload");
      in.cells.advance();
      ++n;
      if (in.return_is_due()) in.give_back();
    }
  }
};

// A byte ring of 256 bytes; one of 512 that begins with 128.
Program pair_program() {
  auto pair = std::make_shared<Pair>(256, 256);
  return {{[=] { pair->send(6); }, [=] { pair->receive(6); }}, {}};
}

Program growing_program() {
  auto pair = std::make_shared<Pair>(128, 512);
  return {{[=] { pair->send(11); }, [=] { pair->receive(11); }}, {}};
}

constexpr Bounds kPairBounds{.preemptions = 2, .stale = 2, .random = 2000};

TEST(Link, HoldsInEveryInterleaving) {
  explore::holds(pair_program, kPairBounds);
}

TEST(Link, HoldsWhileItsByteRingGrows) {
  explore::holds(growing_program, kPairBounds);
}

TEST(Link, NeedsItsOrders) {
  const Mutant mutants[] = {
      {"byte_ring.hpp", "bytes_taken.store(position_", Change::relaxed},
      {"byte_ring.hpp", "taken = bytes_taken.load(", Change::relaxed},
      {"byte_ring.hpp", "bytes_taken.store(position_", Change::skipped},
  };
  explore::kills(pair_program, kPairBounds, mutants);
  explore::kills(growing_program, kPairBounds, mutants);
}

// ---- inbox ----

struct Mailbox {
  alignas(kCacheLine) InboxHeader header{};
  alignas(kCacheLine) std::array<Cell, 2> cells{};
  Inbox inbox{&header, cells.data(), 2};

  explicit Mailbox(std::uint64_t start) {
    header.tail.store(start, std::memory_order_relaxed);
    header.taken.store(start, std::memory_order_relaxed);
    for (std::uint64_t p = start - 2; p != start; ++p)
      inbox.cell(p).stamp.store(inbox.lap(p), std::memory_order_relaxed);
  }

  void send(std::uint32_t me, std::uint8_t packets) {
    for (std::uint8_t n = 0; n < packets;) {
      const Inbox::Put put = inbox.put(me, [&](Cell& cell) {
        explore::plain_write(&cell.rest, "cell");
        cell.rest[0] = static_cast<std::byte>(me);
        cell.rest[1] = static_cast<std::byte>(n);
      });
      expect(put != Inbox::Put::damaged, "the counts make sense");
      if (put == Inbox::Put::done)
        ++n;
      else
        explore::pause();
    }
  }
  // Says who begins to fill a cell and never ends.
  std::uint32_t receive(std::uint64_t start, int packets) {
    InboxReader in(inbox, start);
    std::array<std::uint8_t, 3> next{};
    for (int n = 0; n < packets;) {
      expect(in.sane(3), "a stamp is of this lap or of the last, or names a rank");
      if (!in.ready()) {
        explore::pause();
        continue;
      }
      explore::plain_read(&in.cell().rest, "cell");
      const auto from = std::to_integer<std::size_t>(in.cell().rest[0]);
      expect(in.cell().rest[1] == static_cast<std::byte>(next[from]++), "the packets of a sender come in order");
      in.advance();
      ++n;
      if (in.return_is_due()) in.give_back();
    }
    return in.claimant();
  }
};

Program inbox_program(std::uint64_t start) {
  auto box = std::make_shared<Mailbox>(start);
  return {{[=] { box->send(1, 2); }, [=] { box->send(2, 2); },
           [=] { expect(box->receive(start, 4) == InboxReader::kNobody, "no more is under way"); }},
          {}};
}

constexpr Bounds kInboxBounds{.preemptions = 2, .stale = 1, .random = 2000};

TEST(Inbox, HoldsInEveryInterleaving) {
  explore::holds([] { return inbox_program(0); }, kInboxBounds);
}

TEST(Inbox, HoldsWhereTheLapsStartAnew) {
  explore::holds([] { return inbox_program((std::uint64_t{1} << 32) - 2); }, kInboxBounds);
}

// A sender that ends between the claim of a cell and its packet: what others send behind it comes once it is skipped.
Program broken_off_program() {
  auto box = std::make_shared<Mailbox>(0);
  auto ended = std::make_shared<Atomic<std::uint32_t>>(0);
  return {{[=] {
             struct End {};
             try {
               box->inbox.put(1, [](Cell&) { throw End{}; });
             } catch (End) {
             }
             ended->store(1, std::memory_order_release);
           },
           [=] { box->send(2, 3); },
           [=] {
             InboxReader in(box->inbox);
             for (int n = 0; n < 3;) {
               if (in.ready()) {
                 explore::plain_read(&in.cell().rest, "cell");
                 expect(in.cell().rest[1] == static_cast<std::byte>(n++), "in order");
                 in.advance();
               } else if (in.claimant() == 1 && ended->load(std::memory_order_acquire) != 0) {
                 in.skip();
               } else {
                 explore::pause();
                 continue;
               }
               if (in.return_is_due()) in.give_back();
             }
           }},
          {}};
}

TEST(Inbox, GoesOnWithoutASenderThatEndsAtItsCell) {
  explore::holds(broken_off_program, kInboxBounds);
  const Mutant mutants[] = {{"inbox.hpp", "stamp.store(inbox_.lap(position_)", Change::skipped}};
  explore::kills(broken_off_program, kInboxBounds, mutants);
}

TEST(Inbox, NeedsItsOrders) {
  const Mutant mutants[] = {
      {"inbox.hpp", "compare_exchange_strong(stamp, kClaimed", Change::torn},
      {"inbox.hpp", "compare_exchange_strong(stamp, kClaimed", Change::blind},
      {"inbox.hpp", "header->tail.compare_exchange_strong(at", Change::blind},
      {"inbox.hpp", "header->tail.compare_exchange_strong(at", Change::relaxed},
      {"inbox.hpp", "std::uint64_t at = header->tail.load(", Change::relaxed},
      {"inbox.hpp", "cell(position).stamp.store(lap(position)", Change::relaxed},
      {"inbox.hpp", "return cell().stamp.load(", Change::relaxed},
      {"inbox.hpp", "taken = header->taken.load(", Change::relaxed},
      {"inbox.hpp", "inbox_.header->taken.store(position_", Change::relaxed},
      {"inbox.hpp", "inbox_.header->taken.store(position_", Change::skipped},
  };
  explore::kills([] { return inbox_program(0); }, kInboxBounds, mutants);
}

// ---- lists ----

struct List {
  Atomic<std::uint32_t> head{0};
  std::array<Atomic<std::uint32_t>, 3> next{};
  std::array<int, 3> data{};
  std::array<int, 3> taken{};

  void push(std::size_t i) {
    explore::plain_write(&data[i], "entry");
    push_list(head, next[i], static_cast<std::uint32_t>(i + 1));
  }
  void take_all() {
    for (int n = 0; n < 3;) {
      std::uint32_t id = take_list(head);
      if (id == 0) explore::pause();
      for (; id != 0; ++n) {
        const std::size_t i = id - 1;
        explore::plain_read(&data[i], "entry");
        ++taken[i];
        id = next[i].load(std::memory_order_relaxed);
      }
    }
  }
};

Program list_program() {
  auto list = std::make_shared<List>();
  return {{[=] { list->push(0), list->push(1); }, [=] { list->push(2); }, [=] { list->take_all(); }}, [=] {
            expect(list->taken == std::array{1, 1, 1}, "each entry is taken once");
          }};
}

TEST(List, HoldsInEveryInterleaving) {
  explore::holds(list_program, {.preemptions = 3, .stale = 2, .random = 2000});
}

TEST(List, NeedsItsOrders) {
  const Mutant mutants[] = {
      {"directory.hpp", "head.compare_exchange_weak(first, id", Change::relaxed},
      {"directory.hpp", "head.compare_exchange_weak(first, id", Change::torn},
      {"directory.hpp", "head.exchange(0", Change::relaxed},
      {"directory.hpp", "head.exchange(0", Change::torn},
  };
  explore::kills(list_program, {.preemptions = 3, .stale = 2}, mutants);
}

}  // namespace
}  // namespace rmq::shm
