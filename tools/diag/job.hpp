// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a job told, read from the document of inquiry.hpp: the basis of the diagnosis. Nothing of it
// is trusted to be there; what is missing counts as empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rmq::diag {

/// How far a rank can still do something for others.
enum class Fate {
  waiting,    // its calls wait
  testing,    // in calls that find nothing
  computing,  // outside of MPI, in a callback, or inside of MPI without waiting
  silent,     // does not answer
  stopped,    // by a signal
  starting,   // has not initialised MPI
  left,       // MPI_Finalize is behind it
  gone,       // its process has ended
};

/// A call of a collective on a communicator.
struct Called {
  std::uint32_t number = 0;
  std::string call;
  std::uint64_t bytes = 0;
  int root = -1;
};

struct Comm {
  std::uint32_t context = 0, recv_context = 0;
  std::string name;                        // for people, never empty
  std::vector<int> members;                // world ranks, of whom messages come from
  std::vector<int> local;                  // of an inter-communicator: world ranks of the rank's own group; else empty
  std::uint32_t local_context = 0;         // of an inter-communicator: of messages in the own group
  std::vector<int> sources, destinations;  // of a graph: ranks of the communicator, those next to this one
  std::uint32_t collectives = 0;
  std::vector<Called> called;  // the latest
  bool whole = true;           // else members were left out

  bool is_inter() const { return !local.empty(); }
};

/// A message, sent or wanted or here.
struct Message {
  std::uint32_t context = 0;
  int source = 0, tag = 0;  // as MPI calls them: source is a rank in the communicator
  int peer = -1;            // world rank; -1: any, or not known
  std::uint64_t bytes = 0;
  bool matched = false;
  std::string step;  // of its protocol: base/packet/request_step.def
};

struct Wait {
  std::string kind;        // recv, send, probe, collective, lock, post, complete, fence, operations, generalised …
  Message message;         // of recv, send, probe
  std::vector<int> peers;  // world ranks; one of them is enough if `any`, else all are needed
  bool any = false;
  std::uint32_t window = 0, number = 0;
  std::string text = {};  // of memory: which, and what it is to become

  bool sends() const { return kind == "send" || kind == "ready"; }
};

/// A request that others may wait for while this rank does not: it is not started, or not all its partitions are ready.
struct Dormant {
  bool started = false;
  Wait request;  // as if it were waited for
};

struct Window {
  std::uint32_t id = 0, fences = 0;
  std::vector<int> members, holders, waiters, locked, access, unposted, exposure, uncompleted;
  bool accessing = false, exposed = false;
};

/// Messages that a rank may not send yet.
struct HeldUp {
  int to = -1;
  std::size_t messages = 0;
  std::string reason;  // "no credit", "link full"
};

/// A rank that another one cannot reach any more, though it lives perhaps.
struct Lost {
  int rank = -1;
  std::string error;
};

struct Rank {
  int rank = 0;
  Fate fate = Fate::silent;
  std::string state, call, program, process, host;
  std::int64_t pid = 0;
  std::vector<Wait> waits;
  std::size_t more_waits = 0;                      // that its report had no room for
  bool cut = false;                                // its report has left something out
  std::vector<Message> sends, receives, messages;  // not complete; posted or being filled; unexpected
  std::vector<Dormant> dormant;
  std::vector<Comm> comms;
  std::vector<Window> windows;
  std::vector<HeldUp> held_up;
  std::vector<Lost> lost;
  std::vector<std::string> notes;  // of its queues, for people

  std::map<int, std::string> foreigners;  // "rank 2 of job …", by the number that this rank has for them

  /// That of messages which come here, or which go to world rank `to`: an inter-communicator sends with a context of
  /// the other side, which another communicator may receive with. nullptr: not told.
  const Comm* comm_of(std::uint32_t context, int to = -1) const;
  const Comm* comm_of(const Wait& w) const { return comm_of(w.message.context, w.sends() ? w.message.peer : -1); }
  const Window* window(std::uint32_t id) const;
};

struct Job {
  std::string id;
  std::vector<Rank> ranks;
  bool others_wait = false;  // known of all jobs whose ranks these may wait for
};

Job read_job(const nlohmann::json& document);

inline bool has(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// Whether the rank can do something that ends somebody else's wait, as far as is known.
inline bool is_alive(const Rank& r) {
  return r.fate == Fate::computing || r.fate == Fate::starting;
}

/// Whether it waits for something, in one call or in many.
inline bool is_stuck(const Rank& r) {
  return r.fate == Fate::waiting || r.fate == Fate::testing;
}

/// The internal traffic of collectives has odd contexts.
inline bool is_collective(const Message& m) {
  return (m.context & 1) != 0;
}

// ---- words: text.cpp ----

/// "rank 3", "ranks 0, 2-5 and 7"; of nobody "no rank".
std::string ranks_text(std::vector<int> ranks);
/// The same of peers of a rank, who may be of other jobs.
std::string ranks_text(const Rank& r, std::vector<int> peers);
/// "MPI_COMM_WORLD", or how else people may know it.
std::string comm_text(const Rank& r, const Wait& w);
/// "a message from rank 1 with tag 2 on MPI_COMM_WORLD"
std::string wait_text(const Rank& r, const Wait& w);
/// "waits in MPI_Recv for a message from …", "computes outside of MPI (its latest call was MPI_Bcast)"
std::string doing_text(const Rank& r);

}  // namespace rmq::diag
