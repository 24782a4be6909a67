// SPDX-License-Identifier: BSD-3-Clause
#include "adi/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace rmq::adi {

void* Memory::MPID_Mem_alloc(std::size_t bytes) {
  for (const auto& m : methods_) {
    if (void* memory = m->mem_alloc(bytes)) return memory;
  }
  // Aligned as the methods' memory is: structures with their own cache lines are put there.
  if (bytes > PTRDIFF_MAX - kCacheLine) return nullptr;
  return std::aligned_alloc(kCacheLine, std::max<std::size_t>((bytes + kCacheLine - 1) / kCacheLine, 1) * kCacheLine);
}

void Memory::MPID_Mem_free(void* memory) {
  for (const auto& m : methods_) {
    if (m->mem_free(memory)) return;
  }
  std::free(memory);
}

void* Memory::MPID_Mem_alloc(std::size_t bytes, const Ranks& sharers) {
  if (!any_foreign(sharers)) return MPID_Mem_alloc(bytes);
  const Ranks beside = places_beside(rank_, sharers);
  for (const auto& party : parties()) {
    for (Relay* relay : party->relays()) {
      if (!std::all_of(beside.begin(), beside.end(), [&](Rank place) { return relay->knows(sharers[place]); }))
        continue;
      if (void* const memory = relay->share(bytes)) return memory;
    }
  }
  return MPID_Mem_alloc(bytes);
}

std::uint64_t Memory::mem_token(const void* memory, std::uint64_t bytes, const Ranks& sharers) const {
  const std::uint64_t token = mem_token(memory, bytes);
  if (token == 0 || (!any_foreign(sharers) && Relay::party_of(token) == 0)) return token;
  const Ranks beside = places_beside(rank_, sharers);
  for (const auto& party : parties()) {
    for (const Relay* relay : party->relays()) {
      if (relay->tag() != Relay::party_of(token)) continue;
      const bool all =
          std::all_of(beside.begin(), beside.end(), [&](Rank place) { return relay->knows(sharers[place]); });
      return all ? token : 0;
    }
  }
  return 0;
}

std::uint64_t Memory::mem_token(const void* memory, std::uint64_t bytes) const {
  for (const auto& m : methods_) {
    if (const std::uint64_t token = m->mem_token(memory, bytes)) return token;
  }
  return 0;
}

std::byte* Memory::mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes) {
  if (Relay::party_of(token) != 0) {  // memory that the owner has for a party, of which it need not be a new member
    for (const auto& party : parties()) {
      for (const Relay* relay : party->relays())
        if (std::byte* const at = relay->mem_map(owner, token, bytes)) return at;
    }
    return nullptr;
  }
  const Channel& c = channels_[owner];
  return c.method && token ? c.method->mem_map(owner, token, bytes) : nullptr;
}

// The address of that memory for a get or put, or 0 when packets are the better way, or the only one.
std::uint64_t Memory::reach(Rank rank, std::uint64_t at, std::uint64_t bytes) {
  const Channel& c = channels_[rank];
  const std::uint64_t address = c.method && !c.lost ? c.method->reach(rank, at) : 0;
  if (address == 0 || crowded()) return address;  // who waits in a crowd waits without a core
  return c.method->how_to_pull(rank, address, bytes, false) != methods::Pull::ask ? address : 0;
}

bool Memory::put_at_once(Rank to, std::uint64_t at, const DataView& here) {
  const std::uint64_t address = reach(to, at, here.bytes);
  return address != 0 && channels_[to].method->put(to, address, here, here.bytes, nullptr) == methods::Outcome::done;
}

bool Memory::get_at_once(Rank from, std::uint64_t at, const DataView& here) {
  const std::uint64_t address = reach(from, at, here.bytes);
  return address != 0 &&
         channels_[from].method->get(from, address, here, here.bytes, nullptr) == methods::Outcome::done;
}

}  // namespace rmq::adi
