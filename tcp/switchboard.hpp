// SPDX-License-Identifier: BSD-3-Clause
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
// Of a rank with several addresses each is tried for a quarter of a second, in turn, in the next round for twice as
// long, and so on; and first the one that is most alike the one by which another machine was reached last. (A try that
// is cut short does no harm: an address that answers late is connected to in a later round.)
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
// A rank keeps `most` connections, give or take an eighth. Calls beyond that wait in a queue, and so do callers who
// have proved themselves, until the keeper has closed one that is idle: neither answers the other's wait, since callers
// have that eighth for themselves.
//
// Half of the connections at most may be calls under way. A rank that computes does not answer its call, so when the
// queue is not empty a call that has stood unanswered for kTenure is hung up, and waits in the queue behind those that
// have been tried less often. Each time that this happens to a call the next one has twice that long, so that a machine
// which is slow to answer is reached too. A call that waits for a rank to publish its place has no descriptor, and
// does not count.
//
// Nothing here waits. A rank that has not published its place yet is asked for until it has.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "start/bootstrap.hpp"
#include "tcp/greeting.hpp"
#include "tcp/listener.hpp"
#include "tcp/ready_set.hpp"
#include "tcp/succession.hpp"

namespace rmq::tcp {

/// What came of a call.
struct Opened {
  Socket socket;
  std::string address;           // how messages name the other end
  std::uint64_t session = 0;     // of the other end
  Received received;             // what it has from earlier connections
  std::uint32_t connection = 0;  // number of this one
};

/// Who keeps the connections. Called from call(), look_up(), advance_queue() and on_ready() only.
class LinkKeeper {
 public:
  virtual ~LinkKeeper() = default;
  /// Whether nothing more is to be said to the rank: it is lost, or this one is leaving.
  virtual bool is_settled(Rank rank) const = 0;
  /// How many connections there are.
  virtual int connections() const = 0;
  /// What to say in a call to the rank, which has no connection now. `later`: number of a connection that it knows of.
  virtual Past next_call(Rank rank, std::uint32_t later) = 0;
  /// Number of the last connection to the rank.
  virtual std::uint32_t last_connection(Rank rank) const = 0;
  /// What to say to the rank, which has proved itself in the call of this number.
  virtual Verdict answer(Rank rank, std::uint64_t session, std::uint32_t call) const = 0;
  /// That call is going to be accepted with what this returns: the present connection, if there is one, has ended.
  virtual Past give_up_connection(Rank rank, std::uint32_t call) = 0;
  /// That call has broken all the same.
  virtual void on_interrupted(Rank rank) = 0;
  virtual void on_connected(Rank rank, Opened opened) = 0;
  /// The call has failed for good. `trouble`: why, in a few words; `error` has them too.
  virtual void on_unreachable(Rank rank, const Error& error, const std::string& trouble) = 0;
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
    std::uint64_t silence = 0;     // ns: how long a host may answer nothing
    std::uint64_t buffer = 0;      // kernel buffers in bytes, 0: the system's
    int most = 128;                // connections
  };

  /// `listener` may be null: then nobody can call. It is watched through `setup.ready` from here on.
  Switchboard(Setup setup, std::unique_ptr<Listener> listener);
  ~Switchboard();
  Switchboard(const Switchboard&) = delete;
  Switchboard& operator=(const Switchboard&) = delete;

  /// Starts calling the rank, unless a call is under way. The outcome comes to the keeper, later; until then it is not
  /// to be asked for again.
  void call(Rank to);
  /// The same, behind the calls that have not been tried yet: the connection was closed for one of those.
  void call_later(Rank to);
  /// Where calls or callers wait for room, a sleeper is woken after so long (ns): a connection whose rank has not
  /// answered LINK_PAUSE by then is closed all the same.
  static constexpr std::uint64_t kPatience = 2000000;
  /// The same for a connection that has broken, until `give_up_at` (os::now_ns()).
  void call_again(Rank to, std::uint64_t give_up_at);
  /// Hangs up: the rank is lost.
  void forget(Rank to);
  /// Whether calls or callers wait for room; advance_queue() takes them up when there is some, and returns how many.
  bool waits_for_room() const { return !queue_.empty() || !held_.empty(); }
  int advance_queue();
  /// How many connections would have to be closed for all who wait and may have one.
  int wanted() const;
  /// How long (ns) a call may stand unanswered, and a connection with something to say unread, while others wait.
  std::uint64_t tenure() const;
  /// Asks again for the places of ranks that are not known yet. To be called by each poll; returns how much happened.
  int look_up();

  /// All ranks have come to the end of the job: who refuses a connection has left.
  void ending() { ending_ = true; }

