// Opens connections: calls other ranks, answers their calls, and sees to it that two ranks that call each other at once
// end up with one connection.
//
// Rule for simultaneous calls: the call of the lower rank wins. The lower rank rejects the other's call (reason 1)
// while its own is under way; the higher rank accepts the lower's and hangs up its own. Both decide when the caller has
// proved itself, so a stranger can neither cause nor prevent anything. A rank whose call was rejected for that reason
// waits for the other's.
//
// Time: the limit counts what fails, not what is slow. A try that fails (refused, reset, no answer from the machine, a
// stranger answers) is repeated, with pauses growing to 100 ms, until the limit has passed since the first failure;
// a connection that stood for longer than the limit starts that count anew.
// Once connected, the caller waits for as long as the connection lives: the called rank may compute for minutes before
// it polls, and its death shows as a reset. The called side hangs up on a caller that has not proved itself within the
// limit, or speaks nonsense; a true one calls again. At most job size + 64 callers are heard at once, of whom at most
// 64 have not shown the mark of a member yet (proof H). Each is heard as soon as it is accepted, and the oldest without
// the mark gives way first: whoever connects and says nothing cannot push out a caller in the middle of its handshake.
//
// Descriptors: two ranks that call each other with their last descriptor could not accept each other's call, for ever.
// So one is kept in reserve, to hear out a caller with: that ends one of the two calls. Where it does not, the caller
// is told what is missing; the called side counts it as lost when it has called in vain for half of the time limit, the
// caller the called one after the whole.
//
// Nothing here waits. A rank that has not published its place yet is asked for until it has.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bootstrap.hpp"
#include "tcp/greeting.hpp"
#include "tcp/listener.hpp"
#include "tcp/ready_set.hpp"

namespace rmq::tcp {

/// Who keeps the connections. Called from Switchboard::on_ready only.
class LinkKeeper {
 public:
  virtual ~LinkKeeper() = default;
  /// Whether a new connection to the rank would be one too many: it has one, or is lost.
  virtual bool is_settled(Rank rank) const = 0;
  /// The connection is open; `address` is how messages name the other end.
  virtual void on_connected(Rank rank, Socket socket, std::string address) = 0;
  /// The call has failed for good.
  virtual void on_unreachable(Rank rank, const Error& error) = 0;
};

class Switchboard {
 public:
  struct Setup {
    boost::asio::io_context& io;
    ReadySet& ready;
    Bootstrap& bootstrap;
    LinkKeeper& keeper;
    Identity identity;
    std::string machine;           // machine_identity() of this rank
    std::uint64_t time_limit = 0;  // ns; see above
    std::uint64_t buffer = 0;      // kernel buffers in bytes, 0: the system's
  };

  /// `listener` may be null: then nobody can call. It is watched through `setup.ready` from here on.
  Switchboard(Setup setup, std::unique_ptr<Listener> listener);
  ~Switchboard();
  Switchboard(const Switchboard&) = delete;
  Switchboard& operator=(const Switchboard&) = delete;

  /// Starts calling the rank, unless a call is under way. The outcome comes to the keeper, later.
  void call(Rank to);
  /// Asks again for the places of ranks that are not known yet. To be called by each poll; returns how much happened.
  int look_up();

  /// Whether something is under way that on_ready() should soon hear of.
  bool busy() const { return !outgoing_.empty() || !incoming_.empty(); }
  /// Whether it waits for an address that a rank has not told yet: only look_up() sees when it has.
  bool asks() const { return asking_ != 0; }

  /// One of the tags that belong here (timer, listener, incoming, outgoing) is ready. Returns how much happened.
  int on_ready(Tag tag);

  /// Hangs up on everybody and stops listening.
  void stop();

 private:
  struct Incoming {
    Greeting greeting;
    std::uint64_t deadline;
  };
  struct Outgoing {
    std::vector<Endpoint> endpoints;
    std::size_t next = 0;              // endpoint to try next
    std::optional<Greeting> greeting;  // while a try is under way
    bool asking = true;                // where the rank is has not been answered yet
    bool awaited = false;              // we gave way: the other side is calling
    // Times are os::now_ns(); due() tells which of them counts.
    std::uint64_t connect_by = 0;  // when the present try fails unless it is connected
    std::uint64_t retry_at = 0;    // when the next try is due, while there is none
    std::uint64_t give_up_at = 0;  // the first failure from then on is the last; 0 until one has been
    bool hopeless = false;         // that has been
    std::uint64_t pause = 0;       // the last pause between tries
    std::string at;                // endpoint of the last try
    std::string trouble;           // why it failed
    std::uint64_t due() const;
  };

  bool keep_spare();
  void give_spare();
  void make_room();
  bool look_up(Rank to, Outgoing& call);
  void answer(std::size_t listener_index);
  void hear(std::uint32_t id);
  void judge(Incoming& incoming);
  void turn_away(Incoming& incoming);
  void dial(Rank to, Outgoing& call);
  void advance(Rank to);
  void try_failed(Rank to, Outgoing& call, std::string why);
  void expire();
  void overdue(Rank to, Outgoing& call);
  void drop(std::map<std::uint32_t, Incoming>::iterator incoming);
  void hang_up(Outgoing& call);
  void set_timer();

  Setup setup_;
  std::unique_ptr<Listener> listener_;
  std::map<std::uint32_t, Incoming> incoming_;  // by id, hence by age
  std::map<Rank, Outgoing> outgoing_;
  std::map<Rank, std::uint64_t> turned_away_;  // for want of a descriptor: since when (os::now_ns())
  std::size_t asking_ = 0;                     // calls whose `asking` is set
  std::uint32_t next_id_ = 0;
  int spare_ = -1;  // a descriptor in reserve; -1: in use, for the caller that came last, or not to be had
  std::uint64_t deaf_until_ = 0;  // the system was out of descriptors: the listener is not watched until then; 0: it is
};

}  // namespace rmq::tcp
