// What all windows of one device share: the packet handlers, the table of windows, the cache of datatypes, the agent.
//
// One a device, made before the first window and destroyed after the last, before the device's end. Everything needs
// the device held.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adi/device.hpp"
#include "adi/extension.hpp"
#include "base/data/layout.hpp"
#include "rma/datatypes.hpp"
#include "rma/fault.hpp"
#include "rma/op.hpp"
#include "rma/tickets.hpp"

namespace rmq::rma {

class Window;
class Channel;
struct WindowCore;
class Agent;
class Server;
struct Origin;

/// Counted from the start; read at any time by the owner.
struct Counters {
  std::uint64_t packets = 0;           // operations by packets, sent from here; a list of puts is one
  std::uint64_t served = 0;            // operations of others, executed here; a list of puts is one
  std::uint64_t type_hits = 0;         // named datatypes found here
  std::uint64_t type_misses = 0;       // not found here: asked for again
  std::uint64_t type_definitions = 0;  // sent from here
  std::uint64_t type_bytes_saved = 0;  // of definitions that need not be sent again
  std::uint64_t locks_queued = 0;      // lock requests that had to wait here
  std::uint64_t protocol_errors = 0;   // peers that broke the protocol
  std::uint64_t stray_packets = 0;     // for, or from, windows that had ended
  std::uint64_t held_most = 0;         // bytes of one origin that had to wait here at the same time, most
};

class Domain final : public adi::Extension {
 public:
  explicit Domain(adi::Device& device);
  ~Domain() override;
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  adi::Device& device() const { return device_; }
  const Counters& counters() const { return counters_; }

  /// The program has freed a datatype: what targets remember of it is forgotten. `layout` is only compared.
  void forget(const Layout* layout) { types_out_.forget(layout); }
  /// Windows here that others reach by packets, and that an agent serves.
  int served() const { return agent_needs_; }
  /// For tests: how many answers may be waited for at the same time, at least 1.
  void limit_answers(std::size_t most) { tickets_.limit(most); }
  /// Forgets the datatypes of all origins, as a target may at any time.
  void drop_types() { types_in_.clear(); }

  // ---- memory order of direct operations ----
  /// An operation has stored directly.
  void stores() { stored_ = true; }
  /// Nothing that follows is seen before what was stored so far.
  void order() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    stored_ = false;
  }
  /// Before an operation that loads from a target directly.
  void order_loads() {
    if (stored_) order();
  }

  // ---- what windows and their parts use ----
  void add(Window& window);
  void remove(Window& window);
  /// Whether origins wait there for this rank's lock: then it is asked at each turn (Server::serve_locks).
  void serve_locks_of(Server& server, bool want);
  /// What is queued on the channel leaves when this rank polls next (Channel::push). Not twice.
  void push_later(Channel& channel);
  /// Or the channel ends before.
  void forget_push(Channel& channel);
  /// Who has opened an epoch: in what order locks are asked for is a matter of each thread.
  using Opener = const void*;
  static Opener this_thread();
  /// An epoch of lock() begins, in whatever window. Whether this thread has opened another one that has not ended.
  bool begin_lock();
  void end_lock(Opener opener);
  /// It is the only one of this thread, and its lock may be asked for later: behind hold_locks() it is held.
  void set_lone_lock(Channel& channel);
  void forget_lone_lock(const Channel& channel);
  /// *Waits* until this thread has the locks that its calls so far ask for, for what it locks next comes behind them:
  /// that of a lone lock() and those of its operations under lock_all(). `for_core`: of the call.
  void hold_locks(WindowCore& for_core);
  /// Whether the window is served by packets, so that an agent has to be there while the program computes.
  void need_agent(bool need);
  Counters& count() { return counters_; }
  Tickets& tickets() { return tickets_; }
  OpPool& ops() { return ops_; }
  TypesOut& types_out() { return types_out_; }
  TypesIn& types_in() { return types_in_; }
  /// The peer breaks the protocol: it is dropped.
  void protocol_error(Rank from, const Packet& p, const char* why);
  /// Whether more answers wait to leave to this rank than it may ask for before it has taken some.
  bool is_behind(Rank rank) const { return device_.backlog(rank) > kBacklogMost; }
  /// An epoch has ended here, by which window ever, whose operations that rank may still have to do; or it has done
  /// them.
  void begin_behind(Rank rank) { ++behind_epoch_[rank]; }
  void end_behind(Rank rank) {
    const auto at = behind_epoch_.find(rank);
    if (--at->second == 0) behind_epoch_.erase(at);
  }
  bool is_behind_epoch(Rank rank) const { return !behind_epoch_.empty() && behind_epoch_.contains(rank); }
  /// The server goes on with what it keeps of this origin (Server::resume) when it is no longer behind.
  void resume_later(Server& server, Origin& origin);

  // ---- adi::Extension ----
  void on_packet(Rank from, const Packet& packet, const std::byte* payload) override;
  methods::Landing on_arriving(Rank from, const Packet& packet) override;
  void on_landed(Rank from, const Packet& packet, const methods::Landing& landing, Errc error) override;
  void on_peer_lost(Rank rank) override;
  int advance() override;
  bool may_sleep() override;
  void tell(ReportText& to) const override;

 private:
  /// Bytes of answers that may wait to leave to one rank, before what wants another one waits too.
  static constexpr std::uint64_t kBacklogMost = 1024 * 1024;

  Window* find_window(Rank from, const Packet& p, int& member);
  Window* window_of(Rank from, const Packet& p, int& member);
  Op* find_asker(Rank from, const Packet& reply);
  void on_reply(Rank from, const Packet& p, const std::byte* payload);
  static bool is_known(std::uint32_t fault);
  void on_ack(Rank from, const Packet& p);
  void on_definition(Rank from, const Packet& p, const std::byte* payload);
  /// For a window, or from a window, that has ended: nobody waits for it.
  void stray(Rank from, const Packet& p);
  void stray_answer(Rank from, const Packet& p, std::uint32_t ticket);
  void want_turns();
  int resume_all();
  int push_all();
  Channel* awaited_lock(Opener me);

  struct Locks {
    Opener opener;
    int open = 0;             // epochs of lock()
    Channel* lone = nullptr;  // the only one's, while it may not be held
  };
  adi::Device& device_;
  bool stored_ = false;  // operations have stored directly since the last order()
  Counters counters_;
  std::unordered_map<std::uint32_t, Window*> windows_;
  std::vector<Server*> serving_;    // with lock requests that wait
  std::vector<Channel*> deferred_;  // push_later()
  std::vector<Locks> locks_;        // of those threads that have any
  Tickets tickets_;
  OpPool ops_;
  std::unordered_map<Rank, int> behind_epoch_;       // windows for which a rank is: begin_behind()
  std::vector<std::pair<Server*, Origin*>> behind_;  // those whose packets wait until they take their answers
  std::set<std::pair<Rank, std::uint32_t>> again_;   // datatypes that these ask for, when they have taken theirs
  TypesOut types_out_;
  TypesIn types_in_;
  std::unique_ptr<Agent> agent_;
  int agent_needs_ = 0;
};

}  // namespace rmq::rma
