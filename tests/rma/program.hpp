// SPDX-License-Identifier: BSD-3-Clause
// A random program of remote memory access, drawn from a seed, and its sequential oracle.
//
// Each origin has an area of its own in every target's window, where what it does has one right outcome; the oracle
// does the same on plain memory when the operation is issued. Beside the areas lie counters that everybody adds to.
// Rounds draw an epoch (fence, post/start, locks, lock_all), operations, datatypes and sizes; after each, all windows
// must equal the oracle's. Operations that the standard lets conflict are kept apart by flushes, or left out.
//
// A rank's part is drawn from the seed alone. So it runs on any RmaFace: on windows of in-process devices, where all
// ranks share one oracle (fiber_face.hpp), and on real processes through MPI (mpi_face.hpp), where each process walks
// the parts of all other ranks too, on a face that does nothing, and has the whole oracle without a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/data/reduction.hpp"
#include "methods/chance.hpp"
#include "rma/core/options.hpp"
#include "rma/memory/rw_lock.hpp"

namespace rmq::testing {

/// What all ranks of a program have in common.
struct RmaPlan {
  /// A program of 2 … most ranks.
  RmaPlan(std::uint64_t seed, int most);
  std::string describe() const;
  static constexpr int kCounters = 4;
  std::int64_t counters() const { return area * ranks; }  // where they begin in a window, bytes
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(counters()) + kCounters * 8; }  // of a window

  std::uint64_t seed;
  int ranks, rounds;
  std::int64_t area;  // bytes of one origin's part of a window
  std::int64_t unit;  // displacement unit
  rma::Flavor flavor;
  bool heap_memory;            // where ranks share memory: it is theirs to share
  std::uint64_t types, queue;  // RMQ_RMA_TYPES, RMQ_RMA_QUEUE
};

/// A datatype as it is drawn: how to build it, and where its elements then lie.
struct RmaType {
  enum class Make { plain, vector, indexed };
  Basic element = Basic::none;
  std::size_t size = 0;  // of an element, packed and in memory
  Make make = Make::plain;
  int count = 1;                               // of the whole
  int blocks = 0, length = 0;                  // vector
  std::int64_t stride = 0;                     // vector; bytes
  std::vector<int> lengths;                    // indexed
  std::vector<std::int64_t> places, elements;  // bytes: of the blocks; of all elements of all `count`, in order
  std::int64_t extent = 0;                     // indexed; bytes
  std::int64_t end() const { return elements.back() + static_cast<std::int64_t>(size); }
  std::shared_ptr<void> built;  // what the face has made of it
};
using RmaTypeRef = std::shared_ptr<RmaType>;

/// One operation with its buffers, which live until its epoch or flush has completed it.
struct RmaOp {
  enum class What { put, get, accumulate, get_accumulate, fetch_and_op, compare_and_swap, store };
  What what{};
  ReduceOp op = ReduceOp::replace;
  int target = 0;
  std::int64_t offset = 0;       // in the target's window, bytes
  RmaTypeRef type, origin_type;  // at the target; at the origin, for `origin` and for `result`
  bool asks = false;             // request-based
  std::vector<std::byte> origin, compare, result;
  std::vector<std::byte> expected;  // what `result` must be like; empty: anything
  std::shared_ptr<void> state;      // the face's
};

/// What a program is made to run on: one rank's window. Each call says what went wrong; nothing is success. A plain
/// RmaFace is a rank that runs elsewhere: nothing happens, and everything is well.
class RmaFace {
 public:
  using Fault = std::string;
  virtual ~RmaFace() = default;
  virtual bool is_real() const { return false; }

  virtual Fault fence(unsigned) { return {}; }  // rma::assertion
  virtual Fault post(const std::vector<int>&) { return {}; }
  virtual Fault start(const std::vector<int>&) { return {}; }
  virtual Fault complete() { return {}; }
  virtual Fault wait() { return {}; }
  virtual Fault test(bool& done) { return done = true, Fault{}; }
  virtual Fault lock(rma::LockType, int, unsigned) { return {}; }
  virtual Fault unlock(int) { return {}; }
  virtual Fault lock_all(unsigned) { return {}; }
  virtual Fault unlock_all() { return {}; }
  virtual Fault flush(int) { return {}; }
  virtual Fault flush_all() { return {}; }
  virtual Fault flush_local(int) { return {}; }
  virtual Fault sync() { return {}; }

  virtual Fault issue(RmaOp&) { return {}; }
  /// Waits for one that asks. Once for each.
  virtual Fault finish(RmaOp&) { return {}; }
  /// This rank's window memory.
  virtual const std::byte* memory() const { return nullptr; }
};

/// What the windows of all ranks must be like.
struct RmaModel {
  explicit RmaModel(const RmaPlan& plan);
  std::vector<std::vector<std::byte>> areas;  // by target: those of all origins
  std::vector<std::vector<std::int64_t>> counters;
};

/// One rank's part.
class RmaPart {
 public:
  /// All of these outlive it. Faults are added to the list; once there is one, the rest of the program means nothing.
  RmaPart(const RmaPlan& plan, RmaModel& model, RmaFace& face, int me, std::vector<std::string>& faults);
  ~RmaPart();
  /// Epochs and operations of one round. A barrier belongs behind it, then check(), then another barrier. Where ranks
  /// that run elsewhere are walked too, their rounds come first: what they do in a round is what this one may see.
  void round(int number);
  /// Judges this rank's window, when everybody's round is in the model.
  void check(int number);

 private:
  struct Touched {
    std::int64_t from, to;
    int what;  // 0 get, 1 put, 2 and more: accumulate of a type
  };

  void fence_round();
  void pscw_round(std::uint64_t draw);
  void lock_round();
  void lock_all_round();
  void operations(int target, bool may_flush);
  void one(int target, bool may_flush);
  void look(int target);
  void count(int target);
  void issue(std::unique_ptr<RmaOp> op);
  void complete();
  void judge(const RmaOp& op);
  bool clear_of(int target, Touched t, bool may_flush);
  RmaTypeRef draw_type();
  void draw_elements(RmaOp& op);
  ReduceOp draw_reduction(Basic element);
  void apply(RmaOp& op);
  void expect_none(const std::string& fault, const char* what);
  bool well() const { return faults_.empty(); }

  const RmaPlan& plan_;
  RmaModel& model_;
  RmaFace& face_;
  int me_;
  std::vector<std::string>& faults_;
  methods::Chance chance_;
  std::vector<RmaTypeRef> types_;              // some, to be used again
  std::vector<std::vector<Touched>> touched_;  // by target, since its last flush
  std::vector<std::unique_ptr<RmaOp>> pending_;
};

}  // namespace rmq::testing
