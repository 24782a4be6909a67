// SPDX-License-Identifier: BSD-3-Clause
// Who is in the device: one thread at a time, and in which call of MPI, whose name reports and the recorder tell.
//
// Without other threads the gate costs one branch, with several threads of the program it is a lock. Where the only
// other thread is the agent, which rarely comes and can do without, the gate leans to the program: a call says that it
// is inside and looks whether the agent is, two plain accesses with an asymmetric fence between them
// (base/os/fence.hpp). The agent says that it comes, makes the heavy half of the fence, and looks: if a call is inside,
// it goes away again.
//
//     call                              agent, holding mutex_
//     inside_ = 1                       agent_ = 1
//     light fence                       heavy fence
//     agent_ == 0, or wait for mutex_   inside_ == 0, or give up
//
// A call that waits gives the device away between polls; one that sleeps announces it first (Sleep::arm).
//
// Of several threads that sleep one listens at the doorbell, for all. The others sleep beside it, each in a bunk of its
// own. Whoever has held the device and may have brought about what a sleeper waits for wakes that one, before it lets
// the device go (tell_sleepers). And whoever leaves while nobody listens, or is about to, wakes one of those that sleep
// to take over. So a rank that sleeps is woken by what comes for it, and hardly by the clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "adi/report.hpp"
#include "base/os/atomic.hpp"
#include "base/os/bunk.hpp"
#include "base/os/doorbell.hpp"
#include "base/os/fence.hpp"
#include "base/record/trace.hpp"

namespace rmq::adi {

class Gate {
  // Bits of call_, which is the name of an MPI function: the call is over; it has called a function of the program.
  static constexpr std::uintptr_t kCallLeft = std::uintptr_t{1} << 63, kCallBack = std::uintptr_t{1} << 62;

 public:
  /// `threads`: several threads call. `trace` outlives this.
  Gate(Trace& trace, bool threads) : trace_(trace), threads_(threads), special_(threads), several_(threads) {}
  /// Before the first call. `kept` counts messages that came without a receive. Both outlive this.
  void set_doorbell(const Doorbell& doorbell, Rank rank, const std::uint64_t& kept) {
    doorbell_ = &doorbell;
    rank_ = rank;
    kept_ = &kept;
  }
  /// Where peers see whether a call waits (Method::attention).
  void set_attention(std::atomic<std::uint32_t>* word) { attention_ = word; }

  // ---- threads ----
  /// Whether there are other threads than the program's one; and whether they are the program's.
  bool threads() const { return threads_; }
  bool several() const { return several_; }
  /// For threads of the program, where threads() holds.
  void lock() {
    if (several_) return lock_mutex();
    inside_.store(1, std::memory_order_relaxed);
    os::light_fence(asymmetric_);
    // Acquire pairs with the release in agent_unlock(): what the agent has done.
    if (agent_.load(std::memory_order_acquire) != 0) [[unlikely]]
      wait_for_agent();
  }
  void unlock() {
    if (several_) return mutex_.unlock();
    inside_.store(0, std::memory_order_release);  // pairs with the acquire in agent_try_lock()
  }
  /// For the agent, and for a signal handler on any thread, the program's one too, wherever it was interrupted: whether
  /// nobody is inside; then nobody comes before agent_unlock().
  bool agent_try_lock();
  void agent_unlock();
  /// Whether another thread wants the device. Relaxed: a hint; the mutex itself orders what the threads do.
  bool is_wanted() const { return contenders_.load(std::memory_order_relaxed) > 0; }
  /// Lets other threads in, and other processes.
  void give_way();
  /// From now on, or no longer, other threads come. Inside an Entry, while only its thread uses the device.
  void enable_threads() {
    if (threads()) return;
    asymmetric_ = os::register_asymmetric_fence();
    inside_.store(1, std::memory_order_relaxed);  // the caller's Entry ends it; there is no agent yet
    threads_ = true;
    special_ = true;
  }
  void disable_threads() {
    if (!threads()) return;
    threads_ = false;
    special_ = false;
    unlock();
  }

