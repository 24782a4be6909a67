// SPDX-License-Identifier: BSD-3-Clause
// Agreement among the members of a communicator of whom any may die at any moment, as one member runs it.
//
//    every member      root = the first that lives
//      vote   ──────────►  has the votes of all that live: combines them, or goes on with what a root before has
//      proposed accept ◄──────────  propose ack    ──────────►  all that live have accepted: decided decided ◄─────────
//      commit
//
// What is decided is uniform: nobody that has ever decided, dead by now or not, has decided anything else. For a root
// decides only when all that live have accepted its proposal; whoever is root next hears of it in every vote, and goes
// on with it. (Members that live never hold different ones: a root proposes after it has heard all of them.) A member
// votes again when its root dies, also one that has decided, which then says what. So it ends whoever dies when, as
// long as one lives.
//
// It rests on being told of each death, some time, and of no other one; and on channels that keep order, and end before
// their sender's death is told. The three phases: D. Skeen, "Nonblocking commit protocols", SIGMOD 1981; for MPI's
// failures, with their strict semantics: D. Buntinas, "Scalable distributed consensus to support MPI fault tolerance",
// IPDPS 2012. Four messages a member, all of them to and from the root.
//
// Agreements of one communicator are numbered from 1, and follow each other at every member. The latest decision, and
// the one before while the next is under way, are kept for members that have not heard of them: when an agreement is
// decided, all that live have voted in it, and thus know of the one before.
//
// A protocol without packets: Wire carries its messages. Used with the device held.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/ft/places.hpp"

namespace rmq::mpi::ft {

class Agreement {
 public:
  /// What is agreed on: words of which each is the bitwise and of all votes, and failed members: all that a voter knows
  /// of, and whose votes there were none.
  struct Value {
    std::vector<std::uint64_t> words;
    Places failed;
    bool operator==(const Value&) const = default;
  };
  struct Message {
    enum class Kind : std::uint8_t { vote, propose, ack, commit };
    enum class Standing : std::uint8_t { open, accepted, decided };
    Kind kind = Kind::vote;
    Standing standing = Standing::open;  // of who votes
    std::uint32_t number = 0;            // of the agreement
    Value value;                         // not of an ack
  };
  class Wire {
   public:
    virtual ~Wire() = default;
    /// To another member. A message to one that is dead may be lost.
    virtual void send(int place, const Message& message) = 0;
  };

  /// `wire` outlives this.
  Agreement(int size, int me, Wire& wire) : size_(size), me_(me), wire_(wire), dead_(size), acks_(size) {}

  /// Votes in the next agreement. The latest must be over.
  void begin(Value mine);
  /// Whether this member has begun an agreement that is not decided yet.
  bool running() const { return running_; }
  /// How many this member has begun.
  std::uint32_t number() const { return number_; }
  /// What the latest has decided, once it is over.
  const Value& decided() const { return decided_; }
  /// Members that have died as far as this one has been told.
  const Places& dead() const { return dead_; }

  void on_message(int from, const Message& message);
  /// Of these, at the same time.
  void on_deaths(std::span<const int> places);

 private:
  using Kind = Message::Kind;
  using Standing = Message::Standing;

  int root() const;
  void vote();
  void on_vote(int from, const Message& message);
  void go_on();
  Value proposal() const;
  void decide(Value value);
  void send_commit(int to, std::uint32_t number, const Value& value);
  template <class F>
  void for_each_living(F&& f) const;  // but this member

  const int size_, me_;
  Wire& wire_;
  Places dead_;
  bool running_ = false;
  std::uint32_t number_ = 0;
  Value mine_;                      // while it runs
  std::optional<Value> accepted_;   // a root's proposal
  Value decided_, decided_before_;  // in agreement number_ and the one before it
  // Of the root.
  std::map<int, Message> votes_;       // by place, of members that take this one for the root
  std::map<int, Message> votes_next_;  // in the agreement that this member has not begun yet
  bool proposed_ = false;
  Places acks_;
};

}  // namespace rmq::mpi::ft
