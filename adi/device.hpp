// The RMQ device: MPICH's abstract device interface over any mix of methods.
//
// The MPI layer makes a request, fills in peer, match, view and mode, and calls MPID_Isend or MPID_Irecv; it is
// complete when Request::complete(). Ranks here are world ranks, except match.source, which is the sender's rank in the
// communicator that match.context belongs to.
//
// Threads: a Device is used by one thread at a time. With DeviceOptions::threads each caller holds an Entry, which is a
// lock; without, an Entry costs one branch. Waiting calls give the lock away between polls.
//
// Its parts: the gate for threads and calls adi/gate.hpp, the channels to other ranks adi/channels.hpp, the queues of
// messages adi/match.hpp, when an idle rank sleeps adi/wait.hpp. Where the rest is: sending and receiving short
// messages adi/eager.cpp, long ones adi/rendezvous.cpp, how they end adi/complete.cpp, what a peer may send
// adi/trust.cpp, jobs that outlive their ranks adi/faults.cpp, the dispatch loop adi/poll.cpp, sleeping adi/sleep.cpp.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "adi/channels.hpp"
#include "adi/counters.hpp"
#include "adi/extension.hpp"
#include "adi/gate.hpp"
#include "adi/idle_tests.hpp"
#include "adi/match.hpp"
#include "adi/party.hpp"
#include "adi/report.hpp"
#include "adi/simulation.hpp"
#include "adi/wait.hpp"
#include "adi/watch.hpp"
#include "base/config.hpp"
#include "base/os/atomic.hpp"
#include "base/os/doorbell.hpp"
#include "base/packet/request_pool.hpp"
#include "base/ranks.hpp"
#include "base/record/trace.hpp"
#include "methods/method.hpp"
#include "start/bootstrap.hpp"

namespace rmq::adi {

class Device;

struct DeviceOptions {
  Config config;
  const Simulation* simulation = nullptr;  // outlives the device; nullptr: there is a machine
  bool threads = false;                    // several threads call (MPI_THREAD_MULTIPLE)
  bool connect = true;                     // MPID_Init reaches the other ranks; else connect does, later
  std::uint32_t call = 0;                  // call_id() of the function that makes the device, for the flight recorder
  bool sleep_for_ever = false;  // sleeps end by a ring only: for tests, where a wake-up that is lost shall show
  /// Asked of each send or receive that ends with Errc::peer_lost, just before: whether on_lost shall hear of it.
  bool (*minds)(const Request& message) = nullptr;
  /// Hears of each of those when the device knows why the peer is lost (peer_error()); the device held. It may end the
  /// process.
  void (*on_lost)(Device& device, Rank peer) = nullptr;
  /// Hears when a job that this one is connected with has ended badly. It may end the process.
  void (*on_parted)(std::span<const std::uint64_t> jobs, int rank, bool line_has_ended) = nullptr;
  /// Methods to use instead of those that the configuration names, in order of preference (tests, simulation).
  std::vector<MethodMaker> methods;
};

/// Names of the methods that are compiled in; none in a plug-in build.
std::vector<std::string> built_in_methods();

/// What a probe tells.
struct Envelope {
  std::int32_t source = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
};

class Device {
 public:
  // ---- life ----
  /// Opens every method that is configured and needed. `bootstrap` must outlive the device.
  static Result<std::unique_ptr<Device>> MPID_Init(DeviceOptions options, Bootstrap& bootstrap);
  /// Opens the methods, unless they are open: until then there is only this rank. Waits for ranks whose memory it
  /// needs.
  Result<void> connect();
  /// After a job-wide barrier: sends what is left, says good-bye. The device stays valid for look-ups only.
  Result<void> MPID_Finalize();
  /// Ends the whole job with this exit code, when the launcher has been told and stdio's buffers are written. Does not
  /// return.
  [[noreturn]] void MPID_Abort(int code, std::string_view why, Blame blame);
  ~Device();

