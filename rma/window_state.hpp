// What the parts of a window share: its members, its memory, and the epochs that are open. Private to rma/.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "adi/device.hpp"
#include "rma/attached.hpp"
#include "rma/control.hpp"
#include "rma/domain.hpp"
#include "rma/fault.hpp"
#include "rma/options.hpp"
#include "rma/reach.hpp"

namespace rmq::rma {

/// Bits of Epochs::all and Reach::access: what gives access to targets.
namespace access {
inline constexpr std::uint8_t lock = 1, start = 2, fence = 4, lock_all = 8;
}

/// The epochs that are open here.
struct Epochs {
  std::uint8_t all = 0;        // access to all targets
  bool fence_used = false;     // operations were made since the last fence; means something while its epoch is open
  bool nocheck_all = false;    // of lock_all
  bool nocheck_start = false;  // of start
  bool accessing = false;      // start .. complete
  bool exposed = false;        // post .. wait
  std::vector<int> access_group, exposure_group;
  std::vector<int> locked;             // places I have locked by lock()
  std::vector<std::uint32_t> started;  // by place: access epochs so far
  bool has(std::uint8_t access) const { return (all & access) != 0; }
  /// Whether a fence has opened an epoch that is in use. One without operations behind it has opened nothing.
  bool fenced() const { return has(access::fence) && fence_used; }
};

struct WindowState;

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
  int rank = 0;                         // the member that is waited for; not with complete
  const WindowState* window = nullptr;  // set by wait_until
};

struct WindowState {
  WindowState(Domain& d, WindowOptions o);
  WindowState(const WindowState&) = delete;
  WindowState& operator=(const WindowState&) = delete;

  // What the short way reads comes first.
  Domain& domain;
  std::unique_ptr<Reach[]> reach;  // by place
  unsigned members = 0;
  int my_place = 0;
  std::uint32_t calls = 0;  // of flush and sync, for now and then a poll
  Epochs epochs;
  bool shares = false;  // others may reach my memory and control
  WindowOptions options;
  std::byte* my_memory = nullptr;
  Control* my_control = nullptr;
  Attached attached;           // of a dynamic window
  std::vector<int> member_of;  // by world rank; -1: none
  std::vector<int> lost_members;
  std::string lost_text;  // what the latest Fault::peer_lost was about

  int size() const { return static_cast<int>(members); }
  int me() const { return my_place; }
  Flavor flavor() const { return options.flavor; }
  bool is_dynamic() const { return options.flavor == Flavor::dynamic; }
  Rank world(int place) const { return options.ranks[static_cast<std::size_t>(place)]; }
  Reach& at(int place) const { return reach[static_cast<std::size_t>(place)]; }
  int member(Rank world_rank) const { return member_of[static_cast<std::size_t>(world_rank)]; }
  adi::Device& device() const { return domain.device(); }
  /// Records an event about a member (-1: about all).
  void note(Event event, int place, std::uint64_t a1 = 0) const {
    device().trace().event(event, 0, place < 0 ? kNoRank : world(place), options.id, a1);
  }
  /// A packet about this window.
  Packet packet(Kind kind) const {
    Packet p(kind);
    p.context = options.id;
    p.source = my_place;
    return p;
  }
  /// Whether the target has posted for the access epoch that is open here.
  bool has_posted(int place) const {
    return epochs.nocheck_start ||
           reached(my_control->pair(place).posts, epochs.started[static_cast<std::size_t>(place)]);
  }
  /// Counts may wrap. Acquire pairs with the releases in Active::signal() and signalled(): what the other side has
  /// stored before.
  static bool reached(const std::atomic<std::uint32_t>& word, std::uint32_t count) {
    return static_cast<std::int32_t>(word.load(std::memory_order_acquire) - count) >= 0;
  }
  /// Whether an operation that was checked here may still turn out wrong at its target: then the epoch that it belongs
  /// to waits for the target's word.
  bool targets_find_out() const { return is_dynamic(); }
  bool is_lost(int place) const;
  /// Fault::peer_lost, with the reason in lost_text.
  Fault lost_because_of(int place, const char* held);

  /// Polls until `done()`. `what`: for reports.
  template <class Done>
  void wait_until(const WaitFor& what, Done&& done) {
    if (done()) return;
    const WaitFor wait{what.what, what.rank, this};
    const adi::Awaited awaited{[](const void* object, ReportText& to) {
                                 const auto& w = *static_cast<const WaitFor*>(object);
                                 w.window->tell_wait(w, to);
                               },
                               &wait};
    do {
      const adi::Watch watch(device().watches(), done);
      device().MPID_Poll(true, awaited);
    } while (!done());
    device().MPID_Waited();
  }

 protected:
  ~WindowState() = default;

 private:
  virtual void tell_wait(const WaitFor& wait, ReportText& to) const = 0;  // report.cpp
};

}  // namespace rmq::rma
