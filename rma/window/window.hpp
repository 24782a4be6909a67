// SPDX-License-Identifier: BSD-3-Clause
// A window: memory of several ranks that each of them may read and change. One object a rank and MPI window.
//
// Ranks here are places in the window's group, 0 … size-1, and callers pass valid ones (no MPI_PROC_NULL). Layouts stay
// the caller's: what must live longer than a call keeps a reference. Origin memory must live until the operation is
// complete as MPI says. Every call needs the device held (adi::Device::Entry); those marked *waits* poll the device and
// give it away between polls, so that other threads may call meanwhile.
//
// Collective parts are split: this floor knows no communicators. See prepare(), open(), close().
//
// It is made of parts, each with its state and a header that says what it is for; here they are only put together.
//
//   operation, target mapped here         direct.cpp; short_way.hpp for the plainest
//   operation, any other target           Sender → its Channel → RMA_* packets, and their answers back to the Channel
//   packet from an origin                 Domain → Server (order) → Executor; signals → ActiveTarget
//   fence, post, start, complete, wait    ActiveTarget: fence.cpp, pscw.cpp
//   lock, unlock, flush                   PassiveTarget, with Lock where the target is mapped here, else with Sender
//   memory, and who reaches whose how     WindowMemory; Attached for dynamic windows
//
// What the parts share is WindowCore. Protocols: design/rma.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/data/data_view.hpp"
#include "base/data/layout.hpp"
#include "base/data/reduction.hpp"
#include "base/packet/request.hpp"
#include "rma/core/facts.hpp"
#include "rma/core/fault.hpp"
#include "rma/core/options.hpp"
#include "rma/core/target.hpp"
#include "rma/core/window_core.hpp"
#include "rma/epoch/active_target.hpp"
#include "rma/epoch/passive_target.hpp"
#include "rma/memory/apply.hpp"
#include "rma/origin/sender.hpp"
#include "rma/target/lock.hpp"
#include "rma/target/server.hpp"
#include "rma/window/window_memory.hpp"

namespace rmq::rma {

class Domain;

class Window {
 public:
  // ---- life ----
  /// Makes this rank's part and lets it be found by packets. Allocates memory for allocate and shared. Never fails by
  /// itself: what went wrong travels in what it brings, so that open() fails in every member. `domain` outlives it.
  static std::unique_ptr<Window> prepare(Domain& domain, WindowOptions options);
  /// What this member tells the others between prepare() and open(): facts.hpp.
  Brought brought() const { return memory_.brought(); }
  /// Places of the members on my host, in order: those whose Brought::to_host go to me.
  const Ranks& host() const { return core_.host; }
  /// Errors are the same in every member: Errc::no_memory, Errc::argument (shared: the members do not share memory).
  /// Then, or when the window is no longer wanted, just destroy it. The window may be used as soon as open() has
  /// returned here; no barrier is needed behind it.
  Result<void> open(const Told& told);
  /// The same for callers whose members can meet: `all_and(words)` makes words the bitwise and of what all members
  /// bring; `gather_all(words)` and `gather_host(words)` give what all bring, and those on my host, in their order.
  template <class And, class All, class OnHost>
  Result<void> open(And&& all_and, All&& gather_all, OnHost&& gather_host) {
    const Brought mine = brought();
    Told told;
    told.masks = mine.masks();
    all_and(std::span<std::uint64_t>(told.masks));
    const std::vector<std::uint64_t> of_host = gather_host(std::span<const std::uint64_t>(mine.to_host));
    std::vector<std::uint64_t> of_all;
    if (!told.is_alike()) of_all = gather_all(std::span<const std::uint64_t>(mine.fact.words()));
    told.of_host = of_host;
    told.of_all = of_all;
    return open(told);
  }
  /// Where members learn that open() has returned in all (a barrier, or more): what only open() needs is free again.
  void all_have_opened() { memory_.all_have_opened(); }
  /// Whether it may be freed: Fault::sync while an epoch is open here. *Waits* for the last acknowledgements.
  Fault may_close();
  /// After may_close(), and after a barrier of all members behind it. Frees the memory of allocate and shared.
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::uint32_t id() const { return core_.options.id; }
  Flavor flavor() const { return core_.options.flavor; }
  int size() const { return core_.size(); }
  int me() const { return core_.me; }
  void* base() const { return core_.base; }                            // mine; what MPI_WIN_BASE shows
  std::uint64_t bytes() const { return core_.options.size; }           // mine
  std::uint64_t disp_unit() const { return core_.options.disp_unit; }  // mine
  const Hints& hints() const { return core_.options.hints; }
  const Ranks& world_ranks() const { return core_.options.ranks; }
  /// What the latest Fault::peer_lost was about: names the rank, and that it held a lock if it did. Else empty.
  const std::string& lost() const { return core_.lost; }

