// Making and ending communicators and groups; agreement among their members. Everything here needs the device held.
#pragma once

#include <span>
#include <vector>

#include "mpi/internal/call.hpp"
#include "mpi/internal/transfer.hpp"

namespace rmq::mpi {

// ---- life ----

inline void retain(Comm& c) { ++c.refs; }
/// The last reference gives the contexts back and lets go of groups, error handler and info.
void release(Comm* c);
inline void retain(Group& g) { ++g.refs; }
void release(Group* g);
inline void retain(Errhandler& e) { ++e.refs; }
void release(Errhandler* e);

/// A group of these world ranks, in this order, with one reference; MPI_GROUP_EMPTY when there are none.
Group* new_group(std::vector<Rank> world);

/// A communicator over `group` (and `remote`), whose references it takes over, in contexts that have been agreed on. It
/// inherits the error handler of `parent` and is in the table of user handles.
struct NewComm {
  std::uint32_t context;
  Group* group;
  Group* remote = nullptr;            // of an inter-communicator
  std::uint32_t local_context = 0;    // of an inter-communicator: context of its local intra-communicator
};
Comm* new_comm(const Comm& parent, const NewComm& made);

// ---- agreement ----

/// Some members of a communicator that agree on something, in one order for all; `me` is my place among them. The
/// collective context is used, with a tag that none of its other users has.
struct Party {
  Comm& comm;               // an intra-communicator
  std::vector<int> ranks;   // of the members in comm; empty: all of them, in order
  int me;
  int tag;
  int size() const { return ranks.empty() ? comm.size() : static_cast<int>(ranks.size()); }
  int rank_of(int member) const { return ranks.empty() ? member : ranks[static_cast<std::size_t>(member)]; }
};
/// All members of an intra-communicator, or of the local group of an inter-communicator.
Party whole_party(Comm& c);

/// A second party on the other side: its first member and ours reach each other through `comm`.
struct Bridge {
  bool present = false;
  Comm* comm = nullptr;  // needed by the first member only
  int remote_leader = 0;
  int tag = 0;
};
/// To the other group of an inter-communicator; none for an intra-communicator.
Bridge bridge_of(Comm& c);

/// words[i] becomes the AND of all members' words[i].
void agree_and(const Party& p, const Bridge& b, std::span<std::uint64_t> words);
/// All members' words, in the order of the members; each brings as many.
std::vector<std::uint64_t> gather_all(const Party& p, std::span<const std::uint64_t> mine);
/// The first member's words go to all.
void broadcast(const Party& p, std::vector<std::uint64_t>& words);
/// What the members of the other party gathered among themselves, given what we did. The other side does the same.
std::vector<std::uint64_t> exchange(const Party& p, const Bridge& b, const std::vector<std::uint64_t>& ours);

// ---- contexts: context.cpp ----

/// `n` contexts (each good for point-to-point, and + 1 for collectives) that no member uses, the same for all members of
/// the party, and of the other one. Throws MPI_ERR_OTHER when there are none left.
std::vector<std::uint32_t> agree_on_contexts(const Party& p, const Bridge& b, int n);
void free_context(std::uint32_t context);
inline constexpr std::uint32_t kWorldContext = 0, kSelfContext = 2;
inline constexpr std::size_t kContextWords = 256;  // of 64 contexts each

}  // namespace rmq::mpi
