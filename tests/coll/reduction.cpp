// SPDX-License-Identifier: BSD-3-Clause
// The collectives that combine.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "coll/exercise.hpp"
#include "engine/coll/args.hpp"

namespace rmq::testing {
namespace {

namespace coll = mpi::coll;
using methods::Chance;

class Reducing final : public Exercise {
 public:
  Reducing(What what, Team& team, Chance& chance, std::uint64_t budget)
      : what_(what), team_(team), op_(reductions()[chance.below(reductions().size())]) {
    const int p = team.members();
    const long most = static_cast<long>(budget / (3 * static_cast<std::uint64_t>(p) * op_.type->size())) + 2;
    root_ = static_cast<int>(chance.below(static_cast<std::uint64_t>(p)));
    in_place_ = !team.is_inter() && chance.in(400);
    if (chance.in(300)) {  // around the number of ranks, and what does not divide by it
      count_ =
          p * static_cast<long>(chance.below(4)) + static_cast<long>(chance.below(static_cast<std::uint64_t>(p) + 2));
    } else {
      count_ =
          static_cast<long>(draw_bytes(chance, static_cast<std::uint64_t>(most) * op_.type->size()) / op_.type->size());
    }
    count_ = std::min(count_, most);
    const std::vector<int> sizes = team.is_inter() ? std::vector{team.left(), p - team.left()} : std::vector{p};
    if (what == What::reduce_scatter_block) {  // equal blocks, of as many elements in all in both groups
      const long unit = std::lcm(static_cast<long>(sizes.front()), static_cast<long>(sizes.back()));
      count_ = count_ / unit * unit;
    }
    for (const int ranks : sizes) blocks_.push_back(share_out(ranks, what == What::reduce_scatter, chance));
    ins_.resize(static_cast<std::size_t>(p));
    outs_.assign(static_cast<std::size_t>(p), Area(*op_.type, count_));
    for (int side = 0; side < (team.is_inter() ? 2 : 1); ++side) lay_out(side);
  }

  int call(int m) override {
    mpi::Comm& c = team_.comm(m);
    const coll::Reduction r{op_.op, const_cast<mpi::Datatype&>(op_.type->type), count_, *c.device};
    const void* in = in_place_ && !(what_ == What::reduce && m != root_) ? in_place_address() : area(ins_, m).data();
    void* out = has_result(m) ? area(outs_, m).data() : nullptr;
    switch (what_) {
      case What::reduce:
        return coll::reduce(c, in, out, r, root_of(m));
      case What::allreduce:
        return coll::allreduce(c, in, out, r);
      case What::scan:
        return coll::scan(c, in, out, r);
      case What::exscan:
        return coll::exscan(c, in, out, r);
      default:
        return coll::reduce_scatter(c, in, out, r, coll::Numbers(blocks_of(m).data()));
    }
  }

  std::string verdict() override {
    for (int m = 0; m < team_.members(); ++m) {
      if (const std::string f = area(ins_, m).fault(); !f.empty()) return fmt::format("member {}: operands: {}", m, f);
      if (const std::string f = area(outs_, m).fault(); !f.empty()) return fmt::format("member {}: result: {}", m, f);
    }
    return {};
  }
  bool repeatable() const override { return !in_place_; }
  std::string describe() const override {
    return fmt::format("{}{} of {} {}, root {}", name_of(what_), in_place_ ? " in place" : "", count_, op_.name, root_);
  }

 private:
  static const void* in_place_address() {
    return MPI_IN_PLACE;  // NOLINT(performance-no-int-to-ptr): the ABI's number
  }
  static Area& area(std::vector<Area>& all, int m) { return all[static_cast<std::size_t>(m)]; }
  int root_of(int m) const {
    if (!team_.is_inter()) return root_;
    const bool mine = (m < team_.left()) == (root_ < team_.left());
    return m == root_ ? MPI_ROOT : mine ? MPI_PROC_NULL : team_.comm(root_).rank;
  }
  /// The elements for each rank of a group, some of them none.
  std::vector<MPI_Count> share_out(int ranks, bool uneven, Chance& chance) const {
    std::vector<MPI_Count> blocks;
    long left = count_;
    for (int i = 0; i < ranks; ++i) {
      long n = count_ / ranks;
      if (uneven) n = chance.in(250) ? 0 : n + static_cast<long>(chance.below(3));
      if (i + 1 == ranks) n = left;
      blocks.push_back(std::min(n, left));
      left -= blocks.back();
    }
    return blocks;
  }
  const std::vector<MPI_Count>& blocks_of(int m) const { return m < team_.left() ? blocks_.front() : blocks_.back(); }
  bool has_result(int m) const { return what_ != What::reduce || m == root_; }

  /// Operands of the members of one group, and what comes of them there or in the other.
  void lay_out(int side) {
    const int first = side == 0 ? 0 : team_.left(), last = side == 0 ? team_.left() : team_.members();
    const std::size_t size = op_.type->size();
    const auto n = static_cast<std::size_t>(count_);
    Bytes sum(n * size), operands(n * size);
    for (int m = first; m < last; ++m) {
      for (std::size_t i = 0; i < n; ++i) op_.operand(m, static_cast<long>(i), operands.data() + i * size);
      const bool in_out = in_place_ && has_result(m);
      area(ins_, m) = Area(*op_.type, in_out ? 0 : count_);
      if (!in_out) area(ins_, m).put(0, operands.data(), count_);
      if (in_out) area(outs_, m).put(0, operands.data(), count_);
      if (what_ == What::exscan && m > first) area(outs_, m).expect(0, sum.data(), count_);
      for (std::size_t i = 0; i < n; ++i) {
        std::uint8_t* const at = sum.data() + i * size;
        if (m == first) {
          std::copy_n(operands.data() + i * size, size, at);
        } else {
          op_.combine(at, operands.data() + i * size, at);
        }
      }
      if (what_ == What::scan) area(outs_, m).expect(0, sum.data(), count_);
    }
    deliver(side, sum);
  }

  void deliver(int side, const Bytes& sum) {
    const bool other = team_.is_inter() && side == 0;  // whether the second group gets it
    const int first = other ? team_.left() : 0;
    const int last = team_.is_inter() && !other ? team_.left() : team_.members();
    long at = 0;
    for (int m = first; m < last; ++m) {
      if (what_ == What::allreduce || (what_ == What::reduce && m == root_)) {
        area(outs_, m).expect(0, sum.data(), count_);
      } else if (what_ == What::reduce_scatter || what_ == What::reduce_scatter_block) {
        const long n = blocks_of(m)[static_cast<std::size_t>(m - first)];
        area(outs_, m).expect(0, sum.data() + static_cast<std::size_t>(at) * op_.type->size(), n);
        if (in_place_) area(outs_, m).ignore(n, count_ - n);
        at += n;
      }
    }
  }

  const What what_;
  Team& team_;
  const CollOp& op_;
  int root_;
  long count_;
  bool in_place_;
  std::vector<std::vector<MPI_Count>> blocks_;  // of reduce_scatter, by group
  std::vector<Area> ins_, outs_;
};

}  // namespace

std::unique_ptr<Exercise> draw_reduction(What what, Team& team, Chance& chance, std::uint64_t budget) {
  return std::make_unique<Reducing>(what, team, chance, budget);
}

}  // namespace rmq::testing