  // ---- operations ----
  // Each returns without the target's help, unless thousands are queued, or what may be under way to that target is
  // full: then it *waits* until there is room. What waits for company leaves when this rank polls, at the latest (its
  // agent's polls are some: every 100 ms; a thread that sleeps in a call does it once a second). Fault::sync without an
  // access epoch to that target, Fault::range, Fault::disp, Fault::op, Fault::type, Fault::peer_lost. What only the
  // target can find out (dynamic windows: Fault::range for memory that is not attached) comes from the call that
  // completes the operation.

  Fault put(const DataView& origin, const Target& target);
  /// The same, where the caller waits for it much later. By packets, up to kListedMost bytes in one piece are copied,
  /// and gathered with what follows.
  Fault put_gathered(const DataView& origin, const Target& target);
  Fault get(const DataView& origin, const Target& target);
  Fault accumulate(const DataView& origin, const Target& target, ReduceOp op);
  /// `origin` is not read with ReduceOp::no_op.
  Fault get_accumulate(const DataView& origin, const DataView& result, const Target& target, ReduceOp op);
  /// One element of a predefined type, as it lies in memory at `origin` and `result`; target.count is 1 and
  /// target.layout that type's. `origin` is not read with ReduceOp::no_op.
  Fault fetch_and_op(const void* origin, void* result, const Target& target, ReduceOp op);
  /// The same; integers, logical and byte types only (Fault::type else).
  Fault compare_and_swap(const void* origin, const void* compare, void* result, const Target& target);

  // The short way: done, or false and nothing has happened: then the functions above decide. Any rank and displacement;
  // one element of `basic` for combine_now (`before` may be null, `in` not read with no_op) and swap_now. Not while
  // other threads may call. rma/window/short_way.hpp.
  bool put_now(const void* from, std::uint64_t bytes, int rank, std::int64_t disp);
  bool get_now(void* to, std::uint64_t bytes, int rank, std::int64_t disp);
  bool combine_now(ReduceOp op, Basic basic, const void* in, void* before, int rank, std::int64_t disp);
  bool swap_now(Basic basic, const void* value, const void* compare, void* before, int rank, std::int64_t disp);
  bool flush_now(int rank);

  // Request-based forms: on Fault::none `request` is a device request of kind `other`, to be waited for and freed as
  // any; an error found later is its status.error (peer_lost, protocol, or argument with request_fault() saying which).
  Fault rput(const DataView& origin, const Target& target, Request*& request);
  Fault rget(const DataView& origin, const Target& target, Request*& request);
  Fault raccumulate(const DataView& origin, const Target& target, ReduceOp op, Request*& request);
  Fault rget_accumulate(const DataView& origin, const DataView& result, const Target& target, ReduceOp op,
                        Request*& request);
  static Fault request_fault(const Request& request);

  // ---- active target ----
  /// *Waits.* Collective. Closes the epoch that the last fence opened (unless noprecede) and opens the next (unless
  /// nosucceed). Fault::sync inside any other epoch.
  Fault fence(unsigned assertions) { return active_.fence(assertions); }
  /// Opens exposure to `group` (places in the window, sorted or not; copied).
  Fault post(std::span<const int> group, unsigned assertions) { return active_.post(group, assertions); }
  /// Opens access to `group`. Returns at once; operations wait for the targets' posts.
  Fault start(std::span<const int> group, unsigned assertions) { return active_.start(group, assertions); }
  /// *Waits* until all operations of this access epoch are complete here.
  Fault complete() { return active_.complete(); }
  /// *Waits* until all of the group have completed. Closes the exposure.
  Fault wait() { return active_.wait(); }
  /// One poll; when all have completed, `done` and the exposure is closed.
  Fault test(bool& done) { return active_.test(done); }

