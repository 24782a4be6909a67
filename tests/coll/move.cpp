// SPDX-License-Identifier: BSD-3-Clause
// Barrier and the collectives that move data: each member sends some member a block.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "coll/exercise.hpp"
#include "engine/coll/args.hpp"

namespace rmq::testing {
namespace {

namespace coll = mpi::coll;
using coll::Blocks;
using coll::Numbers;
using methods::Chance;

const void* in_place_address() {
  return MPI_IN_PLACE;  // NOLINT(performance-no-int-to-ptr): the ABI's number
}

class Barrier final : public Exercise {
 public:
  explicit Barrier(Team& team) : team_(team), entered_(static_cast<std::size_t>(team.members())) {}
  int call(int member) override {
    const int round = ++entered_[static_cast<std::size_t>(member)];
    const int code = coll::barrier(team_.comm(member));
    const bool left = member < team_.left();
    for (int other = 0; other < team_.members(); ++other) {
      if (team_.is_inter() && (other < team_.left()) == left) continue;  // only the other group is waited for
      if (entered_[static_cast<std::size_t>(other)] < round && fault_.empty()) {
        fault_ = fmt::format("member {} has left before member {} has come", member, other);
      }
    }
    return code;
  }
  std::string verdict() override { return fault_; }
  bool repeatable() const override { return true; }
  std::string describe() const override { return "barrier"; }

 private:
  Team& team_;
  std::vector<int> entered_;
  std::string fault_;
};

/// One side of a member's arguments.
struct Side {
  const CollType* type = nullptr;
  Area area;
  std::vector<MPI_Count> counts, places;  // of the blocks: elements; displacements of alltoallw in bytes
  std::vector<const mpi::Datatype*> types;
  long elements = 0;
};

class Move final : public Exercise {
 public:
  Move(What what, Team& team, Chance& chance, std::uint64_t budget) : what_(what), team_(team) {
    const int p = team.members();
    root_ = static_cast<int>(chance.below(static_cast<std::uint64_t>(p)));
    const bool square = what >= What::allgather;
    block_ = draw_bytes(chance, budget / static_cast<std::uint64_t>(square ? p * p : p) / 3);
    in_place_ = !team.is_inter() && what != What::bcast && chance.in(300);
    salt_ = chance.next();
    const auto types = moved_types().size();
    const auto pick = [&] {
      return &moved_types()[block_ % 8 ? 0 : chance.below(types - 1)];  // all but the first have 8 bytes
    };
    const bool nothing = chance.in(50);
    send_type_ = nothing ? &moved_types().back() : pick();
    recv_type_ = nothing || in_place_ ? send_type_ : pick();
    sends_.resize(static_cast<std::size_t>(p)), recvs_.resize(static_cast<std::size_t>(p));
    for (int m = 0; m < p; ++m) lay_out(m, chance);
  }

  int call(int m) override {
    mpi::Comm& c = team_.comm(m);
    Side& s = sends_[static_cast<std::size_t>(m)];
    Side& r = recvs_[static_cast<std::size_t>(m)];
    const int root = root_of(m);
    const bool at_root = m == root_;
    switch (what_) {
      case What::bcast:
        return coll::bcast(c, at_root ? buffer(s) : takes(m) ? buffer(r) : coll::no_buffer(), root);
      case What::gather:
        return coll::gather(c, gives(m) ? send_buffer(m) : coll::no_buffer(), at_root ? uniform(r) : coll::no_blocks(),
                            root);
      case What::gatherv:
        return coll::gatherv(c, gives(m) ? send_buffer(m) : coll::no_buffer(), at_root ? spread(r) : coll::no_blocks(),
                             root);
      case What::scatter:
        return coll::scatter(c, at_root ? uniform(s) : coll::no_blocks(), takes(m) ? recv_buffer(m) : coll::no_buffer(),
                             root);
      case What::scatterv:
        return coll::scatterv(c, at_root ? spread(s) : coll::no_blocks(), takes(m) ? recv_buffer(m) : coll::no_buffer(),
                              root);
      case What::allgather:
        return coll::allgather(c, send_buffer(m), uniform(r));
      case What::allgatherv:
        return coll::allgather(c, send_buffer(m), spread(r));
      case What::alltoall:
        return coll::alltoall(c, in_place_ ? in_place_blocks() : uniform(s), uniform(r));
      case What::alltoallv:
        return coll::alltoall(c, in_place_ ? in_place_blocks() : spread(s), spread(r));
      default:
        return coll::alltoall(c, in_place_ ? in_place_blocks() : typed(s), typed(r));
    }
  }

