// SPDX-License-Identifier: BSD-3-Clause
// Memory of one rank in which the ranks of its host meet: who takes it, who finds it, and when it is given back. And
// how a call waits for what others store there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/coll/choice.hpp"
#include "engine/coll/guests.hpp"
#include "engine/coll/steps.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi::coll {

class HostMemory {
 public:
  /// Takes it at the first rank of `agree`, whose ranks are all on one host, has `make` lay it out there, and lets the
  /// others find it: an agreement of all of them, by messages of these collectives. nullptr: some rank cannot reach it,
  /// or there is none, the same on all; or an error is noted in `agree`.
  static std::unique_ptr<HostMemory> share(Steps& tell, Steps& agree, std::size_t bytes,
                                           const std::function<void(void*)>& make);
  /// The owner keeps the memory until all have gone.
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// Memory that nobody needs any more, but others may still look into, is this party's, which is about to go.
  static void forget(const Terms& terms, const adi::Relay& relay);

  /// Aligned to a line.
  void* at() const { return reinterpret_cast<std::byte*>(guests_) + sizeof(Guests); }

 private:
  HostMemory(adi::Device& device, const Terms& terms, int users) : device_(device), terms_(terms), users_(users) {}
  bool take(std::size_t bytes, const std::function<void(void*)>& make, const Ranks& sharers);

  adi::Device& device_;
  const Terms& terms_;
  const int users_;
  void* owned_ = nullptr;  // at the owner
  Guests* guests_ = nullptr;
  bool open_ = false;
};

/// World rank of a member among `ranks` of the communicator that is lost; kNoRank: none.
template <class Members>
Rank lost_among(const Comm& comm, const Members& ranks) {
  if (!comm.device->any_lost()) [[likely]]
    return kNoRank;
  for (const int r : ranks)
    if (!comm.device->peer_error(comm.world_of(r)).empty()) return comm.world_of(r);
  return kNoRank;
}

/// What a report says of a call that waits for stores of others.
struct StoresAwaited {
  void (*text)(const void* object, ReportText& to);
  const void* object;
};
/// As if it waited for a message of that member.
void tell_awaited(const Comm& comm, int member, ReportText& to);

/// Polls until `open()`, which stores of other ranks make true, who then wake this one; kNoRank, or a member of those
/// that `lost()` has found lost meanwhile.
template <class Open, class Lost>
Rank await_stores(const Comm& comm, const Open& open, const Lost& lost, const StoresAwaited& awaited) {
  adi::Device& device = *comm.device;
  // Looks at the memory between two polls, where nobody waits for this CPU.
  const int looks = device.crowded() ? 1 : 16;
  for (bool polled = false;; polled = true) {
    for (int i = 0; i < looks; ++i) {
      if (!open()) continue;
      if (polled) {
        device.waited();
      } else {
        device.MPID_Poll(false);  // whoever always comes last would never hear of messages
      }
      return kNoRank;
    }
    if (const Rank rank = lost(); rank != kNoRank) return rank;
    ft::check_not_revoked(comm);
    const adi::Watch watch(device.watches(), open);
    device.MPID_Poll(true, {awaited.text, awaited.object});
  }
}

}  // namespace rmq::mpi::coll
