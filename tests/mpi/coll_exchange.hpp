// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, Alltoallv, Alltoallw.
#pragma once

#include "coll_test.hpp"

namespace coll_test {

class ExchangeSuite {
 public:
  ExchangeSuite(MPI_Comm comm, const std::vector<Layout>& layouts, std::size_t which, int count, Random& random)
      : comm_(comm), layouts_(layouts), layout_(layouts[which]), count_(count) {
    MPI_Comm_rank(comm, &me_);
    MPI_Comm_size(comm, &p_);
    counts_.resize(static_cast<std::size_t>(p_ * p_));
    for (int& c : counts_) c = random.below(3) == 0 ? 0 : random.below(2 * count + 1);
  }

  void run() {
    alltoall();
    alltoallv();
    alltoallw();
  }

 private:
  /// Elements from one rank to another; in place, MPI wants as many the other way.
  int between(int from, int to, bool in_place) const {
    if (in_place && from > to) std::swap(from, to);
    return counts_[static_cast<std::size_t>(from * p_ + to)];
  }
  void name(const char* what, bool in_place) {
    context = std::string(what) + (in_place ? " in place of " : " of ") + std::to_string(count_) + " " + layout_.name +
              " on " + std::to_string(p_) + " ranks";
  }

  void alltoall() {
    for (const bool in_place : {false, true}) {
      name("Alltoall", in_place);
      Area out(layout_, long{p_} * count_), in(layout_, long{p_} * count_);
      for (int i = 0; i < p_; ++i) (in_place ? in : out).put_block(long{i} * count_, count_, me_, i);
      for (int i = 0; i < p_; ++i) in.expect_block(long{i} * count_, count_, i, me_);
      MPI_Alltoall(in_place ? MPI_IN_PLACE : out.data(), count_, layout_.type, in.data(), count_, layout_.type, comm_);
      out.verify("sendbuf");
      in.verify("recvbuf");
    }
  }

  struct Side {
    std::vector<int> counts, displs;
    long room = 0;
  };
  Side side(bool sends, bool in_place) const {
    Side s;
    for (int i = 0; i < p_; ++i) {
      s.counts.push_back(sends ? between(me_, i, in_place) : between(i, me_, in_place));
      s.displs.push_back(static_cast<int>(s.room));
      s.room += s.counts.back() + (i % 2);
    }
    return s;
  }

  void alltoallv() {
    for (const bool in_place : {false, true}) {
      name("Alltoallv", in_place);
      const Side to = side(true, in_place), from = side(false, in_place);
      Area out(layout_, to.room), in(layout_, from.room);
      for (int i = 0; i < p_; ++i) {
        const auto k = static_cast<std::size_t>(i);
        if (in_place) {
          in.put_block(from.displs[k], from.counts[k], me_, i);
        } else {
          out.put_block(to.displs[k], to.counts[k], me_, i);
        }
        in.expect_block(from.displs[k], from.counts[k], i, me_);
      }
      MPI_Alltoallv(in_place ? MPI_IN_PLACE : out.data(), to.counts.data(), to.displs.data(), layout_.type, in.data(),
                    from.counts.data(), from.displs.data(), layout_.type, comm_);
      out.verify("sendbuf");
      in.verify("recvbuf");
    }
  }

  /// Every pair of ranks has a type of its own; displacements are bytes.
  void alltoallw() {
    for (const bool in_place : {false, true}) {
      name("Alltoallw", in_place);
      const auto layout_of = [&](int a, int b) -> const Layout& {
        return layouts_[static_cast<std::size_t>(a + b) % layouts_.size()];
      };
      // One area for each other rank; their distance in memory becomes the displacement, so one must hold them all:
      // bytes.
      struct Piece {
        std::vector<int> counts, displs;
        std::vector<MPI_Datatype> types;
        std::vector<unsigned char> bytes, known;
      };
      constexpr int kMargin = 32;
      const auto build = [&](bool sends) {
        Piece s;
        int at = kMargin;
        for (int i = 0; i < p_; ++i) {
          const Layout& l = layout_of(me_, i);
          s.counts.push_back(sends ? between(me_, i, in_place) : between(i, me_, in_place));
          s.types.push_back(l.type);
          s.displs.push_back(at);
          at += static_cast<int>((s.counts.back() * l.extent + 2 * kMargin + 7) / 8 * 8);
        }
        s.bytes.assign(static_cast<std::size_t>(at), 0xe7);
        s.known = s.bytes;
        return s;
      };
      const auto write = [&](std::vector<unsigned char>& bytes, const Piece& s, int i, int from, int to) {
        const Layout& l = layout_of(me_, i);
        const auto k = static_cast<std::size_t>(i);
        for (long e = 0; e < s.counts[k]; ++e) {
          for (long b = 0; b < l.size(); ++b) {
            bytes[static_cast<std::size_t>(s.displs[k] + e * l.extent + l.offsets[static_cast<std::size_t>(b)])] =
                data_byte(from, to, e, b);
          }
        }
      };
      Piece out = build(true), in = build(false);
      for (int i = 0; i < p_; ++i) {
        if (in_place) {
          write(in.bytes, in, i, me_, i);
        } else {
          write(out.bytes, out, i, me_, i), write(out.known, out, i, me_, i);
        }
        write(in.known, in, i, i, me_);
      }
      MPI_Alltoallw(in_place ? MPI_IN_PLACE : out.bytes.data(), out.counts.data(), out.displs.data(), out.types.data(),
                    in.bytes.data(), in.counts.data(), in.displs.data(), in.types.data(), comm_);
      check(out.bytes == out.known, "sendbuf has changed");
      check(in.bytes == in.known, "recvbuf is wrong");
    }
  }

  MPI_Comm comm_;
  const std::vector<Layout>& layouts_;
  const Layout& layout_;
  int count_;
  int me_ = 0, p_ = 0;
  std::vector<int> counts_;  // [from * p + to], for the v- and w-forms
};

/// `tried`: how many of make_layouts().
inline void exchange_suite(const std::vector<int>& counts, std::size_t tried = 100) {
  Random random;
  std::vector<Layout> layouts = make_layouts();
  for_each_comm([&](MPI_Comm comm) {
    Random choices = random;  // the same for members and ranks outside
    for (std::size_t which = 0; which < std::min(tried, layouts.size()); ++which) {
      for (const int count : counts) ExchangeSuite(comm, layouts, which, count, choices).run();
    }
  });
  free_layouts(layouts);
}

}  // namespace coll_test
