// SPDX-License-Identifier: BSD-3-Clause
// One random program: ranks, rules of the network and a few hundred operations, all drawn from a seed, run on
// in-process devices, recorded, and judged by the oracle. It cannot deadlock by construction: nothing in it waits, and
// its end receives what is left and cancels receives that nothing can match.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/world.hpp"
#include "methods/chance.hpp"
#include "property/oracle.hpp"

namespace rmq::testing {

class Program {
 public:
  /// With `deaths`, one rank may die on the way.
  explicit Program(std::uint64_t seed, bool deaths = false);
  ~Program();

  /// Runs it. Empty when all went well; else what did not.
  std::vector<std::string> run();

  /// Digest of everything the network did; equal for equal seeds.
  std::uint64_t digest() const { return world_->inproc()->log_hash(); }
  std::string describe() const;

 private:
  struct Operation {  // one send or receive that has not been given back yet
    int rank = 0;
    Request* request = nullptr;
    std::unique_ptr<Buffer> buffer;
    std::ptrdiff_t message = -1;  // into history_.messages, for sends
    std::unique_ptr<Receive> receive;
    bool cancel_tried = false;
  };
  struct Held {  // a message that a matched probe has taken
    int rank;
    Request* message;
    Receive receive;
    adi::Envelope envelope;
  };

  void act();
  void send(int from, int to, int tag, SendMode mode, bool detached);
  void send(int from, int to, int tag, SendMode mode, bool detached, std::size_t bytes);
  void flood();
  void send_ready();
  void receive(int at, const Match& pattern, std::size_t capacity);
  void probe(int at, const Match& pattern);
  void take(int at, const Match& pattern);
  void receive_held(std::size_t index);
  void cancel();
  void die();
  void poll_some();
  void sweep();
  void finish(Operation& op);
  void end();
  void note_leaks();

  int any_rank() { return static_cast<int>(chance_.below(static_cast<std::uint64_t>(ranks_))); }
  bool alive(int rank) const { return rank != dead_; }
  int a_tag() { return static_cast<int>(chance_.below(3)); }
  Match a_pattern();
  std::size_t a_size();
  Shape a_shape() { return chance_.pick({Shape::contiguous, Shape::contiguous, Shape::strided, Shape::ragged}); }
  Step tick() { return ++now_; }

  std::uint64_t seed_;
  methods::Chance chance_;
  methods::InprocRules rules_;
  int ranks_;
  int actions_;
  int dead_ = -1;
  bool deaths_;
  bool scarce_ = false;  // so little credit that floods run out of it
  std::size_t eager_;
  std::unique_ptr<World> world_;
  History history_;
  std::vector<std::unique_ptr<Operation>> running_;
  std::vector<Held> held_;
  std::vector<std::unique_ptr<Buffer>> kept_;  // memory of what may still be written when the world ends
  std::vector<std::string> faults_;
  Step now_ = 0;
};

}  // namespace rmq::testing
