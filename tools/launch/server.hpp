// The connection server of a job: one socket per rank, a board of published values, the fence. It knows nothing of
// processes; whoever runs the job hears through Upcalls what the ranks said, and decides.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/boot_wire.hpp"
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
    /// The rank has lost another one, which may be alive, in a job that goes on when ranks die.
    virtual void on_accuse(int rank, int accused, std::string_view why) {
      static_cast<void>(rank), static_cast<void>(accused), static_cast<void>(why);
    }
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

  Server(EventLoop& loop, int size, Upcalls& upcalls);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves this rank on the socket from now on.
  void add(int rank, UniqueFd socket);

  RankState state(int rank) const { return peer(rank).state; }
  bool is_connected(int rank) const { return peer(rank).socket.is_open(); }
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
  /// Whether the rank has been in a fence with all the others.
  bool has_met(int rank) const { return peer(rank).met; }
  /// As if a rank had put it: the answer to a wish.
  void publish(std::string_view key, std::string_view value);

  /// Tells all connected ranks to exit with `code`.
  void end(int code, std::string_view why);

 private:
  struct Peer {
    UniqueFd socket;
    RankState state = RankState::silent;
    pid_t pid = 0;  // of the sender as the kernel tells it, until hello
    bool in_fence = false;
    bool departed = false;
    bool met = false;
    boot::FrameReader reader;
    std::string wish;          // the parts that have come
    std::string outgoing;      // what the socket has not taken yet
    bool awaits_room = false;  // the loop watches for EPOLLOUT
  };
  struct Entry {
    bool published = false;
    std::string value;
    std::vector<int> waiting;  // ranks whose get awaits it
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  void on_ready(int rank, std::uint32_t events);
  bool receive(int rank);
  ssize_t read_socket(Peer& peer, char* at, std::size_t size);
  void disconnect(int rank);
  void handle(int rank, const boot::Frame& frame);
  void on_hello(int rank, std::string_view body);
  void on_put(int rank, std::string_view body);
  void on_wish(int rank, std::string_view body);
  void on_get(int rank, std::string_view key);
  void on_fence(int rank, bool more);
  void check_fence();
  void check_absent();
  void send(int rank, std::string frame);
  void flush(int rank);

  EventLoop& loop_;
  Upcalls& upcalls_;
  std::vector<Peer> peers_;  // by rank
  std::map<std::string, Entry, std::less<>> board_;
  int connected_ = 0;
  int fence_arrived_ = 0;
  int departed_ = 0;
  int dead_ = 0;
  bool fence_more_ = false;               // some rank has said so in this fence
  std::vector<std::string> death_notes_;  // frames
  bool any_joined_ = false;
};

}  // namespace rmq::launch
