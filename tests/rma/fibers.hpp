// SPDX-License-Identifier: BSD-3-Clause
// Ranks as fibers: N devices in one process joined by the in-process method, each with a program of its own that may
// call what waits. Whenever a device polls, the next rank gets its turn, drawn from the seed; so every interleaving of
// polls can happen, and a seed repeats it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "adi/device.hpp"
#include "base/os/fiber.hpp"
#include "methods/chance.hpp"
#include "methods/inproc.hpp"
#include "rma/window/domain.hpp"
#include "rma/window/window.hpp"

namespace rmq::testing {

class Fibers {
 public:
  Fibers(int ranks, const methods::InprocRules& rules, const std::function<void(Config&)>& adjust = {})
      : Fibers(Hosts::blocks(ranks, ranks), rules, adjust) {}
  Fibers(const Hosts& hosts, const methods::InprocRules& rules, const std::function<void(Config&)>& adjust = {});
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  int size() const { return static_cast<int>(ranks_.size()); }
  adi::Device& device(int rank) { return *ranks_[static_cast<std::size_t>(rank)]->device; }
  rma::Domain& domain(int rank) { return *ranks_[static_cast<std::size_t>(rank)]->domain; }
  methods::InprocWorld& world() { return *world_; }
  /// All packets that this rank has sent, with their flags, as "RMA_PUT 13".
  std::vector<std::string>& sent(int rank) { return ranks_[static_cast<std::size_t>(rank)]->sent; }

  /// Ranks that this one has sent packets to.
  const std::set<Rank>& peers(int rank) { return ranks_[static_cast<std::size_t>(rank)]->peers; }

  /// Runs `program(rank)` on all ranks to their ends. False, with a failure of the test, when they get stuck.
  bool run(const std::function<void(int)>& program);

  // ---- inside of a program ----
  /// Meets all ranks.
  void barrier(int rank);
  /// Until `come` holds only the others go on: what has arrived here stays where it is. Fails after a while.
  void stand_by(const std::function<bool()>& come);
  /// The words of all ranks.
  std::vector<std::uint64_t> gather(int rank, std::span<const std::uint64_t> mine);
  /// A window over all ranks; options.ranks, me and sizes are filled in.
  std::unique_ptr<rma::Window> window(int rank, rma::WindowOptions options);
  /// Ends it: collective.
  void close(int rank, std::unique_ptr<rma::Window> window);
  /// The rank dies here: its program does not go on, its peers learn of it. Does not return.
  [[noreturn]] void die(int rank);

 private:
  struct Rank1 {
    std::unique_ptr<adi::Device> device;
    std::unique_ptr<rma::Domain> domain;
    std::unique_ptr<os::Fiber> fiber;
    std::vector<std::string> sent;
    std::set<Rank> peers;
    bool done = true;
    bool dead = false;
  };
  class FiberMethod;

  void yield();
  void entry();

  std::unique_ptr<methods::InprocWorld> world_;
  std::vector<std::unique_ptr<Bootstrap>> bootstraps_;
  std::vector<std::unique_ptr<Rank1>> ranks_;
  methods::Chance chance_;
  int living_;
  int running_ = -1;
  const std::function<void(int)>* program_ = nullptr;
  std::uint64_t progress_ = 0;  // collective steps, as a sign of life
  struct Meeting {
    int arrived = 0;
    std::vector<std::uint64_t> words;
  };
  std::vector<std::uint64_t> met_;  // by rank: meetings so far
  std::vector<std::unique_ptr<Meeting>> meetings_;
};

}  // namespace rmq::testing
