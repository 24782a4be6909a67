// SPDX-License-Identifier: BSD-3-Clause
// An origin that sends packets to this rank's memory, as the target sees it: its place in the queue of the lock, and
// its packets that have to wait. Server makes one for each origin when it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "base/packet/packet.hpp"
#include "base/packet/request.hpp"
#include "rma/memory/rw_lock.hpp"
#include "rma/packet/flight.hpp"

namespace rmq::rma {

class Server;

/// A packet that has to wait at the target, with its payload.
struct Held {
  Packet packet;
  std::unique_ptr<std::byte[]> payload;
};

struct Origin {
  enum class Lock : std::uint8_t {
    none,
    waiting,
    held,
    leaving,  // given back by the origin, and kept until its answers have left
  };

  Origin(Server& its_server, int its_rank, Rank its_world) : rank(its_rank), world(its_world), server(&its_server) {}

  /// Keeps a packet behind those that wait.
  void hold(const Packet& p, const std::byte* payload) {
    Held h{p, nullptr};
    if (p.length > 0) {
      h.payload = std::make_unique_for_overwrite<std::byte[]>(p.length);
      std::memcpy(h.payload.get(), payload, p.length);
    }
    held_bytes += p.length + kPacketCost;
    held.push_back(std::move(h));
  }
  void drop_first() {
    held_bytes -= held.front().packet.length + kPacketCost;
    held.pop_front();
  }
  /// Nothing of it will be executed any more; what is being executed stays where it is.
  void drop_all() {
    if (running) return;
    held.clear();
    held_bytes = 0;
  }

  /// Counts an answer that is read from window memory while it leaves, and hears when it has left
  /// (rma/target/server.cpp).
  void watch(Request* answer);
  bool has_lock() const { return lock == Lock::held || lock == Lock::leaving; }

  const int rank;
  const Rank world;
  Server* server;   // null once its window has ended, while answers still leave
  int answers = 0;  // that are read from window memory and have not left
  Lock lock = Lock::none;
  bool lost = false;
  bool running = false;       // what was kept is being executed
  bool behind = false;        // listed in DomainCore::behind_
  bool told = false;          // what is wrong with the operation whose pieces are coming
  std::uint32_t missing = 0;  // datatype that was asked for again
  LockPlace place;
  std::uint64_t waits_since = 0;  // for the lock; os::now_ns()
  std::deque<Held> held;          // in order; the first waits for the lock or for a datatype, the others for it
  std::uint64_t held_bytes = 0;   // of these, as a flight counts them
};

}  // namespace rmq::rma
