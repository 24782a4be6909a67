// SPDX-License-Identifier: BSD-3-Clause
#include "engine/comm/meeting_place.hpp"

#include <cstdint>
#include <map>

#include "base/data/fnv.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi {
namespace {

// Apart from all contexts of communicators, and even, like these.
constexpr std::uint32_t kPlaces = 1u << 29;

/// How often this process has come to each place, by its hash. Touched with the device held.
std::map<std::uint64_t, std::uint32_t>& all_visits() {
  static auto* const visits = new std::map<std::uint64_t, std::uint32_t>;
  return *visits;
}

std::uint64_t hash_of(std::string_view text, const Ranks& members) {
  Fnv hash;
  hash.bytes(text);
  for (const Rank r : members) {
    const Process who = runtime().device->process_of(r);
    hash.word(who.job).word(who.rank, 32);
  }
  return hash.value();
}

}  // namespace

std::uint32_t MeetingPlace::visits(std::string_view text, const Ranks& members) {
  const auto found = all_visits().find(hash_of(text, members));
  return found == all_visits().end() ? 0 : found->second;
}

MeetingPlace::MeetingPlace(std::string_view text, const Ranks& members) {
  std::uint64_t h = hash_of(text, members);
  if (ft::may_fail()) {
    visit_ = ++all_visits()[h];
    h = Fnv().word(h).word(visit_, 32).value();
  }
  const Comm& world = *runtime().world;
  comm_.context = comm_.recv_context = kPlaces | (static_cast<std::uint32_t>(h >> 32) & (kPlaces - 2));
  comm_.group = new_group(members);
  comm_.rank = comm_.group->rank;
  comm_.device = world.device;
  comm_.terms = world.terms;
  comm_.errhandler = &runtime().builtin_errhandlers[1];  // the call that made this place fails, where a message does
  tag_ = static_cast<int>(h & 0x7fffffff);
}

MeetingPlace::~MeetingPlace() {
  ft::leave_place(comm_);
  release(comm_.group);
}

}  // namespace rmq::mpi
