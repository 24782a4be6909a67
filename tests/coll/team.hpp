// SPDX-License-Identifier: BSD-3-Clause
// Communicators whose members are fibers of one process, made by hand: no library state, no handles, only what the
// algorithms of collectives are given.
#pragma once

#include <deque>
#include <vector>

#include "engine/coll/choice.hpp"
#include "engine/coll/coll.hpp"
#include "engine/coll/plan.hpp"
#include "engine/message/task.hpp"
#include "rma/fibers.hpp"

namespace rmq::testing {

/// The members' communicators. Member i of an intra-communicator is rank i; of an inter-communicator the members of the
/// left group come first.
class Team {
 public:
  /// World ranks of the members, in order; `right` is empty for an intra-communicator. `context` is even and fresh.
  Team(Fibers& fibers, std::uint32_t context, mpi::coll::Terms& terms, const std::vector<int>& left,
       const std::vector<int>& right = {});
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  bool is_inter() const { return right_size_ > 0; }
  int members() const { return static_cast<int>(comms_.size()); }
  int left() const { return left_size_; }
  mpi::Comm& comm(int member) { return comms_[static_cast<std::size_t>(member)]; }
  /// Member that a world rank is; -1: none.
  int member_of(int world) const { return member_of_[static_cast<std::size_t>(world)]; }

 private:
  int left_size_, right_size_;
  std::vector<int> member_of_;
  std::deque<mpi::Group> groups_;  // a copy for each member: they note their own rank
  std::deque<mpi::Comm> comms_, locals_;
};

/// A collective in the background of one member, as behind a request.
class Background final : public mpi::Task {
 public:
  /// `tag`: of a persistent collective; negative: the next of the communicator.
  Background(mpi::Comm& comm, int tag, std::function<int()> collective)
      : Task(*comm.device, tag, tag >= 0 ? &plan_ : nullptr), collective_(std::move(collective)) {}
  void start() {
    plan_.begin();
    run();
  }
  bool over() const { return !running(); }
  int code() const { return result(); }

 private:
  int body() override { return collective_(); }
  const std::function<int()> collective_;
  mpi::coll::Plan plan_;
};

}  // namespace rmq::testing