  Rank rank() const { return rank_; }
  /// Ranks of the job. Those of other jobs that have been met have the numbers from there on.
  int size() const { return bootstrap_.job().size; }
  int known() const { return static_cast<int>(channels_.size()); }
  const JobInfo& job() const { return bootstrap_.job(); }
  const Config& config() const { return config_; }
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
  /// Why the rank is lost; empty while it is not.
  std::string_view peer_error(Rank rank) const {
    const Channel* const c = channels_.find(rank);
    return c ? std::string_view(c->error.what) : std::string_view();
  }
  /// Whether packets have gone to the rank, or come from it.
  bool has_met(Rank rank) const { return channels_.find(rank) != nullptr; }
  /// How calls fail that need a lost rank: Errc::peer_lost, or no_memory where it is this rank that cannot go on.
  Errc loss(Rank rank) const {
    const Channel* const c = channels_.find(rank);
    return c && c->error.code == Errc::no_memory ? Errc::no_memory : Errc::peer_lost;
  }
  /// What the floors above record their events with; the device held.
  Trace& trace() { return trace_; }
  methods::MethodId method_of(Rank rank) { return channels_[rank].id; }
  /// Whether messages to the rank, another one, go by memory of this host.
  bool shares_memory(Rank rank) {
    const Channel& c = channels_[rank];
    return c.method && c.method->shares_memory();
  }
  const std::vector<std::unique_ptr<methods::Method>>& methods() const { return methods_; }

  // ---- requests ----
  /// A fresh request. The caller fills it in and hands it to MPID_Isend or MPID_Irecv.
  Request* MPID_Request_create(RequestKind kind) {
    Request* r = pool_.get();
    r->kind = kind;
    return r;
  }
  /// Gives it back; if it is still under way, as soon as it is complete.
  void MPID_Request_free(Request* r);
  RequestPool& pool() { return pool_; }
  /// Entries of the posted and unexpected queues, for diagnosis.
  std::size_t posted() const { return match_.posted(); }
  std::size_t unexpected() const { return match_.unexpected(); }

  // ---- point to point ----
  /// Starts a send: r->peer, match {context, my rank in the communicator, tag}, view, mode (and layout, kept alive).
  void MPID_Isend(Request* r);
  /// A standard-mode send of a short contiguous message that can leave at once, without a request. False: nothing
  /// happened, use MPID_Isend.
  bool send_now(Rank to, const Match& match, const void* data, std::size_t bytes);
  /// The same with a request, which is complete; only where the method takes such a message in one piece. A method that
  /// gathers messages needs their requests, and others MPID_Isend. There must be a request at hand: pool().next_free().
  Request* isend_now(Rank to, const Match& match, const void* data, std::size_t bytes);
  /// Every event of the recorder goes to `listener` as well (nullptr: to nobody), until MPID_Finalize. With the
  /// device held; or, where other threads may not call MPI, by any of them.
  void listen(TraceListener* listener);
  /// Whether a call that neither waits nor fails may go without an Entry: nobody else uses the device, no record of
  /// each call is wanted, no rank is lost, and nothing revoked.
  bool needs_no_entry() const { return !is_careful(); }
  /// Starts a receive: r->peer (world rank, or kNoRank with kAnySource), match (with wildcards), view, dest_op and, for
  /// cat and join, parts (messages to take; complete when all have landed), join_op, join_type. From any source with
  /// request_flag::grouped: `group`, the ranks that it needs, which must live until it is complete.
  void MPID_Irecv(Request* r);
  /// Progresses until complete. Errors are in r->status.error.
  void MPID_Wait(Request* r);
  /// One poll unless complete already; whether it is complete.
  bool MPID_Test(Request* r);
  /// One turn of the dispatch loop. With `blocking`, an idle rank may spin, yield or sleep before the call returns; a
  /// caller loops until what it waits for has happened; `what` says what that is.
  void MPID_Poll(bool blocking, Awaited what = {});
  /// What each poll does after its progress, outside of all handlers, until it is set anew; nullptr: nothing. It may
  /// start sends and receives, but not poll.
  void after_progress(void (*errand)()) { errand_ = errand; }