  std::string verdict() override {
    for (int m = 0; m < team_.members(); ++m) {
      if (const std::string f = sends_[static_cast<std::size_t>(m)].area.fault(); !f.empty())
        return fmt::format("member {}: send buffer: {}", m, f);
      if (const std::string f = recvs_[static_cast<std::size_t>(m)].area.fault(); !f.empty())
        return fmt::format("member {}: receive buffer: {}", m, f);
    }
    return {};
  }
  bool repeatable() const override { return !in_place_; }
  std::string describe() const override {
    return fmt::format("{}{} of blocks of {} bytes as {} to {}, root {}", name_of(what_), in_place_ ? " in place" : "",
                       block_, send_type_->name, recv_type_->name, root_);
  }

 private:
  bool rooted() const { return what_ < What::allgather; }
  bool same_side(int a, int b) const { return (a < team_.left()) == (b < team_.left()); }
  /// Whether a block goes from one member to the other at all.
  bool flows(int from, int to) const {
    if (team_.is_inter() && same_side(from, to)) return false;
    if (what_ == What::gather || what_ == What::gatherv) return to == root_;
    if (what_ == What::bcast || what_ == What::scatter || what_ == What::scatterv) return from == root_;
    return true;
  }
  bool gives(int m) const { return flows(m, root_); }
  bool takes(int m) const { return flows(root_, m); }
  /// Bytes from one member to another. All blocks are alike where MPI wants it.
  std::uint64_t bytes(int from, int to) const {
    const std::uint64_t unit = block_ / 8;
    const auto a = static_cast<std::uint64_t>(from), b = static_cast<std::uint64_t>(to);
    switch (what_) {
      case What::gatherv:
      case What::allgatherv:
        return block_ % 8 ? block_ * (a % 3) : unit * (a % 3) * 8;
      case What::scatterv:
        return block_ % 8 ? block_ * (b % 3) : unit * (b % 3) * 8;
      case What::alltoallv:
      case What::alltoallw:
        return block_ * ((in_place_ ? a + b : a + 2 * b) % 3);
      default:
        return block_;
    }
  }
  /// Elements of a type that are as many bytes; of types without data more than an int can count.
  static long elements(const CollType& type, std::uint64_t bytes) {
    return type.size() == 0 ? static_cast<long>(bytes) << 32 : static_cast<long>(bytes / type.size());
  }
  /// What travels. One block for all where all get the same.
  Bytes data(int from, int to) const {
    const bool same = what_ == What::bcast || what_ == What::allgather || what_ == What::allgatherv;
    Chance c(salt_ + static_cast<std::uint64_t>(from) * 100'003 + static_cast<std::uint64_t>(same ? 0 : to + 1));
    Bytes b(send_type_->size() == 0 ? 0 : bytes(from, to));
    for (std::size_t i = 0; i < b.size(); i += 8) {
      const std::uint64_t word = c.next();
      std::memcpy(b.data() + i, &word, std::min<std::size_t>(8, b.size() - i));
    }
    return b;
  }

  int rank(int m) const { return team_.comm(m).rank; }
  int root_of(int m) const {
    if (!team_.is_inter()) return root_;
    return m == root_ ? MPI_ROOT : same_side(m, root_) ? MPI_PROC_NULL : rank(root_);
  }

  /// Places the blocks for which `size(peer)` gives elements, in order of the peers.
  template <class Size>
  void place(Side& side, const CollType& type, int m, Chance& chance, Size&& size) {
    side.type = &type;
    const bool gaps = what_ == What::gatherv || what_ == What::scatterv || what_ == What::allgatherv ||
                      what_ == What::alltoallv || what_ == What::alltoallw;
    for (int peer = 0; peer < team_.members(); ++peer) {
      if (team_.is_inter() && same_side(peer, m)) continue;
      const long n = size(peer);
      if (gaps) side.elements += static_cast<long>(chance.below(3));
      side.counts.push_back(n);
      side.places.push_back(what_ == What::alltoallw ? side.elements * type.extent() : side.elements);
      side.types.push_back(&type.type);
      side.elements += n;
    }
  }
  long at(const Side& side, int peer) const {
    const MPI_Count place = side.places[static_cast<std::size_t>(rank(peer))];
    return what_ == What::alltoallw && side.type->extent() != 0 ? place / side.type->extent() : place;
  }

  void lay_out(int m, Chance& chance) {
    Side& s = sends_[static_cast<std::size_t>(m)];
    Side& r = recvs_[static_cast<std::size_t>(m)];
    s.type = send_type_, r.type = recv_type_;
    const bool one_out = what_ == What::bcast || what_ == What::gather || what_ == What::gatherv ||
                         what_ == What::allgather || what_ == What::allgatherv;
    const bool one_in = what_ == What::bcast || what_ == What::scatter || what_ == What::scatterv;
    const int peer = team_.is_inter() ? (m < team_.left() ? team_.left() : 0) : m;  // somebody to whom blocks go
    const bool out = rooted() ? (one_out ? (what_ == What::bcast ? m == root_ : gives(m)) : m == root_) : true;
    const bool in = rooted() ? (one_in ? takes(m) && !(what_ == What::bcast && m == root_) : m == root_) : true;
    if (out && one_out) s.elements = elements(*send_type_, bytes(m, rooted() ? root_ : peer));
    if (in && one_in) r.elements = elements(*recv_type_, bytes(root_, m));
    if (out && !one_out) {
      place(s, *send_type_, m, chance, [&](int to) { return elements(*send_type_, bytes(m, to)); });
    }
    if (in && !one_in) {
      place(r, *recv_type_, m, chance, [&](int from) { return elements(*recv_type_, bytes(from, m)); });
    }
    s.area = Area(*send_type_, s.elements), r.area = Area(*recv_type_, r.elements);
    const auto fill = [&](Side& side, long first, const Bytes& b, bool put) {
      const long n = side.type->size() == 0 ? 0 : static_cast<long>(b.size() / side.type->size());
      put ? side.area.put(first, b.data(), n) : side.area.expect(first, b.data(), n);
    };
    const bool exchanges = what_ == What::alltoall || what_ == What::alltoallv || what_ == What::alltoallw;
    for (int other = 0; other < team_.members(); ++other) {
      if (team_.is_inter() && same_side(m, other)) continue;
      if (in_place_ && exchanges) {
        fill(r, at(r, other), data(m, other), true);
      } else if (out && !one_out && flows(m, other)) {
        fill(s, at(s, other), data(m, other), true);
      }
    }
    if (out && one_out) fill(s, 0, data(m, rooted() && what_ != What::bcast ? root_ : peer), true);
    for (int other = 0; other < team_.members(); ++other) {
      if (!in || !flows(other, m) || (what_ == What::bcast && m == root_)) continue;
      if (one_in && other != root_) continue;
      const bool own = in_place_ && other == m && !exchanges;
      if (one_in && own) continue;  // the root keeps its block in the send buffer
      fill(r, one_in ? 0 : at(r, other), data(other, m), own);
    }
  }

  static mpi::Buffer buffer(Side& s) { return {s.area.data(), s.elements, &s.type->type}; }
  mpi::Buffer send_buffer(int m) {
    const bool aside = in_place_ && (!rooted() || m == root_);
    return aside ? coll::raw(in_place_address(), 0) : buffer(sends_[static_cast<std::size_t>(m)]);
  }
  mpi::Buffer recv_buffer(int m) {
    return in_place_ && m == root_ ? coll::raw(in_place_address(), 0) : buffer(recvs_[static_cast<std::size_t>(m)]);
  }
  static Blocks in_place_blocks() { return Blocks::uniform(in_place_address(), 0, coll::byte_type()); }
  static Blocks uniform(Side& s) { return Blocks::uniform(s.area.data(), s.counts[0], s.type->type); }
  static Blocks spread(Side& s) {
    return Blocks::spread(s.area.data(), Numbers(s.counts.data()), Numbers(s.places.data()), s.type->type);
  }
  static Blocks typed(Side& s) {
    return Blocks::typed(s.area.data(), Numbers(s.counts.data()), Numbers(s.places.data()), s.types.data());
  }

  const What what_;
  Team& team_;
  int root_;
  std::uint64_t block_;
  bool in_place_;
  std::uint64_t salt_;
  const CollType *send_type_, *recv_type_;
  std::vector<Side> sends_, recvs_;
};

}  // namespace

std::unique_ptr<Exercise> draw_move(What what, Team& team, Chance& chance, std::uint64_t budget) {
  if (what == What::barrier) return std::make_unique<Barrier>(team);
  return std::make_unique<Move>(what, team, chance, budget);
}

}  // namespace rmq::testing
