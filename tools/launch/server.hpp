// SPDX-License-Identifier: BSD-3-Clause
// The connection server of a job: one socket for each rank of this host, a route for those of others, whose agents keep
// values that they have asked for and gather their ranks' fences (tools/launch/branch.hpp); a board of published
// values, the fence. It knows nothing of processes; whoever runs the job hears through Upcalls what the ranks said, and
// decides.
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "start/boot_wire.hpp"
#include "start/hosts.hpp"
#include "tools/launch/line.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

/// How far a rank has come.
enum class RankState {
  silent,     // no word yet: MPI is not initialised (perhaps it is no MPI program at all)
  joined,     // between MPI_Init and MPI_Finalize
  finalized,  // has left properly
  dead,       // its process has ended, and the job goes on
};

class Server {
 public:
  /// Made from within the event loop, never from within a call of the Server's other than drain and depart.
  class Upcalls {
   public:
    virtual ~Upcalls() = default;
    /// The rank has initialised MPI, in this process (0: not known, it is on another host). That may be a descendant of
    /// the process that was started as the rank.
    virtual void on_join(int rank, pid_t pid) = 0;
    /// The rank wants the whole job ended with this code; `for_loss`: only because another one is gone.
    virtual void on_abort(int rank, int code, std::string_view why, bool for_loss) = 0;
    /// The rank has lost another one, which may be alive, in a job that goes on when ranks die. `job`: of that one,
    /// empty for the same; then the rank exists. Else -1: all ranks of it.
    virtual void on_accuse(int rank, std::string_view job, int accused, std::string_view why) {
      static_cast<void>(rank), static_cast<void>(job), static_cast<void>(accused), static_cast<void>(why);
    }
    /// All who live have come to the fence of MPI_Finalize (all_leaving()) in a job that goes on when ranks die. False:
    /// whoever hears this opens it (let_leave()), also perhaps before it returns.
    virtual bool on_all_leaving() { return true; }
    /// The rank's socket has ended; state(rank) tells whether properly.
    virtual void on_disconnect(int rank) = 0;
    /// What the rank has to say to question `number`: JSON. 0: to a signal.
    virtual void on_answer(int rank, std::uint32_t number, std::string_view text) = 0;
    /// The rank wants something of the launcher (Bootstrap::wish). False: this launcher cannot do such things.
    virtual bool on_wish(int rank, std::string_view what, std::string_view text) {
      static_cast<void>(rank), static_cast<void>(what), static_cast<void>(text);
      return false;
    }
    /// The job can't go on: the rank broke the protocol, or left while others wait for it.
    virtual void on_violation(int rank, std::string_view what) = 0;
  };

  /// To ranks of other hosts.
  class Route {
   public:
    virtual ~Route() = default;
    /// A frame for one rank.
    virtual void to_rank(int rank, std::string_view frame) = 0;
    /// The answer to hear_get, for all that have asked there.
    virtual void value(std::string_view key, std::string_view value) = 0;
    /// All ranks of the job have come to the fence.
    virtual void fence_done() = 0;

   private:
    friend class Server;
    int in_fence = 0;  // ranks behind it
  };

  Server(EventLoop& loop, int size, Upcalls& upcalls);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves this rank on the socket from now on.
  void add(int rank, UniqueFd socket);
  /// Or by this route, which must outlive the server or be forgotten: the ranks behind it are gone then.
  void add_remote(int rank, Route& via);
  void forget(const Route& via);

  /// What comes by a route: a frame of a rank, the end of its socket, a key that is asked for, so many ranks that have
  /// come to the fence.
  void hear(int rank, const boot::Frame& frame);
  void hear_end(int rank);
  void hear_damage(int rank, std::string_view what);
  void hear_get(Route& via, std::string_view key);
  void hear_fence(Route& via, int ranks);

  RankState state(int rank) const { return peer(rank).state; }
  bool is_connected(int rank) const { return peer(rank).connected; }
  int connected() const { return connected_; }

  /// Asks a rank that has joined what it is doing: all there is to tell, or its counters only.
  void ask(int rank, std::uint32_t number, bool all) { send(rank, boot::encode_ask(number, all)); }

  /// Reads all that a rank sent before its death.
  void drain(int rank);

  /// The rank's process is gone: whoever waits for it in a fence, or to call MPI_Init, waits in vain.
  void depart(int rank);

  /// The same, and the job goes on (RankState::dead): all are told `how`, also those that join later. Nobody waits for
  /// it in a fence.
  void bury(int rank, std::string_view how);
  /// Tells all of the death of a rank of another job (-1: of all its ranks).
  void tell_death(std::string_view jobs, int rank, std::string_view how);
  /// Whether all who live are in the fence of MPI_Finalize; whether any of them says that it goes on.
  bool all_leaving() const;
  bool any_goes_on() const { return fence_more_; }
  /// Opens it.
  void let_leave(bool any_goes_on);
  /// Whether the rank has been in a fence with all the others.
  bool has_met(int rank) const { return peer(rank).met; }
  /// The answer to a wish of the rank, under the key that this has named. Nothing is kept of it.
  void answer(int rank, std::string_view key, std::string_view text);
  /// What ranks of a job of several hosts fetch (boot::fetch_hosts).
  void publish_hosts(const Hosts& hosts);

  /// Tells all connected ranks to exit with `code`.
  void end(int code, std::string_view why);

 private:
  struct Peer {
    explicit Peer(EventLoop& loop) : line(loop) {}
    RankLine line;
    Route* via = nullptr;
    bool connected = false;
    RankState state = RankState::silent;
    bool in_fence = false;
    bool departed = false;
    bool met = false;
    std::string wish;  // the parts that have come
  };
  struct Entry {
    bool published = false;
    std::string value;
    std::vector<int> waiting;    // ranks whose get awaits it
    std::vector<Route*> routes;  // by which it has been asked for
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  void disconnect(int rank);
  void handle(int rank, const boot::Frame& frame);
  void on_hello(int rank, std::string_view body);
  void on_put(int rank, std::string_view body);
  void publish(std::string_view key, std::string_view value);
  void on_wish(int rank, std::string_view body);
  void on_get(int rank, std::string_view key);
  void on_fence(int rank, std::string_view body);
  void finish_fence();
  void open_fence(std::string_view body);
  void check_fence();
  void check_absent();
  void send(int rank, const std::string& frame);

  Upcalls& upcalls_;
  std::deque<Peer> peers_;  // by rank; they do not move
  std::map<std::string, Entry, std::less<>> board_;
  int connected_ = 0;
  int fence_arrived_ = 0;
  int departed_ = 0;
  int dead_ = 0;
  bool fence_is_last_ = false;            // it is one of MPI_Finalize, of a job that goes on when ranks die
  bool fence_more_ = false;               // some rank has said so in this fence
  std::vector<std::string> death_notes_;  // frames
  bool any_joined_ = false;
};

}  // namespace rmq::launch
