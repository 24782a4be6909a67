// SPDX-License-Identifier: BSD-3-Clause
// The state that all parts of the device share: who this rank is, its requests, the queues of messages, the channels to
// other ranks, the gate for threads, the recorder, and the clock of the dispatch loop.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adi/channels.hpp"
#include "adi/counters.hpp"
#include "adi/gate.hpp"
#include "adi/match.hpp"
#include "adi/options.hpp"
#include "adi/report.hpp"
#include "adi/wait.hpp"
#include "adi/watch.hpp"
#include "base/config.hpp"
#include "base/os/doorbell.hpp"
#include "base/packet/request_pool.hpp"
#include "base/ranks.hpp"
#include "base/record/trace.hpp"
#include "methods/method.hpp"
#include "start/bootstrap.hpp"

namespace rmq::adi {

/// The fields of a packet that name the message it belongs to.
inline void set_match(Packet& p, const Match& match) {
  p.context = match.context;
  p.tag = match.tag;
  p.source = match.source;
}

class Core {
 public:
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // ---- who this rank is ----
  Rank rank() const { return rank_; }
  /// Ranks of the job. Those of other jobs that have been met have the numbers from there on.
  int size() const { return bootstrap_.job().size; }
  int known() const { return static_cast<int>(channels_.size()); }
  const JobInfo& job() const { return bootstrap_.job(); }
  const Config& config() const { return config_; }
  /// Whether the job goes on when ranks die: losses.hpp.
  bool is_fault_tolerant() const { return bootstrap_.job().ft; }

  // ---- requests ----
  /// A fresh request. The caller fills it in and hands it to MPID_Isend or MPID_Irecv.
  Request* MPID_Request_create(RequestKind kind) {
    Request* r = pool_.get();
    r->kind = kind;
    return r;
  }
  RequestPool& pool() { return pool_; }
  /// Entries of the posted and unexpected queues, for diagnosis.
  std::size_t posted() const { return match_.posted(); }
  std::size_t unexpected() const { return match_.unexpected(); }

  // ---- the other ranks ----
  methods::MethodId method_of(Rank rank) { return channels_[rank].id; }
  /// Whether messages to the rank, another one, go by memory of this host.
  bool shares_memory(Rank rank) {
    const Channel& c = channels_[rank];
    return c.method && c.method->shares_memory();
  }
  const std::vector<std::unique_ptr<methods::Method>>& methods() const { return methods_; }
  /// Whether packets have gone to the rank, or come from it.
  bool has_met(Rank rank) const { return channels_.find(rank) != nullptr; }
  /// Whether any rank is lost.
  bool any_lost() const { return any_lost_; }
  /// Why the rank is lost; empty while it is not.
  std::string_view peer_error(Rank rank) const {
    const Channel* const c = channels_.find(rank);
    return c ? std::string_view(c->error.what) : std::string_view();
  }
  /// How calls fail that need a lost rank: Errc::peer_lost, or no_memory where it is this rank that cannot go on.
  Errc loss(Rank rank) const {
    const Channel* const c = channels_.find(rank);
    return c && c->error.code == Errc::no_memory ? Errc::no_memory : Errc::peer_lost;
  }
  /// Whether this rank is lost, or its process has ended (which will be reported as its loss). A system call perhaps.
  bool is_gone(Rank rank);

  // ---- packets of the floors above ----
  /// Sends a packet with this payload behind it (its `length` is set here), in order with all earlier ones of this call
  /// to that rank, which is not this one. At most fragment_max bytes of payload. With `owner`, one thing less has
  /// to happen to it when the memory may be used again (perhaps before the call returns), and an error is in its
  /// status; its `incomplete` counts the packets. Without, the payload is copied where it has to wait.
  void send_packet(Rank to, Packet& packet, const Payload& payload, Request* owner) {
    channels_.post(channels_[to], packet, payload, owner);
  }
  /// While it lives, packets to that rank may leave together, which spares system calls where there are any. Nobody
  /// polls meanwhile. Of one rank at a time.
  class Together {
   public:
    Together(Core& d, Rank to) : device_(d), to_(to) { device_.gather(to_, true); }
    ~Together() { device_.gather(to_, false); }
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

   private:
    Core& device_;
    Rank to_;
  };
  std::size_t fragment_max(Rank to) { return channels_[to].method->fragment_max(to); }
  std::size_t eager_max(Rank to) { return channels_[to].method->eager_max(to); }
  /// Memory of this rank that answers of the floors above fill while they wait for room in the link to it, bytes.
  std::uint64_t backlog(Rank to) { return channels_[to].answer_bytes; }
  /// Bytes that this rank would grant each new process.
  std::uint64_t credit_to_grant() const { return channels_.credit_per_peer(); }