  /// Holds the device for the calling thread. Not recursive. Both ends look at the flag: it may change in between, and
  /// then the mutex changes hands with it.
  class Entry {
   public:
    /// `function`: the MPI function, for reports; a literal. `call`: its call_id(), for the recorder; 0: not recorded.
    /// `kind`: what call_kind() returns meanwhile.
    explicit Entry(Gate& g, const char* function, std::uint32_t call, std::uint32_t kind)
        : gate_(g), function_(reinterpret_cast<std::uintptr_t>(function)), call_(call) {
      if (gate_.special_) [[unlikely]]
        gate_.enter(function);
      if (call_) before_ = gate_.trace_.enter(call_);
      // Relaxed: read by holders of the device and by signal handlers of this thread.
      gate_.call_.store(function_, std::memory_order_relaxed);
      gate_.call_kind_ = kind;
    }
    ~Entry() {
      if (call_) gate_.trace_.leave(call_, before_);
      gate_.call_.store(function_ | kCallLeft, std::memory_order_relaxed);
      if (gate_.attending_) gate_.attend(false);
      if (gate_.threads()) [[unlikely]] {
        if (gate_.sleepers > 0) gate_.leave_sleepers();
        gate_.unlock();
      }
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    Gate& gate_;
    const std::uintptr_t function_;
    const std::uint32_t call_;
    std::uint32_t before_ = 0;  // the call that this one is inside of
  };

  /// What stands for an Entry in a call that may go without one (Core::needs_no_entry): reports and the recorder
  /// know which call runs.
  class Passage {
   public:
    Passage(Gate& g, const char* function, std::uint32_t call)
        : gate_(g), function_(reinterpret_cast<std::uintptr_t>(function)) {
      if (gate_.special_) [[unlikely]]
        gate_.enter(function);
      before_ = g.trace_.swap_call(call);
      gate_.call_.store(function_, std::memory_order_relaxed);  // as Entry's
    }
    ~Passage() {
      gate_.trace_.swap_call(before_);
      gate_.call_.store(function_ | kCallLeft, std::memory_order_relaxed);
      if (gate_.threads()) [[unlikely]] {
        if (gate_.sleepers > 0) gate_.leave_sleepers();
        gate_.unlock();
      }
    }
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;

   private:
    Gate& gate_;
    const std::uintptr_t function_;
    std::uint32_t before_;  // the call that this one is inside of
  };

  /// A call that has given the device away, on its stack: what it was doing, to be put back, and told meanwhile where
  /// there are other threads to tell it. Does not touch the mutex.
  class Away {
   public:
    /// It lets other threads in, runs a function of the program, sleeps at the doorbell, or beside who does.
    enum class Why : std::uint8_t { gives_way, callback, listens, sleeps };
    Away(Gate& g, Why why);
    ~Away();
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;

    const Away* next() const { return next_; }
    const char* name() const { return name_of(call_); }
    bool in_callback() const { return why_ == Why::callback; }
    const Awaited& awaited() const { return awaited_; }
    /// The sleep of who sleeps beside others, with the device given away; ns, negative: until it is woken.
    void sleep(std::int64_t most_ns) { bunk_.sleep(most_ns); }

   private:
    friend class Gate;
    Gate& gate_;
    const std::uintptr_t call_;
    const std::uint32_t kind_;  // of the call that is away: others have their own meanwhile
    const Why why_;
    bool woken_ = false;        // of a sleep: it is over, or has been rung
    const std::uint64_t kept_;  // messages by then
    const Awaited awaited_;
    os::Bunk bunk_;
    Away *next_, **prev_;
  };

  /// Gives the device away in the middle of an Entry, for its lifetime: around functions of the user that may call MPI.
  class Absence {
   public:
    explicit Absence(Gate& g) : gate_(g), away_(g, Away::Why::callback) {
      if (gate_.threads()) gate_.unlock();
    }
    ~Absence() {
      if (gate_.threads()) gate_.lock();
    }
    Absence(const Absence&) = delete;
    Absence& operator=(const Absence&) = delete;

   private:
    Gate& gate_;
    Away away_;  // ends with the device held again
  };

  /// While this lives, a function of the program runs in the middle of a poll, with the device held. It must not call
  /// in: the device is in the midst of something, and would be waited for by who holds it. Who does ends the process,
  /// and says so.
  class Handler {
   public:
    explicit Handler(Gate& g) : gate_(g), before_(std::exchange(runs_handler, true)) { g.note_handler(true); }
    ~Handler() {
      runs_handler = before_;
      gate_.note_handler(before_);
    }
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