  // ---- passive target ----
  /// May return before the lock is held. Fault::sync when this target is locked already or another epoch is open.
  /// *Waits* for direct targets, and where writers have been in line at this one.
  Fault lock(LockType type, int target, unsigned assertions) { return passive_.lock(type, target, assertions); }
  /// *Waits* until all operations are complete at the target.
  Fault unlock(int target) { return passive_.unlock(target); }
  /// Targets are locked as operations go there (shared windows: at once).
  Fault lock_all(unsigned assertions) { return passive_.lock_all(assertions); }
  Fault unlock_all() { return passive_.unlock_all(); }
  /// *Waits* until all operations so far are complete at the target (or all targets). Fault::sync outside of lock or
  /// lock_all.
  Fault flush(int target) { return passive_.flush(target); }
  Fault flush_all() { return passive_.flush_all(); }
  /// *Waits* until the origin's memory may be used again.
  Fault flush_local(int target) { return passive_.flush_local(target); }
  Fault flush_local_all() { return passive_.flush_local_all(); }
  /// Whether an epoch of lock or lock_all is open here.
  bool in_lock() const { return core_.in_lock(); }
  /// Memory barrier; allowed anywhere.
  Fault sync() { return passive_.sync(); }
  /// Of what has been issued to this target so far; nothing to wait for where it is reached directly. Under lock or
  /// lock_all, as long as the epoch lasts.
  Completion completion(int target, Until until) {
    const Completion kept = sender_.completion(target, until);
    if (kept.channel) kept.channel->keep_order();
    return kept;
  }
  /// Whether it is complete, here alone (Until::local). Sends what is queued of it.
  bool test(const Completion& one) {
    if (!one.channel) return true;
    one.channel->push();
    return one.channel->is_complete(one);
  }
  /// *Waits* until all of these are complete, and for nothing that was issued after them.
  Fault finish(std::span<Completion> all) { return sender_.finish(all); }

  // ---- memory ----
  /// Dynamic windows. Fault::attach when it overlaps what is attached, or is not attached.
  Fault attach(void* memory, std::uint64_t bytes) {
    return core_.is_dynamic() && core_.attached.add(memory, bytes) ? Fault::none : Fault::attach;
  }
  /// The same for memory that other members know by this name, a number below 2^63, which stands instead of its
  /// address. Before open() too: others may use it as soon as they have opened the window. This member itself does not
  /// reach it through the window.
  Fault attach(void* memory, std::uint64_t bytes, std::uint64_t name) {
    return core_.is_dynamic() && core_.attached.add(memory, bytes, name) ? Fault::none : Fault::attach;
  }
  Fault detach(void* memory) { return core_.attached.remove(memory) ? Fault::none : Fault::attach; }
  /// Another member's memory in this process; rank -1: of the first member that has any here. No base and no bytes when
  /// it cannot be reached by loads and stores. Fault::shared for dynamic windows.
  /// *Waits*, in an epoch of lock_all, until all that is reached so is locked.
  Fault shared_query(int rank, SharedMemory& memory) {
    const Fault f = memory_.query(rank, memory);
    return f != Fault::none || !memory.base ? f : passive_.reach_by_address();
  }
  /// The mutexes that whoever accumulates there by himself holds (rma/memory/regions.hpp); `rank`: of memory that
  /// shared_query() has found.
  Regions regions(int rank) const { return core_.regions(core_.at(rank), core_.at(rank).exclusive); }

  /// What an operation on that target that is not complete waits for, as adi::Awaited::tell.
  void tell_operation(int target, ReportText& to) const { tell_wait({WaitFor::What::operations, target}, to); }

 private:
  friend class Domain;  // brings packets to the parts

  Window(Domain& domain, WindowOptions options);

  // ---- what all operations do, and direct ones: direct.cpp ----
  Reach* plainly(int rank, std::int64_t disp, std::uint64_t bytes, std::uint64_t& offset);
  /// Checks that the target's memory has all of it. `offset`: from `t.base` where that is mapped here; else what the
  /// target calls it.
  Fault locate(const Reach& t, const Target& target, std::uint64_t& offset) const;
  Fault begin(const Target& target, std::uint64_t& offset);
  Fault begin_combining(const Target& target, ReduceOp op, std::uint64_t& offset, Element& element);
  Fault finish_request(Fault fault, Request*& request);

  void peer_lost(Rank rank);
  // Reports: report.cpp.
  void tell(ReportText& to) const;
  void tell_wait(const WaitFor& wait, ReportText& to) const;
  static void tell_waited(const void* wait, ReportText& to);  // as WindowCore::TellWait

  WindowCore core_;  // first: the short way reads it
  Domain& domain_;
  WindowMemory memory_{core_};
  Sender sender_{core_};
  ActiveTarget active_{core_, sender_};
  Lock lock_{core_};
  Server server_{core_, sender_, lock_};
  PassiveTarget passive_{core_, sender_, lock_, server_};
  bool needs_agent_ = false;
};

}  // namespace rmq::rma