  /// Whether a message for this pattern is here, without receiving it. Polls once when not.
  bool MPID_Iprobe(const Match& pattern, Envelope& envelope);
  /// Waits for one. False: none is here, and `peer`, the rank that it must come from, is lost (kNoRank: any may send
  /// it), or the context revoked.
  bool MPID_Probe(const Match& pattern, Rank peer, Envelope& envelope);
  /// Takes the message out of the queue: nullptr when there is none. The caller owns the message until MPID_Imrecv.
  Request* MPID_Improbe(const Match& pattern, Envelope& envelope);
  /// The same, waiting as MPID_Probe does: nullptr when that is in vain.
  Request* MPID_Mprobe(const Match& pattern, Rank peer, Envelope& envelope);
  /// Receives a message from MPID_Improbe into `r` (view filled in); consumes `message`.
  void MPID_Imrecv(Request* r, Request* message);

  /// Asks to cancel. The request completes either way; status.cancelled tells. A send is taken back with an anti-send.
  void MPID_Cancel(Request* r);

  // ---- memory ----
  /// Memory that ranks of this host reach directly where shared memory serves, else ordinary memory; nullptr: none
  /// left.
  void* MPID_Mem_alloc(std::size_t bytes);
  /// The same for these, who may be of other jobs: those of this host reach it directly where they can.
  void* MPID_Mem_alloc(std::size_t bytes, const Ranks& sharers);
  void MPID_Mem_free(void* memory);
  /// Prepares memory for repeated transfers. Nothing to do for today's methods.
  void MPID_Mem_register(const void* memory, std::size_t bytes) { static_cast<void>(memory), static_cast<void>(bytes); }
  /// Copies bytes [offset, offset + bytes) of a typed buffer, packed order; may begin and end inside an element.
  static void MPID_Pack_datatype(std::byte* to, const DataView& from, std::uint64_t offset, std::uint64_t bytes) {
    pack(to, from, offset, bytes);
  }
  static void MPID_Unpack_datatype(const DataView& to, std::uint64_t offset, const std::byte* from,
                                   std::uint64_t bytes) {
    unpack(to, offset, from, bytes);
  }

  // ---- processes of other jobs: admit.cpp. Their numbers are this process's own; none ever travels ----
  /// What all jobs name the process by. `host` is 0 as long as nobody has told where a rank of the own job is.
  Process process_of(Rank number) const;
  /// Its number here; kNoRank: it has not been met, or has been dismissed since.
  Rank number_of(const Process& process) const;
  /// Where a process lives: to be told of all members of what foreign ones are in, since their hosts have no index
  /// here.
  void note_host(const Process& process);
  /// False: the process has been dismissed.
  bool is_here(Rank number) const { return number < size() || number_of(process_of(number)) != kNoRank; }
  /// Whether any of them is of another job.
  bool any_foreign(const Ranks& ranks) const;
  /// What is equal for ranks that share memory: the index of a host of the job, or a hash where others are among those
  /// that are compared (`foreign`).
  std::uint64_t host_of(Rank r, bool foreign) const;
  /// Which of these ranks are on the host of `r`: their places, in order.
  Ranks places_beside(Rank r, const Ranks& members) const;
  /// Bytes that this rank would grant each new process.
  std::uint64_t credit_to_grant() const { return channels_.credit_per_peer(); }
  /// Whether a party of this id can be told from those that there are.
  bool party_is_new(std::uint64_t id) const;
  /// A party to be opened, joined, and then admitted: party.hpp.
  std::unique_ptr<Party> make_party(PartyFacts facts);
  /// Its members have numbers and channels from now on. The party lives until it is dismissed.
  Party& admit_party(std::unique_ptr<Party> party);
  /// Says good-bye to those that are known by this party alone. All members do so at about the same time, and nothing
  /// is under way among them. Bounded in time.
  void dismiss_party(Party& party);
  /// What still waits to go to processes that only parties adrift know is given up: this process ends, and they may be
  /// in no call of MPI for as long as they like.
  [[gnu::cold]] void leave_behind();
  const std::vector<std::unique_ptr<Party>>& parties() const { return parties_; }
  /// Also wake a call that sleeps when this descriptor is readable: what the caller polls for comes there.
  Result<void> watch_fd(int fd, bool writable = false) { return doorbell_->watch(fd, writable); }
  void unwatch_fd(int fd) { doorbell_->unwatch(fd); }

