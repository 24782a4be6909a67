// A random program of remote memory access, drawn from a seed, and its sequential oracle.
//
// Each origin has an area of its own in every target's window, where what it does has one right outcome; the oracle
// does the same on plain memory when the operation is issued. Beside the areas lie counters that everybody adds to.
// Rounds draw an epoch (fence, post/start, locks, lock_all), operations, datatypes and sizes; after each, all windows
// must equal the oracle's. Operations that the standard lets conflict are kept apart by flushes, or left out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/reduction.hpp"
#include "methods/chance.hpp"
#include "rma/fibers.hpp"

namespace rmq::testing {

class RmaProgram {
 public:
  explicit RmaProgram(std::uint64_t seed);
  ~RmaProgram();
  /// The faults that were found; none is success.
  std::vector<std::string> run();
  std::string describe() const;

 private:
  struct Kind {  // an element type
    Basic basic;
    std::uint32_t packed, extent;
  };
  struct Shape {  // a datatype, and where its elements lie
    LayoutRef layout;
    std::uint64_t count = 1;
    std::vector<std::int64_t> elements;  // displacements, in order
    std::int64_t end = 0;                // behind the last one
  };
  struct Touched {
    std::int64_t from, to;
    int what;  // 0 get, 1 put, 2 and more: accumulate of a type
  };
  struct Pending {  // buffers of operations that are not complete, and what must come
    std::vector<std::byte> origin, result, expected;
    LayoutRef origin_layout;
    Request* request = nullptr;
  };
  struct Rank {
    methods::Chance chance{1};
    std::unique_ptr<rma::Window> window;
    std::vector<std::byte> memory;
    std::vector<std::vector<Touched>> touched;  // by target, since its last flush
    std::vector<std::unique_ptr<Pending>> pending;
  };

  void program(int me);
  void round(int me, int number);
  void fence_round(int me);
  void pscw_round(int me, std::uint64_t draw);
  void lock_round(int me);
  void lock_all_round(int me);
  void operations(int me, int target, bool may_flush);
  void one(int me, int target, bool may_flush);
  void count(int me, int target);
  void complete(int me);
  void verify(int me, int number);
  bool clear_of(int me, int target, Touched t, bool may_flush);
  void expect_none(int me, rma::Fault f, const char* what);
  Shape shape(Rank& r, const Kind& kind, std::uint64_t room);
  std::int64_t base_of(int target) const { return bases_[static_cast<std::size_t>(target)]; }
  std::int64_t disp(int target, std::int64_t offset) const { return (base_of(target) + offset) / unit_; }
  Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }

  std::uint64_t seed_;
  methods::Chance chance_;
  int n_ = 0, rounds_ = 0;
  std::int64_t area_ = 0, unit_ = 1;
  rma::Flavor flavor_ = rma::Flavor::create;
  methods::InprocRules rules_;
  std::unique_ptr<Fibers> fibers_;
  std::vector<Rank> ranks_;
  std::vector<std::int64_t> bases_;            // of dynamic windows; else 0
  std::vector<std::vector<std::byte>> model_;  // by target
  std::vector<std::vector<std::int64_t>> counts_;
  std::vector<std::string> faults_;
};

}  // namespace rmq::testing
