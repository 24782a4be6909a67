// SPDX-License-Identifier: BSD-3-Clause
// What the parts of a window share: its members and how each is reached, this rank's own memory, the epochs that are
// open here, and how a call waits. It knows none of the parts.
//
// Plain data, held by Window as its first member, so that the short way (rma/window/short_way.hpp) finds what it reads
// in the window itself; the parts hold it by reference. Everything needs the device held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "adi/device.hpp"
#include "base/os/zeros.hpp"
#include "rma/core/domain_core.hpp"
#include "rma/core/facts.hpp"
#include "rma/core/fault.hpp"
#include "rma/core/options.hpp"
#include "rma/core/reach.hpp"
#include "rma/memory/attached.hpp"
#include "rma/memory/control.hpp"
#include "rma/memory/regions.hpp"

namespace rmq::rma {

class Window;
struct WindowCore;

/// What a call on a window waits for.
struct WaitFor {
  enum class What : std::uint8_t {
    lock,
    post,        // of the target
    complete,    // of all of the exposure's group
    fence,       // the member has to come to it
    operations,  // to be done at the target: which may first have to give its lock, or to post
  };
  What what;
  int rank = 0;                      // the member that is waited for; not with complete
  const WindowCore* core = nullptr;  // the window; null: that which waits
};

/// What active target has counted with another member, each from the start of the window.
struct Counts {
  std::uint32_t started;  // access epochs that start() has opened here, to it
  std::uint32_t posted;   // exposure epochs that post() has opened here, to it
  // What it has signalled by packets, where it is on another host; else its words in my control say so.
  std::uint32_t posts, completes;
};

struct WindowCore {
  // Calls between two polls of the device: a program may wait in a loop of get and flush, of lock and unlock, or of
  // sync, and the rest of the job must go on meanwhile.
  static constexpr std::uint32_t kCallsPerPoll = 64;

  /// `tell_wait` says what a call waits for (adi::Awaited::tell), given a WaitFor.
  using TellWait = void (*)(const void* wait, ReportText& to);
  WindowCore(const Window& window, TellWait tell_wait, DomainCore& domain, WindowOptions options);

  adi::Device& device() const { return domain.device(); }
  int size() const { return static_cast<int>(members); }
  Rank world(int rank) const { return options.ranks[rank]; }
  Reach& at(int rank) const { return reach[rank]; }
  /// Its place among the members on my host, or -1.
  int on_host(int rank) const { return host.place_of(rank); }
  /// Looks up what all know of a member.
  void look_up(int rank) {
    const Fact& f = facts[rank];
    Reach& t = at(rank);
    t.size = f.size;
    t.unit = f.unit;
    t.shift = static_cast<std::uint8_t>(f.shift);
  }
  int member(Rank world_rank) const { return options.ranks.place_of(world_rank); }
  /// How packets name a member that a fault is about: its place plus 1; 0: none. And back; no member is none.
  std::uint32_t name_of(Rank world_rank) const {
    return world_rank == kNoRank ? 0 : static_cast<std::uint32_t>(member(world_rank) + 1);
  }
  Rank named(std::uint32_t name) const {
    return name == 0 || name > static_cast<std::uint32_t>(options.ranks.size()) ? kNoRank
                                                                                : world(static_cast<int>(name) - 1);
  }
  /// Whether it is the name of a member, or of none.
  bool is_name(std::uint32_t name) const { return name <= static_cast<std::uint32_t>(options.ranks.size()); }
  bool is_dynamic() const { return options.flavor == Flavor::dynamic; }
  /// A packet of this kind from this member of this window.
  Packet packet(Kind kind) const {
    Packet p(kind);
    p.context = options.id;
    p.source = me;
    return p;
  }
  /// What an accumulate on that memory has to lock; `exclusive`: its window lock is held exclusively for it.
  Regions regions(const Reach& t, bool exclusive) const {
    Regions r;
    r.atomic = options.hints.cpu_atomics;
    if (t.alone || exclusive) return r;
    r.control = t.control;
    r.base = t.base;
    r.shift = t.shift;
    r.me = me;
    r.device = &device();
    r.world = &options.ranks;
    return r;
  }

