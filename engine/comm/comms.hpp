// SPDX-License-Identifier: BSD-3-Clause
// Agreement among the members of a communicator, on contexts above all, and the communicators that are made of it.
// Everything here needs the device held.
#pragma once

#include <bit>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/call/call.hpp"
#include "engine/message/transfer.hpp"
#include "engine/object/comm.hpp"
#include "engine/object/contexts.hpp"
#include "start/line.hpp"

namespace rmq::mpi {

/// The communicator of those world ranks who are in `world` (and `remote`), in contexts that all members of `parent`
/// agree on: each must call, with the group that it belongs to. nullptr for those who are in none, and where one side
/// of an inter-communicator would be empty.
Comm* create_comm(Comm& parent, Ranks world, Ranks remote = {});

// ---- agreement ----

/// Some members of a communicator that agree on something, in one order for all; `me` is my place among them. The
/// collective context is used, with a tag that none of its other users has. They talk along a binomial tree with the
/// first member as its root: the parent of m is m without its lowest bit, and the subtree of m are m … m + reach(m)
/// - 1.
struct Party {
  Comm& comm;              // an intra-communicator
  std::vector<int> ranks;  // of the members in comm; empty: all of them, in order
  int me;
  int tag;
  int size() const { return ranks.empty() ? comm.size() : static_cast<int>(ranks.size()); }
  int rank_of(int member) const { return ranks.empty() ? member : ranks[static_cast<std::size_t>(member)]; }
  int parent() const { return me & (me - 1); }
  int reach(int m) const { return m ? m & -m : static_cast<int>(std::bit_ceil(static_cast<unsigned>(size()))); }
  template <class F>
  void for_each_child(F&& f) const {
    for (int step = 1; step < reach(me) && me + step < size(); step *= 2) f(me + step);
  }
};
/// All members of an intra-communicator, or of the local group of an inter-communicator.
Party whole_party(Comm& c);

/// All members of `c`, the leader first.
Party party_behind(Comm& c, int leader);

/// A second party on the other side: its first member and ours reach each other through `comm`, or by a line.
struct Bridge {
  bool present = false;
  Comm* comm = nullptr;  // needed by the first member only
  int remote_leader = 0;
  int tag = 0;
  Line* line = nullptr;  // instead of `comm`, for exchange() only: they have no channel to each other yet
  bool* over = nullptr;  // set, if there, when the other side has failed or is gone: nothing more comes
};
/// What the two leaders say to each other in the end, or where ranks die instead of all exchanges that were to come:
/// MPI_SUCCESS if both sides are well, else an error class. `ours`: why this one is not.
int settle(const Bridge& b, const Failure* ours);

/// All members of a communicator, and the way to the other group if it has one. Each takes a tag, in this order at all.
struct Everyone {
  Party party;
  Bridge bridge;
};
Everyone everyone_of(Comm& c);
/// All members' words, in the order of the members; each brings as many.
std::vector<std::uint64_t> gather_all(const Party& p, std::span<const std::uint64_t> mine);
/// Each word becomes the bitwise and of all members'.
void and_all(const Party& p, std::span<std::uint64_t> words);
/// The first member's words go to all.
void broadcast(const Party& p, std::vector<std::uint64_t>& words);
/// What the members of the other party gathered among themselves, given what we did. The other side does the same. What
/// the first member cannot do fails at all of ours.
std::vector<std::uint64_t> exchange(const Party& p, const Bridge& b, const std::vector<std::uint64_t>& ours);
/// The two groups of an inter-communicator.
std::vector<std::uint64_t> exchange_with_remote(Comm& inter, const std::vector<std::uint64_t>& ours);

// ---- contexts: context.cpp ----

/// What a call says that finds none free.
inline constexpr const char* kNoContextLeft = "too many communicators are alive: no context is left";

/// What an agreement comes to.
struct Contexts {
  std::vector<std::uint32_t> list;
  coll::Traits traits;  // of all members
  std::uint32_t operator[](std::size_t i) const { return list[i]; }
};

/// Where an agreement on contexts stands among all others: the same at all its members, and another place than that of
/// any other agreement that one of them takes part in. All processes have the one order, so agreements never wait for
/// each other in a circle.
struct Order {
  /// One of the groups that agree.
  struct Side {
    std::uint64_t job = 0, rank = 0;  // of its leader, where there are two groups
    std::uint64_t talk = 0;           // context and tag, of no other agreement of its members
    auto operator<=>(const Side&) const = default;
  };
  Side first, second;
  auto operator<=>(const Order&) const = default;

