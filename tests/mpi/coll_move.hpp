// SPDX-License-Identifier: BSD-3-Clause
// Bcast, Gather, Scatter, Allgather and their v-forms, on every layout, root and number of ranks.
#pragma once

#include "coll_test.hpp"

namespace coll_test {

class MoveSuite {
 public:
  MoveSuite(MPI_Comm comm, const Layout& layout, int count, Random& random)
      : comm_(comm), layout_(layout), count_(count) {
    MPI_Comm_rank(comm, &me_);
    MPI_Comm_size(comm, &p_);
    root_ = random.below(p_);
    // Blocks of different sizes, some empty, in an order of their own with gaps between.
    counts_.resize(static_cast<std::size_t>(p_));
    displs_.resize(static_cast<std::size_t>(p_));
    int at = 1;
    for (int i = p_ - 1; i >= 0; --i) {
      counts_[index(i)] = count > 0 && random.below(4) == 0 ? 0 : random.below(2 * count + 1);
      displs_[index(i)] = at;
      at += counts_[index(i)] + random.below(3);
    }
    room_ = at + 1;
  }

  void run() {
    bcast();
    gather();
    gatherv();
    scatter();
    scatterv();
    allgather();
    allgatherv();
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  int count(int rank) const { return counts_[index(rank)]; }
  int displ(int rank) const { return displs_[index(rank)]; }
  void name(const char* what) {
    context = std::string(what) + " of " + std::to_string(count_) + " " + layout_.name + " on " + std::to_string(p_) +
              " ranks, root " + std::to_string(root_);
  }
  bool is_root() const { return me_ == root_; }

  void bcast() {
    name("Bcast");
    Area a(layout_, count_);
    if (is_root()) {
      a.put_block(0, count_, root_, 99);
    } else {
      a.expect_block(0, count_, root_, 99);
    }
    MPI_Bcast(a.data(), count_, layout_.type, root_, comm_);
    a.verify("buffer");
  }

  void gather() {
    for (const bool in_place : {false, true}) {
      name(in_place ? "Gather in place" : "Gather");
      Area mine(layout_, count_), all(layout_, is_root() ? long{p_} * count_ : 0);
      mine.put_block(0, count_, me_, root_);
      const bool place = in_place && is_root();
      if (is_root()) {
        for (int i = 0; i < p_; ++i) all.expect_block(long{i} * count_, count_, i, root_);
        if (place) all.put_block(long{me_} * count_, count_, me_, root_);
      }
      MPI_Gather(place ? MPI_IN_PLACE : mine.data(), count_, layout_.type, all.data(), count_, layout_.type, root_,
                 comm_);
      mine.verify("sendbuf");
      all.verify("recvbuf");
    }
  }

  void gatherv() {
    for (const bool in_place : {false, true}) {
      name(in_place ? "Gatherv in place" : "Gatherv");
      Area mine(layout_, count(me_)), all(layout_, is_root() ? room_ : 0);
      mine.put_block(0, count(me_), me_, root_);
      const bool place = in_place && is_root();
      if (is_root()) {
        for (int i = 0; i < p_; ++i) all.expect_block(displ(i), count(i), i, root_);
        if (place) all.put_block(displ(me_), count(me_), me_, root_);
      }
      MPI_Gatherv(place ? MPI_IN_PLACE : mine.data(), count(me_), layout_.type, all.data(), counts_.data(),
                  displs_.data(), layout_.type, root_, comm_);
      mine.verify("sendbuf");
      all.verify("recvbuf");
    }
  }

  void scatter() {
    for (const bool in_place : {false, true}) {
      name(in_place ? "Scatter in place" : "Scatter");
      const bool place = in_place && is_root();
      Area mine(layout_, count_), all(layout_, is_root() ? long{p_} * count_ : 0);
      if (!place) mine.expect_block(0, count_, root_, me_);
      for (int i = 0; i < p_ && is_root(); ++i) all.put_block(long{i} * count_, count_, root_, i);
      MPI_Scatter(all.data(), count_, layout_.type, place ? MPI_IN_PLACE : mine.data(), count_, layout_.type, root_,
                  comm_);
      mine.verify("recvbuf");
      all.verify("sendbuf");
    }
  }

  void scatterv() {
    for (const bool in_place : {false, true}) {
      name(in_place ? "Scatterv in place" : "Scatterv");
      const bool place = in_place && is_root();
      Area mine(layout_, count(me_)), all(layout_, is_root() ? room_ : 0);
      if (!place) mine.expect_block(0, count(me_), root_, me_);
      for (int i = 0; i < p_ && is_root(); ++i) all.put_block(displ(i), count(i), root_, i);
      MPI_Scatterv(all.data(), counts_.data(), displs_.data(), layout_.type, place ? MPI_IN_PLACE : mine.data(),
                   count(me_), layout_.type, root_, comm_);
      mine.verify("recvbuf");
      all.verify("sendbuf");
    }
  }

  void allgather() {
    for (const bool in_place : {false, true}) {
      name(in_place ? "Allgather in place" : "Allgather");
      Area mine(layout_, count_), all(layout_, long{p_} * count_);
      mine.put_block(0, count_, me_, 7);
      for (int i = 0; i < p_; ++i) all.expect_block(long{i} * count_, count_, i, 7);
      if (in_place) all.put_block(long{me_} * count_, count_, me_, 7);
      MPI_Allgather(in_place ? MPI_IN_PLACE : mine.data(), count_, layout_.type, all.data(), count_, layout_.type,
                    comm_);
      mine.verify("sendbuf");
      all.verify("recvbuf");
    }
  }

  void allgatherv() {
    for (const bool in_place : {false, true}) {
      name(in_place ? "Allgatherv in place" : "Allgatherv");
      Area mine(layout_, count(me_)), all(layout_, room_);
      mine.put_block(0, count(me_), me_, 8);
      for (int i = 0; i < p_; ++i) all.expect_block(displ(i), count(i), i, 8);
      if (in_place) all.put_block(displ(me_), count(me_), me_, 8);
      MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine.data(), count(me_), layout_.type, all.data(), counts_.data(),
                     displs_.data(), layout_.type, comm_);
      mine.verify("sendbuf");
      all.verify("recvbuf");
    }
  }