   private:
    Gate& gate_;
    const bool before_;
  };

  // ---- what calls do ----
  /// The MPI function under way, or the latest one.
  const char* call_name() const { return name_of(call_.load(std::memory_order_relaxed)); }
  Doing doing() const;
  /// Of the latest Entry.
  std::uint32_t call_kind() const { return call_kind_; }
  /// Calls that have given the device away.
  const Away* away() const { return away_; }
  /// The call under way waits from now on, or no longer. Its end ends that too.
  void attend(bool here) {
    attending_ = here;
    waits_ += here;
    if (attention_) attention_->store(here ? 1 : 0, std::memory_order_relaxed);  // a hint
  }
  bool attending() const { return attending_; }
  /// Calls that have had to wait.
  std::uint64_t waits() const { return waits_; }

  /// There is something new to do, or to wait for: a thread that sleeps looks again.
  void rouse() {
    if (armed) [[unlikely]]
      ring();
  }

  /// The call under way has brought something about, or may have: wakes those that sleep for it.
  void tell_sleepers();
  /// Something has happened that may end waits of any kind, in whatever call that is noticed.
  void stir() { stirred_ = true; }
  /// From now on waits for a request may end otherwise: by a failure that the program hears of, say.
  void distrust() { distrusts_ = stirred_ = true; }
  /// A thread listens at the doorbell.
  bool is_listened() const { return listener_ != nullptr; }
  /// It has been rung, and has not come yet.
  bool is_listener_called() const;
  /// Nothing is announced any more: the thread that listens looks, and announces itself again.
  void call_listener();
  /// Whether a call with the present `awaited` may sleep beside another one without announcing anything itself: that
  /// one listens, or polls, and sees all that can end this wait.
  bool may_sleep_beside() const;

  Awaited awaited;     // of the call that polls; meaningful only from inside of its poll
  bool armed = false;  // the methods are armed: somebody sleeps, or is about to
  int sleepers = 0;    // threads of the program that sleep

 private:
  bool is_known(const Awaited& wait) const;
  bool is_over(const Away& sleeper) const;
  void wake(Away& sleeper);
  void leave_sleepers();
  static const char* name_of(std::uintptr_t call);
  // Where there are other threads, special_ says so all the time, and is not written.
  void note_handler(bool runs) {
    if (!threads_) special_ = runs;
  }
  // Where special_ says so. A call of its own, so that calls of one thread keep their registers.
  void enter(const char* function);
  [[noreturn, gnu::cold]] void refuse(const char* function) const;
  void lock_mutex();
  void wait_for_agent();
  void ring() { doorbell_->ring(rank_); }

  Trace& trace_;
  [[gnu::tls_model("initial-exec")]] static thread_local bool runs_handler;  // a byte: no call to find it
  bool threads_;
  bool special_;  // a call that comes in has to do more than to say so: there are other threads, or a Handler lives
  bool several_;  // threads of the program; else the only other one is the agent, which keeps out of its way
  bool attending_ = false;
  std::uint32_t call_kind_ = 0;
  std::atomic<std::uintptr_t> call_{0};  // name of the MPI function, kCallLeft, kCallBack
  Away* away_ = nullptr;
  std::atomic<std::uint32_t>* attention_ = nullptr;
  std::uint64_t waits_ = 0;
  Away* listener_ = nullptr;  // the thread of the program that sleeps at the doorbell
  bool stirred_ = false;      // since the sleepers were told; each call begins with that, where there are threads
  bool distrusts_ = false;    // see distrust()
  const std::uint64_t* kept_ = nullptr;
  const Doorbell* doorbell_ = nullptr;
  Rank rank_ = kNoRank;
  bool asymmetric_ = false;
  Mutex mutex_;                      // held by whoever is inside, but for the program's one thread; the agent always
  Atomic<int> contenders_{0};        // threads that want the lock: tells a polling holder to give way
  Atomic<std::uint32_t> inside_{0};  // the program's one thread is
  Atomic<std::uint32_t> agent_{0};   // the agent is, or looks whether it can be
};

}  // namespace rmq::adi