  static std::uint64_t talk(std::uint32_t context, int tag) {
    return (std::uint64_t{context} << 32) | static_cast<std::uint32_t>(tag);
  }
  /// Of members who all talk in this context with this tag.
  static Order of(std::uint32_t context, int tag) { return {{0, 0, talk(context, tag)}, {}}; }
  /// Of two groups that talk each in a context of its own, which says nothing to the other: by what both sides know.
  static Order of(const Side& ours, const Side& theirs) {
    return ours < theirs ? Order{ours, theirs} : Order{theirs, ours};
  }
};

/// This process's part in one agreement on contexts, whichever way the members agree: what it offers to each round, and
/// what comes of it. For who agrees: context.cpp says why there are rounds.
class ContextTurn {
 public:
  static constexpr std::size_t kWords = kContextWords + 1;  // the last for one bit and the traits
  /// `at_once`: the caller does nothing else until it is over, and may own the mask in the first round if no other
  /// agreement is under way.
  ContextTurn(const Order& order, bool at_once);
  ~ContextTurn();
  ContextTurn(const ContextTurn&) = delete;
  ContextTurn& operator=(const ContextTurn&) = delete;

  /// What this process brings to the round that begins: its traits as well. It may own the mask until the round is
  /// over.
  void offer(std::span<std::uint64_t, kWords> words);
  /// The round is over, with the bitwise and of all offers; `failed`: or without. Whether the agreement is over: then
  /// `agreed` is what it has come to, with `wanted` contexts or, when there are not as many left, none; and the others
  /// of this process may go ahead, however long the caller keeps this object.
  bool end_round(std::span<const std::uint64_t, kWords> words, int wanted, bool failed, Contexts& agreed);
  /// Instead, where nobody else takes part, or lives to: the agreement is over, with contexts of this process alone.
  /// It waits for no other one, whose members may be long in coming.
  void end_alone(int wanted, Contexts& agreed);

 private:
  void join_order();
  void end();

  const Order order_;
  bool ended_ = false;
  bool in_order_ = false;
  bool owner_ = false;  // of this process's mask
};

/// Agrees on contexts (each good for point-to-point, and + 1 for collectives) that no member uses, the same for all
/// members of the party, and of the other one. Goes on by itself in every poll; must live until it is done.
class ContextAgreement {
 public:
  /// `blocking`: the caller does nothing else until it is done.
  ContextAgreement(Everyone all, int n, bool blocking);
  ~ContextAgreement();
  ContextAgreement(const ContextAgreement&) = delete;
  ContextAgreement& operator=(const ContextAgreement&) = delete;

  bool done() const { return done_; }
  /// Once done: MPI_SUCCESS or an error class.
  int error() const { return error_; }
  /// What the call says then that has failed.
  const char* text() const;
  const Contexts& contexts() const { return contexts_; }

 private:
  struct Step {
    enum class What : std::uint8_t { recv_and, swap_and, send_up, recv, send_down } what;
    int member;
  };
  void plan();
  void start_round();
  void go_on();
  void start(const Step& s);
  void watch(Request* r);
  static void on_complete(Request* r);
  void settle(const Step& s);
  void end_round();

  const Party party_;
  const Bridge bridge_;
  const int wanted_;
  std::optional<ContextTurn> turn_;
  std::vector<Step> steps_;
  std::size_t at_ = 0;   // step under way
  int outstanding_ = 0;  // transfers of it
  bool done_ = false;
  int error_ = MPI_SUCCESS;
  bool failed_before_ = false;  // before this round
  bool unheard_ = false;        // what this round has come to: a message has failed that would have told
  std::uint64_t words_[ContextTurn::kWords], other_[ContextTurn::kWords];
  Contexts contexts_;
};

/// The same at once. Throws MPI_ERR_OTHER when there are none left.
Contexts agree_on_contexts(const Everyone& all, int n);
inline Contexts agree_on_contexts(const Party& p, int n) {
  return agree_on_contexts({p, {}}, n);
}

}  // namespace rmq::mpi
