// A window: memory of several ranks that each of them may read and change. One object a rank and MPI window.
//
// Ranks here are places in the window's group, 0 … size-1, and callers pass valid ones (no MPI_PROC_NULL). Layouts stay
// the caller's: what must live longer than a call keeps a reference. Origin memory must live until the operation is
// complete as MPI says. Every call needs the device held (adi::Device::Entry); those marked *waits* poll the device and
// give it away between polls, so that other threads may call meanwhile.
//
// Collective parts are split: this floor knows no communicators. See prepare(), open(), close().
//
// Where things are: making windows rma/window.cpp, direct access rma/direct.cpp, packets to a target rma/origin.cpp,
// packets from origins rma/server.cpp, epochs rma/passive.cpp, rma/fence.cpp and rma/pscw.cpp. Protocols:
// design/rma.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adi/device.hpp"
#include "base/data_view.hpp"
#include "base/layout.hpp"
#include "base/reduction.hpp"
#include "base/request.hpp"
#include "rma/domain.hpp"
#include "rma/fault.hpp"
#include "rma/options.hpp"

namespace rmq::rma {

/// Where an operation goes: `count` elements of `layout`, the first one's origin `disp` displacement units of the
/// target's behind its base (dynamic windows: at the address `disp`).
struct Target {
  int rank = 0;
  std::int64_t disp = 0;
  const Layout* layout = nullptr;  // never null
  std::uint64_t count = 0;
};

/// What shared_query tells.
struct SharedMemory {
  void* base = nullptr;    // in this process
  std::uint64_t size = 0;  // bytes
  int disp_unit = 1;
};

class Window {
 public:
  // ---- life ----
  /// Words that each member brings to the gather between prepare() and open().
  static constexpr std::size_t kWords = 8;

  /// Makes this rank's part and lets it be found by packets. Allocates memory for allocate and shared. Never fails by
  /// itself: what went wrong travels in the contribution, so that open() fails in every member. `domain` outlives it.
  static std::unique_ptr<Window> prepare(Domain& domain, WindowOptions options);
  /// What the caller gathers from every member, in their order, and hands to open().
  std::array<std::uint64_t, kWords> contribution() const;
  /// `all`: kWords words of each member. Errors are the same in every member: Errc::no_memory, Errc::argument (shared:
  /// the members do not share memory). Then, or when the window is no longer wanted, just destroy it. The window may be
  /// used as soon as open() has returned here; no barrier is needed behind it.
  Result<void> open(std::span<const std::uint64_t> all);
  /// Whether it may be freed: Fault::sync while an epoch is open here.
  Fault may_close() const;
  /// After may_close(), and after a barrier of all members behind it. Frees the memory of allocate and shared.
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::uint32_t id() const { return options_.id; }
  Flavor flavor() const { return options_.flavor; }
  int size() const { return static_cast<int>(options_.ranks.size()); }
  int me() const { return options_.me; }
  void* base() const { return base_; }                   // mine; what MPI_WIN_BASE shows
  std::uint64_t bytes() const { return options_.size; }  // mine
  int disp_unit() const { return options_.disp_unit; }   // mine
  const Hints& hints() const { return options_.hints; }
  const std::vector<Rank>& world_ranks() const { return options_.ranks; }
  /// What the latest Fault::peer_lost was about: names the rank, and that it held a lock if it did. Else empty.
  const std::string& lost() const { return lost_; }

  // ---- operations ----
  // Each returns at once: Fault::sync without an access epoch to that target, Fault::range, Fault::disp, Fault::op,
  // Fault::type, Fault::peer_lost. What only the target can find out (dynamic windows: Fault::range for memory that is
  // not attached) comes from the call that completes the operation.

  Fault put(const DataView& origin, const Target& target);
  Fault get(const DataView& origin, const Target& target);
  Fault accumulate(const DataView& origin, const Target& target, ReduceOp op);
  /// `origin` is not read with ReduceOp::no_op.
  Fault get_accumulate(const DataView& origin, const DataView& result, const Target& target, ReduceOp op);
  /// One element of a predefined type, as it lies in memory at `origin` and `result`; target.count is 1 and
  /// target.layout that type's. `origin` is not read with ReduceOp::no_op.
  Fault fetch_and_op(const void* origin, void* result, const Target& target, ReduceOp op);
  /// The same; integers, logical and byte types only (Fault::type else).
  Fault compare_and_swap(const void* origin, const void* compare, void* result, const Target& target);

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
  Fault fence(unsigned assertions);
  /// Opens exposure to `group` (places in the window, sorted or not; copied).
  Fault post(std::span<const int> group, unsigned assertions);
  /// Opens access to `group`. Returns at once; operations wait for the targets' posts.
  Fault start(std::span<const int> group, unsigned assertions);
  /// *Waits* until all operations of this access epoch are complete here.
  Fault complete();
  /// *Waits* until all of the group have completed. Closes the exposure.
  Fault wait();
  /// One poll; when all have completed, `done` and the exposure is closed.
  Fault test(bool& done);

  // ---- passive target ----
  /// May return before the lock is held. Fault::sync when this target is locked already or another epoch is open.
  /// *Waits* for direct targets.
  Fault lock(LockType type, int target, unsigned assertions);
  /// *Waits* until all operations are complete at the target.
  Fault unlock(int target);
  Fault lock_all(unsigned assertions);
  Fault unlock_all();
  /// *Waits* until all operations so far are complete at the target (or all targets). Fault::sync outside of lock or
  /// lock_all.
  Fault flush(int target);
  Fault flush_all();
  /// *Waits* until the origin's memory may be used again.
  Fault flush_local(int target);
  Fault flush_local_all();
  /// Memory barrier. Fault::sync outside of lock or lock_all.
  Fault sync();

  // ---- memory ----
  /// Dynamic windows. Fault::attach when it overlaps what is attached, or is not attached.
  Fault attach(void* memory, std::uint64_t bytes);
  Fault detach(void* memory);
  /// Another member's memory in this process; rank -1: of the first member that has any. Fault::shared when the flavor
  /// is not shared.
  Fault shared_query(int rank, SharedMemory& memory) const;

 private:
  Window(Domain& domain, WindowOptions options);

  Domain& domain_;
  WindowOptions options_;
  void* base_ = nullptr;
  std::string lost_;
};

}  // namespace rmq::rma
