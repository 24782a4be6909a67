// A window: memory of several ranks that each of them may read and change. One object a rank and MPI window.
//
// Ranks here are places in the window's group, 0 … size-1, and callers pass valid ones (no MPI_PROC_NULL). Layouts stay
// the caller's: what must live longer than a call keeps a reference. Origin memory must live until the operation is
// complete as MPI says. Every call needs the device held (adi::Device::Entry); those marked *waits* poll the device and
// give it away between polls, so that other threads may call meanwhile.
//
// Collective parts are split: this floor knows no communicators. See prepare(), open(), close().
//
// Where things are: making windows rma/window.cpp, direct access rma/direct.cpp, packets to a target rma/origin.cpp
// (when they leave: rma/channel.cpp), packets from origins rma/server.cpp, the lock rma/lock.cpp, epochs
// rma/passive.cpp, rma/fence.cpp and rma/pscw.cpp. What they share: rma/window_state.hpp. Protocols: design/rma.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
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
#include "rma/memory.hpp"
#include "rma/options.hpp"
#include "rma/reach.hpp"

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

struct Channel;
struct Goal;
struct Op;
struct Origin;
struct Control;
struct Element;
struct Regions;
struct WaitFor;

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
  /// Whether it may be freed: Fault::sync while an epoch is open here. *Waits* for the last acknowledgements.
  Fault may_close();
  /// After may_close(), and after a barrier of all members behind it. Frees the memory of allocate and shared.
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::uint32_t id() const { return options_.id; }
  Flavor flavor() const { return options_.flavor; }
  int size() const { return static_cast<int>(members_); }
  int me() const { return me_; }
  void* base() const { return base_; }                   // mine; what MPI_WIN_BASE shows
  std::uint64_t bytes() const { return options_.size; }  // mine
  int disp_unit() const { return options_.disp_unit; }   // mine
  const Hints& hints() const { return options_.hints; }
  const std::vector<Rank>& world_ranks() const { return options_.ranks; }
  /// What the latest Fault::peer_lost was about: names the rank, and that it held a lock if it did. Else empty.
  const std::string& lost() const { return lost_; }

  // ---- operations ----
  // Each returns without the target's help, unless thousands are queued, or what may be under way to that target is
  // full: then it *waits* until there is room. Fault::sync without an access epoch to that target, Fault::range,
  // Fault::disp, Fault::op, Fault::type, Fault::peer_lost. What only the target can find out (dynamic windows:
  // Fault::range for memory that is not attached) comes from the call that completes the operation.

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

  // The short way: done, or false and nothing has happened: then the functions above decide. Any rank and displacement;
  // one element of `basic` for combine_now (`before` may be null, `in` not read with no_op) and swap_now. Not while
  // other threads may call. rma/short_way.hpp.
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
  /// Memory barrier; allowed anywhere.
  Fault sync();

  // ---- memory ----
  /// Dynamic windows. Fault::attach when it overlaps what is attached, or is not attached.
  Fault attach(void* memory, std::uint64_t bytes);
  Fault detach(void* memory);
  /// Another member's memory in this process; rank -1: of the first member that has any here. No base and no bytes when
  /// it cannot be reached by loads and stores. Fault::shared for dynamic windows.
  Fault shared_query(int rank, SharedMemory& memory) const;

 private:
  friend class Domain;

  /// Bits of Reach::access and of all_.
  static constexpr std::uint8_t kLock = 1, kStart = 2, kFence = 4, kLockAll = 8;
  // Calls between two polls of the device: a program may wait in a loop of get and flush, of lock and unlock, or of
  // sync, and the rest of the job must go on meanwhile.
  static constexpr std::uint32_t kCallsPerPoll = 64;

  Window(Domain& domain, WindowOptions options);

  // ---- life: window.cpp ----
  void take_memory();
  void take_host_memory();
  void take_heap_memory();
  int elsewhere() const;
  bool reaches_me(int rank) const;
  bool is_near(int rank) const;
  void place_shared();
  void reach(int rank, std::span<const std::uint64_t> words);
  Rank world(int rank) const { return options_.ranks[static_cast<std::size_t>(rank)]; }
  Reach& at(int rank) const { return reach_[static_cast<std::size_t>(rank)]; }
  int member(Rank world_rank) const { return member_of_[static_cast<std::size_t>(world_rank)]; }
  adi::Device& device() const { return domain_.device(); }
  /// Records an event about a member (-1: about all).
  void note(Event event, int rank, std::uint64_t a1 = 0) const {
    device().trace().event(event, 0, rank < 0 ? kNoRank : world(rank), options_.id, a1);
  }
  bool is_attached(std::uint64_t from, std::uint64_t bytes) const;
  bool is_attached(const Layout& layout, std::uint64_t count, std::uint64_t origin) const;

  // ---- what all operations do, and direct ones: direct.cpp ----
  Reach* plainly(int rank, std::int64_t disp, std::uint64_t bytes, std::uint64_t& offset);
  Fault admit(int rank);
  Fault locate(const Reach& t, const Target& target, std::uint64_t& offset) const;
  Fault begin(const Target& target, std::uint64_t& offset);
  Fault begin_combining(const Target& target, ReduceOp op, std::uint64_t& offset, Element& element);
  Regions regions_of(const Reach& t) const;
  Fault finish_request(Fault fault, Request*& request);

  // ---- packets to a target: origin.cpp, channel.cpp ----
  Channel& channel(int rank);
  Op* make_op(Kind kind, const Target& target, std::uint64_t offset, const DataView* data, const DataView* result);
  Op* make_combining(Kind kind, const Target& target, std::uint64_t offset, ReduceOp op, const Element& element,
                     const DataView* data, const DataView* result);
  Fault issue(Op* op, Request** request);
  void pump(Channel& c);
  bool send(Channel& c, std::uint8_t flags);
  bool start(Channel& c, Op* op, std::uint8_t flags);
  static bool has_room(const Channel& c, std::uint64_t bytes);
  std::uint64_t piece_of(const Op& op) const;
  void send_piece(Channel& c, Op* op, std::uint64_t bytes);
  bool ask(Channel& c);
  static void on_data_left(Request* carrier);
  void keep_get_for_last(Channel& c, std::uint64_t most);
  void ask_for_lock(Channel& c);
  void granted(Channel& c);
  void lock_answered(int rank, Fault fault, Rank culprit);
  void lead_out(Channel& c, bool unlock);
  Channel* in_use(int rank) const;
  Goal goal_of(int rank) const;
  std::vector<Goal> goals() const;
  void drain(Channel& c, const Goal& goal, bool unlock, bool asks);
  Fault settle(std::span<Goal> goals, bool unlock, bool remote);
  bool is_settled(const Channel& c, const Goal& goal, bool remote) const;
  void close(Channel& c);
  void op_part_done(Op* op);
  void answer_arrived(Op* op, std::uint64_t bytes, Fault fault);
  void answered(Op* op, Fault fault);
  void acknowledged(int rank, std::uint64_t number, std::uint64_t position, Fault fault, Rank culprit);
  void release_types(Channel& c, std::uint64_t number);
  void note_fault(int rank, Fault fault, Rank culprit);
  void abandon(Channel& c, Fault fault);
  Fault take_fault(Channel& c);

  // ---- packets from origins: server.cpp ----
  void arrive(int from, const Packet& p, const std::byte* payload);
  bool process(Origin& o, const Packet& p, const std::byte* payload, bool locked);
  bool execute(Origin& o, const Packet& p, const std::byte* payload);
  Fault find_place(Origin& o, const Packet& p, DataView& view, bool& missing);
  Fault execute_get(Origin& o, const DataView& view, const Packet& p);
  Fault execute_combine(Origin& o, const DataView& view, const Packet& p, const std::byte* payload);
  Fault execute_one(Origin& o, const Packet& p, const std::byte* payload);
  Regions regions_for(const Origin& o) const;
  void after(Origin& o, const Packet& p, Fault fault);
  void reply(const Origin& o, std::uint32_t ticket, const Payload& data, std::uint64_t at, Request* owner);
  void acknowledge(const Origin& o, std::uint32_t ticket, Fault fault, Rank culprit = kNoRank);
  void hold(Origin& o, const Packet& p, const std::byte* payload);
  void run(Origin& o, bool locked);
  static void drop_first(Origin& o);
  static void drop_all(Origin& o);
  void retry_type(int from, std::uint32_t id);
  void resume(int from);
  Origin& origin(int rank);
  bool land(int from, const Packet& p, methods::Landing& landing);
  void landed(int from, const Packet& p) { after(origin(from), p, Fault::none); }

  // ---- the lock: lock.cpp ----
  void begin_lock(int rank, LockType type, LockPlace& place);
  bool try_lock(int rank, LockPlace& place);
  void release_lock(int rank, LockPlace& place);
  Fault wait_for_lock(int rank);
  int broken_by(int rank) const;
  int serve_locks();
  /// After a release by this rank's own calls: the program may compute from now on, and nobody wakes the agent for it.
  void serve_released() {
    if (!waiting_.empty()) serve_locks();
  }
  bool serve_lock(Origin& o, LockType type);
  void refuse_lock(Origin& o, Rank culprit);
  void unlock_for(Origin& o);

  // ---- active target: fence.cpp, pscw.cpp ----
  void signal(int rank, std::uint32_t what, std::uint32_t round, std::uint32_t value);
  void signalled(int from, const Packet& p);
  Fault barrier(bool told);
  bool barrier_covers() const;
  /// Whether an operation that was checked here may still turn out wrong at its target: then the epoch that it belongs
  /// to waits for the target's word.
  bool targets_find_out() const { return options_.flavor == Flavor::dynamic; }
  bool has_posted(int rank) const;
  bool has_completed(int rank) const;
  bool all_completed() const;

  // ---- loss: window.cpp ----
  void peer_lost(Rank rank);
  Fault lost_because_of(int rank, const char* held);
  bool is_lost(int rank) const;

  /// `what`: for reports.
  template <class Done>
  void wait_until(const WaitFor& what, Done&& done);

  // ---- reports: report.cpp ----
  void tell(ReportText& to) const;
  void tell_wait(const WaitFor& wait, ReportText& to) const;

  Domain& domain_;
  std::unique_ptr<Reach[]> reach_;  // by place
  unsigned members_ = 0;
  int me_ = 0;
  std::uint32_t calls_ = 0;     // of flush and sync, for now and then a poll
  std::uint8_t all_ = 0;        // access that the epoch gives to all targets
  bool fence_used_ = false;     // operations were made since the last fence
  bool nocheck_all_ = false;    // of lock_all
  bool nocheck_start_ = false;  // of start
  bool shares_ = false;         // others may reach my memory and control
  bool needs_agent_ = false;
  WindowOptions options_;
  std::byte* base_ = nullptr;
  Control* control_ = nullptr;                      // mine
  void* allocated_ = nullptr;                       // window memory to be freed
  Fault trouble_ = Fault::none;                     // of prepare()
  std::vector<HostMemory> memory_;                  // of a shared window, by place
  std::vector<int> member_of_;                      // by world rank; -1: none
  std::vector<std::unique_ptr<Channel>> channels_;  // by place; made when needed
  std::vector<int> busy_;                           // places whose channels are in use
  std::vector<std::unique_ptr<Origin>> origins_;    // by place; made when needed
  std::vector<int> waiting_;                        // places that wait for my lock by packets
  std::vector<int> locked_;                         // places I have locked by lock()
  std::vector<int> access_group_, exposure_group_;
  bool accessing_ = false, exposed_ = false;     // start .. complete, post .. wait
  std::vector<std::uint32_t> started_, posted_;  // by place: access and exposure epochs so far
  std::uint32_t barriers_ = 0;
  std::map<std::uintptr_t, std::uint64_t> attached_;  // address -> bytes
  std::multiset<std::uintptr_t> attached_empty_;      // regions of no bytes: in nobody's way, only to be detached
  std::vector<int> lost_members_;
  std::string lost_;
  std::vector<std::uint64_t> type_bytes_;  // largest definition of a datatype that each keeps
};

}  // namespace rmq::rma
