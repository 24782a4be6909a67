// SPDX-License-Identifier: BSD-3-Clause
// What a rank knows about its job, and how it talks to the connection server that rmqrun or rmqboot runs for the job.
//
// Static facts come in environment variables (start/bootstrap_env.hpp lists them), everything else over one socket that
// the rank inherits already connected (format: start/boot_wire.hpp). put and finalize cost no round trip, get and fence
// one, look_up one that nobody waits for.
//
// Threads: every function may be called by any thread. A get or fence that waits holds back other gets and fences of
// this rank, but neither put, abort nor finalize. Who ends a rank when its launcher dies, even by kill -9: the kernel
// (PR_SET_PDEATHSIG) where the launcher started the rank itself; the launcher's second process (tools/launch/front.hpp)
// for all descendants; and watch_fd(), which sees the end of the server's socket, where neither reaches (another
// machine, both launcher processes killed).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "start/hosts.hpp"

namespace rmq {

/// Why a rank aborts: of itself, or only because it has lost another one, whose end is then the cause of the job's.
enum class Blame : std::uint8_t { itself, lost_peer };

struct JobInfo {
  std::string job;       // unique id of the job (16 hex digits): names abstract sockets, segments and files
  int rank = 0;          // my rank in MPI_COMM_WORLD
  int size = 1;          // ranks in MPI_COMM_WORLD
  Hosts host_of_rank;    // host index (0, 1, …) of each rank
  int host_rank = 0;     // my position among the ranks of my host
  int host_size = 1;     // ranks on my host
  int machine_size = 1;  // ranks that share my CPUs: with pretended hosts (--host-split) all of the job
  int machine_cpus = 0;  // CPUs that these may use together, however each of them is bound; 0: not known
  std::array<std::byte, 32> secret{};  // the job's key for handshakes between ranks; the same in every rank
  int app_num = 0;                     // MPMD: which of the ':' sections started me
  int universe_size = 1;               // MPI_UNIVERSE_SIZE; at least `size`
  int flight_fd = -1;                  // memory for the flight recorder, held by the launcher; -1: none
  std::uint64_t flight_at = 0;         // where in it mine begins, bytes
  bool ft = false;                     // the job goes on when a rank dies (rmqrun --ft)
  std::string host_name;               // of my host; pretended hosts (--host-split) have names of their own
};

/// Longest key and value that put takes, in bytes.
inline constexpr std::size_t max_boot_key = 255;
inline constexpr std::size_t max_boot_value = 64 * 1024;
/// Longest report of a rank on itself, in bytes.
inline constexpr std::size_t max_report = 60 * 1024;

/// What to add to this host's CLOCK_MONOTONIC to get the launcher's; wrong by at most `error_ns`.
struct ClockOffset {
  std::int64_t offset_ns = 0;
  std::uint64_t error_ns = 0;
};

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual const JobInfo& job() const = 0;

  /// Publishes `value` under `key` for all ranks. A key is published once in a job; Errc::argument for a key or value
  /// that is too long. Does not wait: a second put of a key is reported by a later get or fence.
  virtual Result<void> put(std::string_view key, std::string_view value) = 0;

  /// The value of `key`; waits until some rank has put it. Errc::peer_lost when the job ends meanwhile.
  virtual Result<std::string> get(std::string_view key) = 0;

  /// The same without waiting: nothing while no rank has put it, or the server's answer is on its way (watch_fd() tells
  /// when it has come). To be called again then. This default waits after all.
  virtual Result<std::optional<std::string>> look_up(std::string_view key) {
    return get(key).map([](std::string value) { return std::optional<std::string>(std::move(value)); });
  }

  /// Answers to look_up that have come so far, whichever call has read them.
  virtual std::uint64_t answers() const { return 0; }

  /// Returns when every rank has called fence as often as this one. Errc::peer_lost when the job ends meanwhile.
  virtual Result<void> fence() = 0;

  /// How this host's clock stands to the launcher's, from a few round trips. Errc::peer_lost when the job ends
  /// meanwhile.
  virtual Result<ClockOffset> clock_offset() { return ClockOffset{}; }

  /// Ends the whole job with this exit code and says why, in one line. Does not return in a launched rank or a
  /// singleton; a local bootstrap (tests) returns, and every call on its board fails from then on.
  virtual void abort(int code, std::string_view why, Blame blame) = 0;

