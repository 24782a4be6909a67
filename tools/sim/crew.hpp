// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a simulated job: a device each, a communicator of all, and what the job has done.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adi/device.hpp"
#include "engine/coll/choice.hpp"
#include "engine/coll/coll.hpp"
#include "methods/simulated.hpp"
#include "rma/window/domain.hpp"
#include "rma/window/window.hpp"

namespace rmq::sim {

struct CrewOptions {
  Hosts hosts;
  methods::SimCost cost;
  std::string trace;         // folder; empty: none
  mpi::coll::Choice forced;  // algorithms
};

class Crew {
 public:
  static Result<std::unique_ptr<Crew>> open(const CrewOptions& options);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const { return hosts_.size(); }
  const Hosts& hosts() const { return hosts_; }
  methods::SimWorld& world() { return world_; }
  adi::Device& device(Rank r) { return *devices_[static_cast<std::size_t>(r)]; }
  mpi::Comm& comm(Rank r) { return comms_[static_cast<std::size_t>(r)]; }
  rma::Domain& domain(Rank r);
  const mpi::Datatype& bytes_type() const;

  /// Runs it on all ranks, and returns how long it took, ns: from the start of all to the end of the last.
  /// Errc::argument when ranks are stuck, or a rank has thrown an error.
  Result<double> time(const std::function<void(Rank)>& program);

 private:
  Crew(const CrewOptions& options);

  Hosts hosts_;
  mpi::coll::Terms terms_;
  methods::SimWorld world_;
  std::vector<std::unique_ptr<Bootstrap>> bootstraps_;
  std::vector<adi::Simulation> simulations_;
  struct Seat {
    methods::SimWorld* world;
    Rank rank;
  };
  std::vector<Seat> seats_;
  std::vector<std::unique_ptr<adi::Device>> devices_;
  std::vector<std::unique_ptr<rma::Domain>> domains_;
  std::deque<mpi::Group> groups_;
  std::deque<mpi::Comm> comms_;
};

}  // namespace rmq::sim
