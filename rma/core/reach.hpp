// SPDX-License-Identifier: BSD-3-Clause
// What a window knows of another member as a target: all that a direct operation reads is in this line. All zero for
// one that has not been a target yet, and is not on this host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/packet/packet.hpp"
#include "rma/memory/rw_lock.hpp"

namespace rmq::rma {

struct Control;

/// Access epochs: bits of Reach::access (lock, start, lock_all) and of WindowCore::all (fence).
namespace access {
inline constexpr std::uint8_t lock = 1, start = 2, fence = 4, lock_all = 8;
}

struct alignas(kCacheLine) Reach {
  std::byte* base = nullptr;   // of its memory here; unless direct: in its own process, null if not on this host
  std::uint64_t size = 0;      // bytes of its memory
  std::uint64_t unit = 0;      // its displacement unit, bytes; 0: size and unit are not looked up yet
  Control* control = nullptr;  // its control here; null unless direct
  std::uint8_t access = 0;     // bits of namespace access: epochs that give access to this target alone
  bool direct = false;         // by load and store
  bool plain = false;          // direct, and its memory is one piece: not of a dynamic window
  bool near = false;           // both reach each other's control: synchronisation needs no packets
  bool exclusive = false;      // I hold its lock exclusively
  bool alone = false;          // nobody else reaches its memory: accumulates take no mutexes
  bool nocheck = false;        // locked without a lock
  bool asked = false;          // a thread waits for its lock
  std::uint8_t shift = 0;      // of its regions
  LockPlace place;             // in its lock
};
static_assert(sizeof(Reach) == kCacheLine);

}  // namespace rmq::rma