  // ---- threads ----
  /// Holds the device for the calling thread: Gate::Entry.
  class Entry : public Gate::Entry {
   public:
    explicit Entry(Core& d, const char* function = "", std::uint32_t call = 0, std::uint32_t kind = 0)
        : Gate::Entry(d.gate_, function, call, kind) {}
  };
  /// Stands for an Entry where needs_no_entry() holds: Gate::Passage.
  class Passage : public Gate::Passage {
   public:
    Passage(Core& d, const char* function, std::uint32_t call) : Gate::Passage(d.gate_, function, call) {}
  };
  /// Gives the device away in the middle of an Entry: Gate::Absence.
  class Absence : public Gate::Absence {
   public:
    explicit Absence(Core& d) : Gate::Absence(d.gate_) {}
  };
  /// A function of the program runs in the middle of a poll: Gate::Handler.
  class Handler : public Gate::Handler {
   public:
    explicit Handler(Core& d) : Gate::Handler(d.gate_) {}
  };
  bool threads() const { return gate_.threads(); }
  /// From now on, or no longer, several threads call. Inside an Entry, while only its thread uses the device.
  void enable_threads() { gate_.enable_threads(); }
  void disable_threads() { gate_.disable_threads(); }
  /// Whether a call that neither waits nor fails may go without an Entry: nobody else uses the device, no record of
  /// each call is wanted, no rank is lost, and nothing revoked.
  bool needs_no_entry() const { return !is_careful(); }
  /// The MPI function under way, or the latest one.
  const char* call_name() const { return gate_.call_name(); }
  /// Of the latest Entry.
  std::uint32_t call_kind() const { return gate_.call_kind(); }

  // ---- waiting ----
  /// What the caller polled for has come, though not by a packet: its next wait starts with patience anew.
  void waited() { waiter_.busy(); }
  /// Something that this rank, or another thread of ours, may be waiting for has changed in memory that it shares with
  /// us.
  void wake(Rank rank);
  /// Of calls that wait for what others change in memory: watch.hpp.
  Watches& watches() { return watches_; }
  /// Also wake a call that sleeps when this descriptor is readable: what the caller polls for comes there.
  Result<void> watch_fd(int fd, bool writable = false) { return doorbell_->watch(fd, writable); }
  void unwatch_fd(int fd) { doorbell_->unwatch(fd); }
  /// Whether ranks outnumber CPUs on this host: then each context switch counts more than each message.
  bool crowded() const { return waiter_.crowded(); }
  const Waiter& waiter() const { return waiter_; }
  /// Before a reduction combines two operands of so many bytes in memory: whether it has to. Not so where that, and the
  /// time it takes, is only pretended.
  bool combines(std::uint64_t bytes) const {
    return simulation_ == nullptr || simulation_->combines(simulation_->rank, bytes);
  }

  // ---- what is counted and recorded ----
  const Counters& counters() const { return counters_; }
  /// Most memory that unexpected messages can fill on this rank: credit of all peers; bytes.
  std::uint64_t unexpected_ceiling() const { return channels_.credit_of_all(); }
  /// Calls that have had to wait.
  std::uint64_t waits() const { return gate_.waits(); }
  /// Messages that have gone to ranks by this method, those to each rank modulo 2^32.
  std::uint64_t messages_by(methods::MethodId id) const;
  /// What all peers have at this moment.
  struct Levels {
    std::uint64_t messages = 0;  // that wait for credit or the link
    std::uint64_t packets = 0;   // others that wait for the link
    std::uint64_t lost = 0;      // peers
  };
  Levels levels() const;
  /// What the floors above record their events with; the device held.
  Trace& trace() { return trace_; }

 protected:
  Core(DeviceOptions& options, Bootstrap& bootstrap);
  ~Core() = default;

  /// The part that a callback of the methods is meant for: `device` is Sink::device.
  template <class Part>
  static Part& part(void* device) {
    return static_cast<Part&>(*static_cast<Core*>(device));
  }
  void handle(Kind kind, methods::Sink::OnPacket handler) {
    sink_.on_packet[static_cast<std::uint8_t>(kind)] = handler;
  }
  std::uint8_t id_of(Rank r) { return channels_[r].method_number(); }
  void note_unanswered();

  // Relaxed: who begins to listen to events may be another thread (listen).
  bool is_careful() const { return careful_.load(std::memory_order_relaxed); }
  void set_careful(bool on) { careful_.store(on, std::memory_order_relaxed); }
  /// Calls may no longer go without an Entry: a rank is lost, or a context revoked.
  void begin_care() {
    set_careful(true);
    gate_.distrust();
  }

  // How a message travels, and why so: the values of `protocol` in base/record/trace.def.
  enum Way : std::uint8_t { kShort = 1, kRendezvous, kGet, kPut, kPackets };
  enum Because : std::uint8_t {
    kFits = 1,
    kLong,
    kEnvelope,
    kReachable,
    kSenderWaits,
    kSenderAway,
    kCrowded,
    kUnreachable,
    kNoGets,
    kRefused,
    kNothing,
    kGaps
  };
  void chose(Way way, Because because, Rank peer) { trace_.event(Event::protocol, id_of(peer), peer, way, because); }

  static constexpr std::uint32_t kSecondaryStride = 8;  // turns between two looks at the methods behind the first
  /// The next turn of the dispatch loop looks at every method.
  void look_everywhere() { turn_ |= kSecondaryStride - 1; }

  // Hot first.
  RequestPool pool_;
  Matcher match_;
  Trace trace_;
  Gate gate_;
  Counters counters_;
  Channels channels_;
  std::uint64_t turn_ = 0;  // of the dispatch loop
  const Rank rank_;
  bool open_ = false;
  bool any_lost_ = false;            // peers
  std::atomic<bool> careful_{true};  // several threads, a record of each call, any_lost_, or a context revoked
  Waiter waiter_;
  Watches watches_;
  const Simulation* const simulation_;
  const Config config_;
  Bootstrap& bootstrap_;
  methods::Sink sink_;
  std::unique_ptr<Doorbell> doorbell_;
  const std::vector<MethodMaker> makers_;  // of the methods that may be used, in order of preference
  std::vector<std::unique_ptr<methods::Method>> methods_;

 private:
  void gather(Rank to, bool on);
};

}  // namespace rmq::adi