  MPI_Comm comm_;
  const Layout& layout_;
  int count_;
  int me_ = 0, p_ = 0, root_ = 0;
  std::vector<int> counts_, displs_;
  long room_ = 0;  // elements that the blocks of the v-forms span
};

/// Rank i sends ints, and the others receive the same bytes as another type: 1, 50 and 4,000 of it, but no more than
/// `most`.
inline void move_between_types(MPI_Comm comm, const std::vector<Layout>& layouts, int most) {
  int me, p;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &p);
  const Layout& ints = layouts[0];
  for (std::size_t i = 2; i < layouts.size(); ++i) {
    const Layout& other = layouts[i];
    const int per = static_cast<int>(other.size() / ints.size());
    for (const int count : {1, 50, 4000}) {
      if (count > most) break;
      context = std::string("ints and ") + other.name + " on " + std::to_string(p) + " ranks";
      const Layout& mine = me % 2 ? other : ints;
      const int n = me % 2 ? count : count * per;
      Area a(mine, n);
      me == 0 ? a.put_block(0, n, 0, 1) : a.expect_block(0, n, 0, 1);
      MPI_Bcast(a.data(), n, mine.type, 0, comm);
      a.verify("Bcast");
      Area out(ints, count * per), in(other, long{p} * count);
      out.put_block(0, count * per, me, 3);
      for (int r = 0; r < p; ++r) in.expect_block(long{r} * count, count, r, 3);
      MPI_Allgather(out.data(), count * per, MPI_INT, in.data(), count, other.type, comm);
      in.verify("Allgather");
    }
  }
}

/// `counts` grow; `layouts`: how many of make_layouts().
inline void move_suite(const std::vector<int>& counts, std::size_t layouts = 100) {
  Random random;
  std::vector<Layout> all = make_layouts();
  for_each_comm([&](MPI_Comm comm) {
    Random choices = random;  // the same for members and ranks outside
    for (std::size_t i = 0; i < std::min(layouts, all.size()); ++i) {
      for (const int count : counts) MoveSuite(comm, all[i], count, choices).run();
    }
    move_between_types(comm, all, counts.back());
  });
  free_layouts(all);
}

}  // namespace coll_test
