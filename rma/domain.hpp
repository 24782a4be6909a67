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
#include "base/layout.hpp"
#include "rma/datatypes.hpp"
#include "rma/fault.hpp"

namespace rmq::rma {

class Sender;
class Server;
class Window;
class Agent;
struct Channel;
struct Op;
struct Origin;

/// Counted from the start; read at any time by the owner.
struct Counters {
  std::uint64_t packets = 0;           // operations by packets, sent from here
  std::uint64_t served = 0;            // operations of others, executed here
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
  void limit_answers(std::size_t most) { most_tickets_ = most; }
  /// Forgets the datatypes of all origins, as a target may at any time.
  void drop_types() { types_in_.clear(); }

  // ---- adi::Extension ----
  void on_packet(Rank from, const Packet& packet, const std::byte* payload) override;
  methods::Landing on_arriving(Rank from, const Packet& packet) override;
  void on_landed(Rank from, const Packet& packet, const methods::Landing& landing, Errc error) override;
  void on_peer_lost(Rank rank) override;
  int advance() override;
  bool may_sleep() override;
  void tell(ReportText& to) const override;

 private:
  friend class Agent;
  friend class Sender;
  friend class Server;
  friend class Active;
  friend class Window;

  /// Bytes of answers that may wait to leave to one rank, before what wants another one waits too.
  static constexpr std::uint64_t kBacklogMost = 1024 * 1024;

  /// What an answer refers to: an operation, or (op null) everything on a channel up to `number`.
  struct Ticket {
    Sender* sender = nullptr;  // null: free
    Op* op = nullptr;
    int rank = 0;
    std::uint8_t generation = 0;  // part of what travels, so that late answers are seen
    std::uint64_t number = 0;
    std::uint64_t position = 0;  // of the channel: everything sent up to here
    bool orphan = false;         // its window has ended before the answer
  };

  void add(Window& window);
  void remove(Window& window);
  /// Whether windows want to be asked for locks that others wait for here.
  void serve_locks_of(Server& server, bool want);
  /// Whether the window is served by packets, so that an agent has to be there while the program computes.
  void need_agent(bool need);

  bool has_ticket() const { return !free_tickets_.empty() || tickets_.size() < most_tickets_; }
  /// Needs has_ticket(); without, the channel to that rank goes on (Sender::feed) after starve(), when there is one.
  std::uint32_t new_ticket(Sender& sender, int rank, Op* op, std::uint64_t number, std::uint64_t position);
  void starve(Sender& sender, Channel& channel);
  void feed_starved();
  Ticket* find_ticket(std::uint32_t wire, Rank from);
  void free_ticket(std::uint32_t wire);
  void drop_tickets(const Sender& sender, int rank, Fault fault);
  Op* new_op();
  void free_op(Op* op);

  Window* find_window(Rank from, const Packet& p, int& member);
  Window* window_of(Rank from, const Packet& p, int& member);
  Op* find_asker(Rank from, const Packet& reply);
  void on_reply(Rank from, const Packet& p, const std::byte* payload);
  bool is_known(std::uint32_t fault, std::uint32_t culprit) const;
  void on_ack(Rank from, const Packet& p);
  void on_definition(Rank from, const Packet& p, const std::byte* payload);
  /// The peer breaks the protocol: it is dropped.
  void protocol_error(Rank from, const Packet& p, const char* why);
  /// For a window, or from a window, that has ended: nobody waits for it.
  void stray(Rank from, const Packet& p);
  void stray_answer(Rank from, const Packet& p, std::uint32_t ticket);
  /// Whether more answers wait to leave to this rank than it may ask for before it has taken some.
  bool is_behind(Rank rank) const { return device_.MPID_Backlog(rank) > kBacklogMost; }
  /// The window goes on with what it keeps of this member (Server::resume) when it is no longer behind.
  void resume_later(Server& server, Origin& origin);
  void want_turns();
  int resume_all();

  /// Nothing that follows is seen before what was stored so far.
  void order() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    stored_ = false;
  }
  /// Before an operation that loads from a target directly.
  void order_loads() {
    if (stored_) order();
  }

  adi::Device& device_;
  bool stored_ = false;  // operations have stored directly since the last order()
  Counters counters_;
  std::unordered_map<std::uint32_t, Window*> windows_;
  std::vector<Server*> serving_;  // with lock requests that wait
  std::vector<Ticket> tickets_;
  std::vector<std::uint32_t> free_tickets_;
  std::size_t most_tickets_ = (std::size_t{1} << 24) - 1;  // an index travels in 24 bits
  std::vector<std::pair<Sender*, int>> starved_;           // channels that wait for a ticket
  std::vector<std::pair<Server*, int>> behind_;            // members whose packets wait until they take their answers
  std::set<std::pair<Rank, std::uint32_t>> again_;         // datatypes that these ask for, when they have taken theirs
  std::vector<std::unique_ptr<Op>> ops_;
  Op* free_ops_ = nullptr;
  TypesOut types_out_;
  TypesIn types_in_;
  std::unique_ptr<Agent> agent_;
  int agent_needs_ = 0;
};

}  // namespace rmq::rma
