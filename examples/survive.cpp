// SPDX-License-Identifier: BSD-3-Clause
// A computation that survives the death of its ranks (rmqrun --ft): the heat equation on a rod, cut into a piece for
// each rank. Ranks kill themselves at random, in the middle of anything. Those that are left notice, agree on it, make
// a communicator of their own, share the rod out among them anew from the latest state that all of them have kept, and
// go on. In the end the field is that of a single process, bit by bit.
//
//   rmqrun --ft -n 8 survive [seed [deaths in 1000 steps of a rank]]
//
// Each period of steps ends with a vote, whatever has happened in it: MPIX_Comm_agree says the same to all who live, so
// that either all of them keep the new state or none does.
#include <mpi.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kCells = 480, kSteps = 400, kPeriod = 20;

std::uint64_t chance = 0;
int deadly = 0;  // of 1000
bool immortal = false;

// Ends this rank as a crash would, now and then.
void risk() {
  chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
  if (!immortal && static_cast<int>(chance % 1000) < deadly) raise(SIGKILL);
}

double step_of(double left, double here, double right) {
  return here + 0.25 * (left - 2 * here + right);
}

std::vector<double> start() {
  std::vector<double> rod(kCells, 0.0);
  rod.front() = 100, rod.back() = 20;
  return rod;
}

std::vector<double> alone() {
  std::vector<double> rod = start(), next = rod;
  for (int n = 0; n < kSteps; ++n, rod = next)
    for (int i = 1; i + 1 < kCells; ++i)
      next[static_cast<std::size_t>(i)] = step_of(
          rod[static_cast<std::size_t>(i) - 1], rod[static_cast<std::size_t>(i)], rod[static_cast<std::size_t>(i) + 1]);
  return rod;
}

/// The piece of one rank: cells [first, first + count) of the rod, with a copy of a neighbour's cell at either end.
struct Piece {
  Piece(MPI_Comm comm, const std::vector<double>& rod) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    for (int r = 0; r < size_; ++r) {
      displs_.push_back(kCells * r / size_);
      counts_.push_back(kCells * (r + 1) / size_ - displs_.back());
    }
    cells_.assign(static_cast<std::size_t>(count()) + 2, 0.0);
    for (int i = 0; i < count(); ++i)
      cells_[static_cast<std::size_t>(i) + 1] = rod[static_cast<std::size_t>(first() + i)];
  }
  int first() const { return displs_[static_cast<std::size_t>(rank_)]; }
  int count() const { return counts_[static_cast<std::size_t>(rank_)]; }

  bool step() {
    const int left = rank_ > 0 ? rank_ - 1 : MPI_PROC_NULL, right = rank_ + 1 < size_ ? rank_ + 1 : MPI_PROC_NULL;
    double* const c = cells_.data();
    const int n = count();
    risk();
    if (MPI_Sendrecv(c + 1, 1, MPI_DOUBLE, left, 0, c + n + 1, 1, MPI_DOUBLE, right, 0, comm_, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS)
      return false;
    risk();
    if (MPI_Sendrecv(c + n, 1, MPI_DOUBLE, right, 1, c, 1, MPI_DOUBLE, left, 1, comm_, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS)
      return false;
    std::vector<double> next = cells_;
    for (int i = 1; i <= n; ++i) {
      const int at = first() + i - 1;
      if (at > 0 && at + 1 < kCells) next[static_cast<std::size_t>(i)] = step_of(c[i - 1], c[i], c[i + 1]);
    }
    cells_ = next;
    return true;
  }
  bool collect(std::vector<double>& rod) const {
    risk();
    return MPI_Allgatherv(cells_.data() + 1, count(), MPI_DOUBLE, rod.data(), counts_.data(), displs_.data(),
                          MPI_DOUBLE, comm_) == MPI_SUCCESS;
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0, size_ = 0;
  std::vector<int> counts_, displs_;
  std::vector<double> cells_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me, all;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  const int seed = argc > 1 ? std::atoi(argv[1]) : 1;
  deadly = argc > 2 ? std::atoi(argv[2]) : 2;
  chance = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(seed * 1000 + me + 1);
  immortal = me == seed % all;  // somebody has to tell
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);  // communicators that are made of it inherit it

  std::vector<double> kept = start(), next = kept;
  for (int done = 0; done < kSteps;) {
    Piece piece(comm, kept);
    bool good = true;
    for (int n = 0; n < kPeriod && good; ++n) good = piece.step();
    good = good && piece.collect(next);
    if (!good) MPIX_Comm_revoke(comm);  // nobody waits for this rank in vain
    risk();
    int all_good = good;
    const int agreed = MPIX_Comm_agree(comm, &all_good);
    if (all_good) {
      kept = next;
      done += kPeriod;
    }
    if (all_good && agreed == MPI_SUCCESS) continue;
    MPI_Comm smaller;
    risk();
    MPIX_Comm_shrink(comm, &smaller);
    if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
    comm = smaller;
  }

  int rank, left;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &left);
  const bool right = kept == alone();
  if (immortal) std::printf("%d of %d ranks are left: the field is %s\n", left, all, right ? "right" : "wrong");
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
  MPI_Finalize();
  return right ? 0 : 1;
}