  // ---- for the floors above: extend.cpp ----
  /// Packets of these kinds go to `extension` from now on; it must live until unregister_extension or the device's end.
  void register_extension(Kind first, Kind last, Extension& extension);
  void unregister_extension(Extension& extension);
  /// Whether extensions get a turn in each turn of the dispatch loop. An agent that sleeps wakes for the first of them.
  void want_turns(bool want) {
    wants_turns_ = want;
    if (want) wake_agent();
  }
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
    Together(Device& d, Rank to) : device_(d), to_(to) { device_.gather(to_, true); }
    ~Together() { device_.gather(to_, false); }
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

   private:
    Device& device_;
    Rank to_;
  };
  std::size_t fragment_max(Rank to) { return channels_[to].method->fragment_max(to); }
  std::size_t eager_max(Rank to) { return channels_[to].method->eager_max(to); }
  /// One thing less has to happen to a request of kind `other`, of which the caller has counted `incomplete`.
  void finish_one(Request* r, Errc error) { sent(r, error); }
  /// A peer sent what no rank of ours could send to a floor above: it is dropped, and counts as lost.
  void protocol_error(Rank from, const Packet& p, const char* why) { protocol_error(from, p, why); }
  /// A peer sent what there may have been a use for once: counted and traced.
  void stray_packet(Rank from, const Packet& p);
  /// Memory of this rank that answers of the floors above fill while they wait for room in the link to it, bytes.
  std::uint64_t backlog(Rank to) { return channels_[to].answer_bytes; }
  /// What the caller polled for has come, though not by a packet: its next wait starts with patience anew.
  void waited() { waiter_.busy(); }
  /// Something that this rank, or another thread of ours, may be waiting for has changed in memory that it shares with
  /// us.
  void wake(Rank rank);
  /// Of calls that wait for what others change in memory: watch.hpp.
  Watches& watches() { return watches_; }
  /// Whether any rank is lost (peer_error() says which).
  bool any_lost() const { return any_lost_; }
  /// Whether this rank is lost, or its process has ended (which will be reported as its loss). A system call perhaps.
  bool is_gone(Rank rank);
  /// What lets the other ranks of this host find memory from MPID_Mem_alloc; 0 when they cannot.
  std::uint64_t mem_token(const void* memory, std::uint64_t bytes) const;
  /// The same; 0 also when one of these who are on this host cannot.
  std::uint64_t mem_token(const void* memory, std::uint64_t bytes, const Ranks& sharers) const;
  /// Memory that `owner`, another rank, has a token for, as it lies here; nullptr when it cannot be reached.
  std::byte* mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes);
  /// Copies between `here` and one piece of memory at `at` in another rank's process, at once, without its help. False:
  /// that is not possible, or packets promise to be faster; part of it may have been copied.
  bool put_at_once(Rank to, std::uint64_t at, const DataView& here);
  bool get_at_once(Rank from, std::uint64_t at, const DataView& here);
  /// From now on, or no longer, several threads call. Inside an Entry, while only its thread uses the device.
  void enable_threads() { gate_.enable_threads(); }
  void disable_threads() { gate_.disable_threads(); }
  /// The life of an agent, a thread that handles what arrives while no other one polls: serve.cpp. Returns soon after
  /// `stop` is set and rouse_agent called, both inside of one Entry. Not inside an Entry; threads are enabled.
  void serve(const Atomic<bool>& stop);
  void rouse_agent();

  // ---- a job that goes on when ranks die: faults.cpp ----
  /// Whether this is one.
  bool is_fault_tolerant() const { return bootstrap_.job().ft; }
  /// These contexts, revoked or not, are going to be used anew: forgets what has come in them. False: a message is
  /// there whose sender waits, and they must not be.
  bool forget_contexts(std::span<const std::uint32_t> contexts);
  /// Whether the launcher has told of the death of this process, of whatever job.
  bool is_dead(const Process& process) const;
  /// All of these jobs, which are of other launchers, are dead from now on.
  void take_for_dead(std::span<const std::uint64_t> jobs, const std::string& how);
  /// The same of this number, whose death is still to be told to extensions: what came from it before is being taken,
  /// or others die at the same time, and are lost first.
  bool is_dying(Rank rank) const;
  /// Ends the messages of these contexts with Errc::revoked, those under way and all that come later; what has been
  /// matched already lands first, and what is not received is forgotten.
  void revoke_contexts(std::span<const std::uint32_t> contexts);
  /// Ends a receive that waits for messages, with this error. False: it has met all of its messages already.
  bool give_up_receive(Request* recv, Errc error);

  // ---- what the rank tells when it is asked: report.cpp ----
  /// Adds fields of the layer above to each report; called as Awaited::tell is. nullptr: none.
  void add_to_reports(void (*more)(ReportText& to)) { more_to_tell_ = more; }
  /// In a signal handler: the launcher asks, and no call has answered. `alone`: no other thread can be in the device
  /// unless threads are enabled.
  void on_interrupt(bool alone);
  /// The MPI function under way, or the latest one.
  const char* call_name() const { return gate_.call_name(); }
  /// Of the latest Entry.
  std::uint32_t call_kind() const { return gate_.call_kind(); }

  // ---- threads ----
  /// Holds the device for the calling thread: Gate::Entry.
  class Entry : public Gate::Entry {
   public:
    explicit Entry(Device& d, const char* function = "", std::uint32_t call = 0, std::uint32_t kind = 0)
        : Gate::Entry(d.gate_, function, call, kind) {}
  };
  /// Stands for an Entry where needs_no_entry() holds: Gate::Passage.
  class Passage : public Gate::Passage {
   public:
    Passage(Device& d, const char* function, std::uint32_t call) : Gate::Passage(d.gate_, function, call) {}
  };
  /// Gives the device away in the middle of an Entry: Gate::Absence.
  class Absence : public Gate::Absence {
   public:
    explicit Absence(Device& d) : Gate::Absence(d.gate_) {}
  };
  /// A function of the program runs in the middle of a poll: Gate::Handler.
  class Handler : public Gate::Handler {
   public:
    explicit Handler(Device& d) : Gate::Handler(d.gate_) {}
  };
  bool threads() const { return gate_.threads(); }
  /// Before a reduction combines two operands of so many bytes in memory: whether it has to. Not so where that, and the
  /// time it takes, is only pretended.
  bool combines(std::uint64_t bytes) const {
    return simulation_ == nullptr || simulation_->combines(simulation_->rank, bytes);
  }
  /// Whether ranks outnumber CPUs on this host: then each context switch counts more than each message.
  bool crowded() const { return waiter_.crowded(); }
  const Waiter& waiter() const { return waiter_; }

 private:
  Device(DeviceOptions options, Bootstrap& bootstrap);
  Result<void> open_methods();                                            // boot.cpp
  std::vector<MethodMaker> method_makers() const;                         // boot.cpp
  void gather(Rank to, bool on);                                          // extend.cpp
  std::uint64_t reach(Rank rank, std::uint64_t at, std::uint64_t bytes);  // extend.cpp
  void note_clock();
  void note_unanswered();

  // ---- short protocol: eager.cpp ----
  methods::Outcome send_message(Request* r, Channel& c);  // short or rendezvous, by size and credit
  methods::Outcome try_short(Request* r, Channel& c, std::int64_t cost);
  bool may_leave(const Channel& c, std::size_t bytes) const;
  static Packet short_packet(const Channel& c, const Match& match, std::size_t bytes);
  bool leave_at_once(Channel& c, const Match& match, const void* data, std::size_t bytes);
  bool leave_at_length(Channel& c, const Match& match, const void* data, std::size_t bytes);
  static void on_short(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_short_sync(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_sync_ack(void* device, Rank from, const Packet& p, const std::byte* payload);
  void arrive_short(Rank from, const Packet& p, const std::byte* payload);
  Request* keep(Channel& from, const Packet& p, const Match& m, std::uint64_t data_bytes, Step step);
  void accept_short(Channel& from, const Packet& p);
  void acknowledge_sync(Channel& from, const Packet& p);
  void release_kept(Request* message);
  void receive_kept(Request* recv, Request* message);

  // ---- landing of data at the destination: deliver.cpp ----
  struct Place {
    std::uint64_t offset, bytes;  // where in the receive's view, and how much of the message
  };
  static Place place(Request* recv, const Match& from, std::uint64_t bytes) {
    recv->status.source = from.source;
    recv->status.tag = from.tag;
    const std::uint64_t at = recv->dest_op == DestOp::cat ? recv->appended.bytes : 0;
    const std::uint64_t room = recv->view.bytes - at;
    if (bytes > room) [[unlikely]] {
      recv->status.error = Errc::truncate;
      bytes = room;
    }
    if (recv->dest_op == DestOp::cat) [[unlikely]]
      recv->appended.bytes += bytes;
    recv->status.bytes = recv->dest_op == DestOp::join ? std::min(recv->status.bytes, bytes) : at + bytes;
    return {at, bytes};
  }
  static void put_down(Request* recv, const Place& to, const std::byte* data) {
    if (to.bytes == 0) return;
    if (recv->dest_op != DestOp::join) [[likely]]
      unpack(recv->view, to.offset, data, to.bytes);
    else
      reduce(recv->join_op, recv->join_type, data, recv->view.base, to.bytes / basic_size(recv->join_type));
  }
  void deliver(Request* recv, const Match& from, const std::byte* data, std::uint64_t bytes) {
    put_down(recv, place(recv, from, bytes), data);
    finish(recv);
  }
  /// One message of a receive will never be whole; others may still land there.
  void fail_part(Request* recv, Errc error, Rank sender) {
    note_failed(recv, error, sender);
    finish(recv);
  }
  Request* stage(Request* recv, const Match& from, std::uint64_t bytes);
  void staged_complete(Request* s);
  static methods::Landing on_arriving(void* device, Rank from, const Packet& p);
  static void on_landed(void* device, Rank from, const Packet& p, const methods::Landing& landing, Errc error);

  // ---- rendezvous protocol: rendezvous.cpp ----
  methods::Outcome try_request_send(Request* r, Channel& c, std::int64_t cost);
  static void on_request_send(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_ok_to_send(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_rndv_data(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_rndv_done(void* device, Rank from, const Packet& p, const std::byte* payload);
  void answer_request_send(Request* recv, Rank from, const Packet& p);
  void fetch_or_ask(Request* recv);
  void ask(Request* recv, std::uint64_t address);
  void put_or_push(Request* send);
  void moved(Request* r, std::uint64_t bytes);
  void note_pulled(const Request* r, methods::Pull how);
  void push_data(Request* send);
  methods::Outcome push_fragment(Request* send, Channel& c);
  void data_arrived(Request* recv, std::uint64_t bytes);
  Request* rendezvous_receiver(Rank from, const Packet& p);

  // ---- cancel: cancel.cpp ----
  static void on_anti_send(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_anti_send_ok(void* device, Rank from, const Packet& p, const std::byte* payload);

  static void on_flow(void* device, Rank from, const Packet& p, const std::byte* payload);  // credit.cpp
  // ---- packets of the floors above: extend.cpp ----
  static void on_extension(void* device, Rank from, const Packet& p, const std::byte* payload);
  int advance_extensions();
  void sent(Request* owner, Errc error);

  // ---- what a peer may do: trust.cpp ----
  static constexpr unsigned kFirstOfFloors = 64;  // number of the first kind of packet that is not the device's
  /// Counts it and has the method lose the peer, with an error that says `why`.
  void protocol_error(Rank from, const Packet& p, const char* why);
  /// Whether a message may have such a header; else the peer is dropped. Likewise below.
  bool may_come(const Channel& from, const Packet& p) {
    const bool sound = p.kind == Kind::REQUEST_SEND ? p.length == 0 : (p.flags & packet_flag::envelope) == 0;
    if (sound && is_rank(p.source) && !from.dropped) [[likely]]
      return true;
    refuse(from.rank, p);
    return false;
  }
  bool is_rank(std::int32_t r) const {
    return static_cast<std::size_t>(static_cast<std::uint32_t>(r)) < channels_.size();
  }
  void refuse(Rank from, const Packet& p);
  /// Whether the sender has credit left for a message that no receive waits for.
  bool may_be_kept(const Channel& from, const Packet& p, std::uint64_t data_bytes);
  /// received() of a packet that is nothing but its fields.
  bool take_control(Rank from, const Packet& p);
  /// The send that has been announced to this rank and not been answered, or nullptr.
  Request* announced(Rank from, std::uint64_t handle) { return in_step(Step::announced, from, handle); }
  /// The receive that has asked this rank for its data, or nullptr.
  Request* awaiting_data(Rank from, std::uint64_t handle) { return in_step(Step::asked, from, handle); }
  Request* in_step(Step step, Rank from, std::uint64_t handle);

  // ---- self-sends: self.cpp ----
  void copy_self(Request* recv, const Match& m, const DataView& data);
  void send_to_self(Request* r);
  void cancel_send_to_self(Request* r);
  void receive_from_self(Request* recv, Request* message);

  // ---- dispatch loop: poll.cpp ----
  int progress();
  int drain_queues();
  int drain(Channel& c);
  bool all_sent() const;
  static void on_unknown(void* device, Rank from, const Packet& p, const std::byte* payload);
  static void on_room(void* device, Rank rank);
  static void on_sent(void* device, Request* owner, Errc error);
  static void on_moved(void* device, Request* owner, std::uint64_t bytes, Errc error);
  static void on_peer_lost(void* device, Rank rank, const Error& error);
  /// Its channel.
  [[gnu::always_inline]] Channel& received(Rank from, const Packet& p) {
    Channel& c = channels_[from];
    ++counters_.received;
    trace_.packet(Event::packet_received, c.method_number(), from, p, p.length);
    if (!channels_.take_credit(c, p)) [[unlikely]]
      protocol_error(from, p, "it returns more credit than was spent");
    return c;
  }
  static constexpr std::uint8_t kNeedsCare = request_flag::detached | request_flag::staged;
  /// One thing less to happen; at zero the request is complete and may be gone.
  void finish(Request* r) {
    const std::int32_t left = r->incomplete.load(std::memory_order_relaxed) - 1;  // only the lock's holder writes
    if (left == 0 && (r->on_complete || (r->flags & kNeedsCare) || trace_.full())) [[unlikely]]
      return completed(r);
    r->incomplete.store(left, std::memory_order_release);  // pairs with Request::complete()
  }
  void completed(Request* r);
  /// Gives it its error, for whoever ends it then. `other`: whose message it was; kNoRank: of whoever is lost next.
  void note_failed(Request* r, Errc error, Rank other);
  void tell_failures(Rank lost);
  void complete(Request* r, Errc error);  // now, whatever is outstanding
  // The values of `protocol` in base/record/trace.def.
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
  void withdraw(Request* recv) {
    trace_.event(Event::withdrawn, 0, recv->peer, recv->match.context, static_cast<std::uint32_t>(recv->match.tag));
    match_.withdraw(recv);
  }
  void chose(Way way, Because because, Rank peer) { trace_.event(Event::protocol, id_of(peer), peer, way, because); }
  std::uint8_t id_of(Rank r) { return channels_[r].method_number(); }
  void fail_requests_of(Rank rank);
  void fail_grouped(Request* recv);
  // ---- ranks that die: faults.cpp ----
  bool forget_kept(Request* message);
  void hear_of_deaths();
  struct Death {
    Rank number;
    std::string how;
  };
  void note_deaths(std::vector<Death> deaths);
  void mark_dead(Rank number);
  void tell_death(Rank number);
  void lose_for_good(Rank number, const std::string& how);
  void note_deaths_elsewhere();
  void note_loss(Rank rank);
  bool is_revoked(std::uint32_t context) const { return !revoked_.empty() && revoked_.contains(context); }
  void revoke(Request* r);
  // ---- the agent: serve.cpp ----
  bool serve_while_busy(std::uint64_t linger_ns);
  // ---- sleeping: sleep.cpp ----
  bool arm();
  void disarm();
  void wake_agent();
  void end_agents_nap();
  void sleep();
  void sleep_beside();
  void withdraw();
  // ---- reports: report.cpp ----
  void look(Doing doing);
  Doing doing() const;
  static std::string_view on_ask(void* device, bool all);
  std::string_view report(Doing doing, bool all);
  bool may_wait_elsewhere() const;
  void tell_foreigners(ReportText& to) const;
  void tell_others(ReportText& to) const;
  void tell_queues(ReportText& to) const;
  void tell_peers(ReportText& to) const;

  static constexpr std::uint32_t kSecondaryStride = 8;  // turns between two looks at the methods behind the first

  // Hot first.
  RequestPool pool_;
  Matcher match_;
  Trace trace_;
  Gate gate_;
  Counters counters_;
  Channels channels_;
  std::vector<Request*> waiting_gets_;  // receives whose get(), and sends whose put(), said retry
  IdleTests idle_tests_;                // non-blocking polls
  std::uint64_t turn_ = 0;              // of the dispatch loop
  std::uint64_t busy_until_ = 0;        // turn until which the secondary methods are polled each time
  Rank rank_ = 0;
  bool open_ = false;
  bool connected_ = false;
  Atomic<bool> agent_sleeps_{false};     // set with the device held; the agent itself clears it, without
  Atomic<std::uint32_t> agent_naps_{0};  // 1: for long; as above, or cleared by who ends that
  void (*errand_)() = nullptr;           // rarely set: see after_progress()
  bool wants_turns_ = false;             // of the extensions
  Waiter waiter_;
  bool any_lost_ = false;  // peers
  // Relaxed: who begins to listen to events may be another thread (listen).
  bool is_careful() const { return careful_.load(std::memory_order_relaxed); }
  void set_careful(bool on) { careful_.store(on, std::memory_order_relaxed); }
  std::atomic<bool> careful_{true};            // several threads, a record of each call, any_lost_, or any of revoked_
  std::unordered_set<std::uint32_t> revoked_;  // contexts
  std::vector<Rank> dead_;                     // that the launcher has told of
  std::vector<Rank> dying_;                    // of them, those that extensions are still to hear of
  std::deque<Death> unlost_;                   // whose loss is to begin
  bool noting_deaths_ = false;                 // in note_deaths()
  struct ForeignDeath {
    std::uint64_t job;
    int rank;  // -1: all
    std::string how;
  };
  std::vector<ForeignDeath> dead_elsewhere_;  // the same of other jobs, known or not
  bool sleep_for_ever_ = false;
  Watches watches_;
  bool (*minds_)(const Request& message) = nullptr;
  void (*on_lost_)(Device& device, Rank peer) = nullptr;
  void (*on_parted_)(std::span<const std::uint64_t> jobs, int rank, bool line_has_ended) = nullptr;
  std::vector<Rank> failures_;  // whose messages have failed: not yet told to on_lost_; kNoRank: anybody's
  const Simulation* simulation_ = nullptr;
  std::uint64_t sleepless_ = 0;     // turns of sleep() that could not sleep
  Doing looking_as_ = Doing::busy;  // what we are in while we look at the launcher's socket
  void (*more_to_tell_)(ReportText&) = nullptr;
  std::unique_ptr<char[]> report_memory_;  // max_report bytes

  Config config_;
  Bootstrap& bootstrap_;
  std::uint64_t answers_ = 0;  // of the bootstrap, at the last attempt of the program to sleep
  methods::Sink sink_;
  std::unique_ptr<Doorbell> doorbell_;
  std::vector<MethodMaker> makers_;              // of the options
  std::vector<std::unique_ptr<Party>> parties_;  // outlive their relays, which are among the methods
  std::vector<std::unique_ptr<methods::Method>> methods_;
  std::vector<Process> foreign_;                                       // by number, behind the job's ranks
  std::map<std::pair<std::uint64_t, std::uint32_t>, Rank> number_of_;  // of those that are not dismissed
  std::map<std::pair<std::uint64_t, std::uint32_t>, Rank> dismissed_;  // the others
  std::map<int, std::uint64_t> host_id_;                               // of the job's hosts, as far as known
  Atomic<std::uint32_t> visits_{0};                                    // polls by the program, while there is an agent
  std::vector<Extension*> extensions_;
  std::array<Extension*, 256> extension_of_{};  // by kind
};

}  // namespace rmq::adi
