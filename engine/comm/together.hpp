// SPDX-License-Identifier: BSD-3-Clause
// What all members of a communicator make together in several steps, a communicator or a window, where ranks may die:
// either all who live have it in the end, or none, and nobody waits for one that has given up.
//
//   Together t(c);                     // a copy of c, in contexts of its own, that all who live have; or all fail
//   t.run([&] { …steps on t.own()… }); // who fails revokes the copy, and so ends what the others wait for in it
//   t.conclude(…);                     // all hear whether all are well, or all fail
//
// Fails at all when a member has died, whether or not the program knows of that. Where ranks do not die, own() is the
// communicator itself and nothing is said. Collective; everything here needs the device held.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "engine/comm/comms.hpp"
#include "engine/ft/circle.hpp"
#include "engine/object/failure.hpp"

namespace rmq::mpi::ft {

/// Of an agreement on contexts that is a question of the circle: its questions come one after the other.
inline Order order_of(const Circle& circle) {
  return Order::of(circle.context(), -1);
}

/// Contexts that all who live agree on, for something that all of them make. Goes on by itself in every poll; lives
/// until it is over.
class CopyAgreement {
 public:
  /// `blocking`: the caller does nothing else until it is over.
  CopyAgreement(Comm& c, int wanted, bool blocking);
  CopyAgreement(const CopyAgreement&) = delete;
  CopyAgreement& operator=(const CopyAgreement&) = delete;

  bool is_over() const { return over_; }
  /// Once over, the same at all who live: MPI_SUCCESS; MPIX_ERR_PROC_FAILED, as a member has died; MPIX_ERR_REVOKED, as
  /// one has refused; MPI_ERR_OTHER, as there are none left.
  int error() const { return error_; }
  const char* text() const;
  const Contexts& contexts() const { return contexts_; }

 private:
  std::vector<std::uint64_t> vote();
  bool hear(const Agreement::Value& agreed);

  const int wanted_;
  ContextTurn turn_;
  Contexts contexts_;
  bool over_ = false;
  int error_ = MPI_SUCCESS;
  const std::shared_ptr<const char> alive_ = std::make_shared<const char>();  // as long as this object
};

/// Contexts that all who live of `c` agree on at once, or all fail. `meanwhile`: called again and again.
Contexts agree_on_contexts(Comm& c, const std::function<void()>& meanwhile = {});

class Together {
 public:
  /// Throws Failure.
  explicit Together(Comm& c);
  ~Together();
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  Comm& own() { return own_ ? *own_ : comm_; }
  /// This member's part, or a part of it; nothing once one has failed.
  void run(const std::function<void()>& step);
  bool is_well() const { return !failure_; }
  /// Why not all are well, the same at all, behind agree(): an error class.
  int error_class() const { return classes_.choose(); }
  /// Whether all who live are well, the same for all of them; also that no member has died.
  bool agree();
  /// What this member says, the same at all who live: MPI_SUCCESS, or an error class. False also if it has died before
  /// it said so. The deaths of others do not matter any more.
  bool hear(int from, int error);
  /// Whether this member has died, as the members have agreed.
  bool has_lost(int rank) const;
  /// Throws at all members unless all are well, the same class at all where ranks may die; `undo` first gives back what
  /// this member has made.
  void conclude(const std::function<void()>& undo);
  /// The same, where `all_well` is known from agree().
  void conclude(bool all_well, const std::function<void()>& undo);

 private:
  /// Error classes, as one bit each.
  class Classes {
   public:
    static constexpr int kWords = 2;
    void add(int error_class);
    void add(const Classes& more);
    /// Of those of all members the one that tells most; MPI_ERR_OTHER if there are none.
    int choose() const;
    std::array<std::uint64_t, kWords> words{};

   private:
    bool has(int error_class) const;
  };
  Agreement::Value vote(bool well, const Classes& mine);
  int own_class() const;
  bool is_of_copy(const Failure& f) const;

  Comm& comm_;
  const bool deaths_;  // may happen
  Comm* own_ = nullptr;
  std::shared_ptr<Circle> whole_;  // that of comm_, if there is a copy …
  Circle* copy_before_ = nullptr;  // … and which copy it had
  std::optional<Failure> failure_;
  Classes classes_;  // why any member cannot go on, the same at all
};

/// All at once: what `make` comes to, given the communicator to talk on.
template <class T>
T together(Comm& c, const std::function<T(Comm& own)>& make, const std::function<void(T&)>& undo) {
  Together t(c);
  T made{};
  t.run([&] { made = make(t.own()); });
  t.conclude([&] { undo(made); });
  return made;
}
/// A communicator, or none at this member.
Comm* make_together(Comm& c, const std::function<Comm*(Comm& own)>& make);

}  // namespace rmq::mpi::ft