  /// fence() that does not wait: true once all ranks that live have come; `more`: whether any of them has said so, of
  /// all when it is true. To be repeated until then. Of a job that goes on when ranks die (JobInfo::ft).
  virtual Result<bool> try_fence(bool& more) {
    static_cast<void>(more);
    return fence().map([] { return true; });
  }

  // ---- of a job that goes on when ranks die (JobInfo::ft) ----
  struct Departure {
    std::string job;  // empty: this one
    int rank = -1;    // -1: all ranks of another job
    std::string how;  // one line
  };
  /// Ranks whose processes have ended without having left properly, also of other jobs: those that the server has told
  /// of since the last call. answers() counts them, too.
  virtual std::vector<Departure> departures() { return {}; }
  /// Whether each death is told by departures(). Else the loss of a rank is its death (tests).
  virtual bool tells_deaths() const { return false; }
  /// This rank cannot reach that one any more, which may be alive: the server ends it, so that it is dead for all. One
  /// of a job of another launcher is dead for all of this one. `jobs`: the name of one, empty for this one; with rank
  /// -1 all of one, or of several (separated by spaces), whose departures then come at the same time.
  virtual void accuse(std::string_view jobs, int rank, std::string_view why) {
    static_cast<void>(jobs), static_cast<void>(rank), static_cast<void>(why);
  }

  /// Tells the server that this rank leaves properly. A rank that ends without it is a failure of the job. Later calls
  /// of put, get and fence fail with Errc::argument; a second finalize does nothing.
  virtual Result<void> finalize() = 0;

  /// Asks the launcher for something beyond the job: to start processes ("spawn"), to keep names ("publish" …). `text`
  /// says what, and under which name ("answer.…", once used) hear() finds the answer. A rank whose launcher does no
  /// such thing, or that has none, starts one of its own (start/launcher.hpp). Errc::argument: there is none that
  /// could.
  virtual Result<void> wish(std::string_view what, std::string_view text) {
    static_cast<void>(text);
    return fail(Errc::argument, "this program has no launcher that could do '" + std::string(what) + "'");
  }

  /// What the launcher says about a wish, once it has come: it is for this rank alone, and handed out once. Does not
  /// wait.
  virtual Result<std::optional<std::string>> hear(std::string_view answer) {
    static_cast<void>(answer);
    return std::nullopt;
  }
  /// Nobody will hear this answer any more, which has come or is going to.
  virtual void abandon(std::string_view answer) { static_cast<void>(answer); }
  /// Whether a wish goes to a launcher that runs already.
  virtual bool has_launcher() const { return false; }
  /// Of a launcher of this rank's own, which on_watch() looks at as well; -1: there is none (yet).
  virtual int launcher_fd() const { return -1; }

  /// Becomes readable when the server has something to say outside of a call: above all, that it is gone. For the epoll
  /// set in which an idle rank sleeps; -1 where there is no server. Owned by the bootstrap, valid until its
  /// destruction.
  virtual int watch_fd() const { return -1; }

  /// To be called when watch_fd() is readable; never waits. Does not return when the server died or ended the job: the
  /// process then exits (with the job's code, or 1), because nobody is left who would end it.
  virtual void on_watch() {}

  /// What this rank tells when the launcher asks (rmqps, rmqrun --hang-after): called from on_watch(), with whether all
  /// is wanted or progress only; the text is JSON of at most max_report bytes and lives until the next call. nullptr:
  /// nothing to tell (any more). Not while another thread is in on_watch().
  using Teller = std::string_view (*)(void* who, bool all);
  virtual void on_ask(Teller teller, void* who) { static_cast<void>(teller), static_cast<void>(who); }

  /// Tells it without having read a question: the launcher has sent a signal, because the rank has not been in MPI for
  /// a while. Safe in a signal handler. False when the socket is in use at this moment.
  virtual bool tell(std::string_view report) { return static_cast<void>(report), false; }
};

/// The bootstrap of this process, from its environment: the launcher's server, or a singleton (rank 0 of 1) without
/// one. Errc::config when the variables are damaged, or when a foreign launcher has started this process as one of
/// several: the message names the launcher and the remedy.
Result<std::unique_ptr<Bootstrap>> connect_bootstrap();

/// `n` ranks in one process around one board in memory, for tests and simulation; all on one host, or as `hosts` has
/// it, which then names n.
std::vector<std::unique_ptr<Bootstrap>> local_bootstraps(int n);
std::vector<std::unique_ptr<Bootstrap>> local_bootstraps(const Hosts& hosts);

}  // namespace rmq