  /// Whether something is under way that on_ready() should soon hear of.
  bool busy() const { return !outgoing_.empty() || !incoming_.empty() || !queue_.empty(); }
  /// Whether it waits for an address that a rank has not told yet: only look_up() sees when it has.
  bool asks() const { return !asking_.empty(); }

  /// One of the tags that belong here (timer, listener, incoming, outgoing) is ready. set_timer() follows, behind
  /// several of them. Returns how much happened.
  int on_ready(Tag tag);
  /// For the next of all that is due by time.
  void set_timer();

  /// Hangs up on everybody and stops listening.
  void stop();

 private:
  struct Incoming {
    Greeting greeting;
    std::uint64_t deadline;
    std::uint32_t connection = 0;  // its number, once accepted
  };
  struct Known {
    std::vector<Endpoint> endpoints;
    bool first_is_good = false;  // it has been connected to
  };
  struct Outgoing {
    Known* known = nullptr;            // where the rank is; once that has been answered
    std::size_t next = 0;              // endpoint to try next
    int round = 0;                     // how often all endpoints have been tried
    std::size_t refused = 0;           // endpoints of this round where nobody listens
    bool refused_now = false;          // the same of the present try, where that shows at once
    std::uint32_t later = 0;           // the called side knows of a connection with this number
    bool again = false;                // a connection has broken
    std::optional<Greeting> greeting;  // while a try is under way
    bool asking = true;                // where the rank is has not been answered yet
    bool awaited = false;              // we gave way: the other side is calling
    // Times are os::now_ns(); due() tells which of them counts.
    std::uint64_t connect_by = 0;   // when the present try fails unless it is connected
    std::uint64_t stands_from = 0;  // whose connection breaks after that was there: a failure that begins anew
    std::uint64_t retry_at = 0;     // when the next try is due, while there is none
    std::uint64_t give_up_at = 0;   // the first failure from then on is the last; 0 until one has been
    bool hopeless = false;          // that has been
    std::uint64_t since = 0;        // when it got its place among the calls under way
    std::uint64_t queued_at = 0;    // when it gave that place up and went into the queue; 0: it is not there
    int hung_up = 0;                // how often the call, or the connection before it, has been, for others
    std::uint64_t pause = 0;        // the last pause between tries
    std::string at;                 // endpoint of the last try
    std::string trouble;            // why it failed
    std::uint64_t due() const;
    bool has_place() const { return !asking && queued_at == 0; }
    bool is_unanswered() const { return has_place() && greeting && !again && greeting->session() == 0; }
  };

  static constexpr std::uint64_t kTenure = 10000000;  // ns

  void start(Rank to, std::uint64_t give_up_at);
  int under_way() const;
  bool has_room(int beyond) const;
  int hung_up(Rank to) const;
  void enqueue(Rank to);
  void take_up(Rank to);
  bool displace();
  int held_most() const;
  bool keep_spare();
  void give_spare();
  void make_room();
  bool look_up(Rank to, Outgoing& call);
  void answer(std::size_t listener_index);
  void hear(std::uint32_t id);
  void judge(std::uint32_t id, Incoming& incoming);
  void listen_later();
  void listen_again();
  void give_way(Outgoing& call);
  void rejected(Rank to, Outgoing& call);
  void turn_away(Incoming& incoming);
  void dial(Rank to, Outgoing& call);
  void advance(Rank to);
  void try_failed(Rank to, Outgoing& call, std::string why);
  void expire();
  void overdue(Rank to, Outgoing& call);
  void drop(std::map<std::uint32_t, Incoming>::iterator incoming);
  void hang_up(Outgoing& call);
  void remember(const Endpoint& endpoint);

  Setup setup_;
  bool ending_ = false;
  std::unique_ptr<Listener> listener_;
  std::map<std::uint32_t, Incoming> incoming_;  // by id, hence by age
  std::map<Rank, Outgoing> outgoing_;
  std::map<Rank, Known> known_;
  std::optional<Address> good_;                // of another machine, from the last connection with one
  std::deque<Rank> queue_;                     // calls that wait for room; those that were hung up most often last
  std::deque<std::uint32_t> held_;             // callers who have proved themselves and wait for room; some may be gone
  std::map<Rank, std::uint64_t> turned_away_;  // for want of a descriptor: since when (os::now_ns())
  std::vector<Rank> asking_;                   // calls whose `asking` is set
  std::uint64_t answers_ = 0;                  // of the bootstrap, when all of those were last asked for
  std::uint32_t next_id_ = 0;
  int spare_ = -1;  // a descriptor in reserve; -1: in use, for the caller that came last, or not to be had
  std::uint64_t deaf_until_ = 0;  // the system was out of descriptors: the listener is not watched until then; 0: it is
};

}  // namespace rmq::tcp