  /// Whether a lock or lock_all epoch is open here.
  bool in_lock() const { return lock_all || locking > 0 || !locked.empty(); }
  /// Whether a fence epoch is: a fence without operations behind it has opened nothing.
  bool in_fence() const { return (all & access::fence) != 0 && fence_used; }
  /// Whether that target has opened its window to the access epoch that start() has opened here.
  bool has_posted(int rank) const;
  /// Whether that member has ended all access epochs to exposures of mine.
  bool has_completed(int rank) const;

  /// Polls the device once in kCallsPerPoll calls.
  void poll_at_times() {
    if (++calls % kCallsPerPoll == 0) device().MPID_Poll(false);
  }
  /// Polls until done(), and sleeps meanwhile if nothing happens; others may call while it does.
  template <class Done>
  void wait_until(WaitFor what, Done&& done) const {
    if (done()) return;
    if (!what.core) what.core = this;
    const adi::Awaited awaited{tell_wait, &what};
    do {
      const adi::Watch watch(device().watches(), done);
      device().MPID_Poll(true, awaited);
    } while (!done());
    device().waited();
  }

  /// Polls once, for a call that only looks whether that has happened.
  void poll_for(WaitFor what) const {
    what.core = this;
    device().MPID_Poll(false, {tell_wait, &what});
  }

  /// Records an event about a member (-1: about all).
  void note(Event event, int rank, std::uint64_t a1 = 0) const {
    device().trace().event(event, 0, rank < 0 ? kNoRank : world(rank), options.id, a1);
  }
  bool is_lost(int rank) const;
  /// Fault::peer_lost, with what lost() shows: the rank, and `held`.
  Fault lost_because_of(int rank, const char* held);

  // ---- what the short way reads ----
  DomainCore& domain;
  os::Zeros<Reach> reach;  // by place
  unsigned members = 0;
  int me = 0;
  std::uint32_t calls = 0;  // of flush, lock and sync, for now and then a poll
  std::uint8_t all = 0;     // bits of namespace access: of the epoch that has given access to all targets
  bool fence_used = false;  // operations were made since the last fence
  // ---- epochs ----
  bool lock_all = false;                      // the epoch of lock_all: PassiveTarget::admit gives access to each target
  bool nocheck_all = false;                   // of that epoch
  bool nocheck_start = false;                 // of start
  bool accessing = false;                     // start .. complete
  bool exposed = false;                       // post .. wait
  std::vector<int> locked;                    // places locked by lock() …
  std::vector<DomainCore::Opener> locked_by;  // … and by whom, in the same order
  DomainCore::Opener all_by = nullptr;        // of lock_all
  int locking = 0;                            // threads that wait in lock() for others
  bool by_address = false;    // a shared window, or the program has asked for addresses of others' memory
  std::vector<int> admitted;  // places that operations under lock_all have gone to
  os::Zeros<Counts> counts;   // by place
  // ---- this rank's part ----
  bool shares = false;  // others may reach my memory and control
  std::byte* base = nullptr;
  Control* control = nullptr;
  Attached attached;
  // ---- members ----
  const Window& window;  // for reports, with …
  const TellWait tell_wait;
  WindowOptions options;
  Ranks host;       // places of the members on my host, in order
  int host_me = 0;  // mine among those
  Facts facts;      // after open()
  std::vector<int> lost_members;
  std::string lost;  // what the latest Fault::peer_lost was about
};

/// Whether what counts has come so far; counts may wrap.
inline bool has_reached(std::uint32_t now, std::uint32_t count) {
  return static_cast<std::int32_t>(now - count) >= 0;
}
/// Acquire pairs with the release of whoever counts: what it has stored before.
inline bool has_reached(const std::atomic<std::uint32_t>& word, std::uint32_t count) {
  return has_reached(word.load(std::memory_order_acquire), count);
}

inline bool WindowCore::has_posted(int rank) const {
  if (nocheck_start) return true;
  const Counts& c = counts[rank];
  const int place = on_host(rank);
  return place >= 0 ? has_reached(control->pair(place).posts, c.started) : has_reached(c.posts, c.started);
}

inline bool WindowCore::has_completed(int rank) const {
  const Counts& c = counts[rank];
  const int place = on_host(rank);
  return place >= 0 ? has_reached(control->pair(place).completes, c.posted) : has_reached(c.completes, c.posted);
}

}  // namespace rmq::rma
