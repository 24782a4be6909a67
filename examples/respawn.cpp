// SPDX-License-Identifier: BSD-3-Clause
// A computation that loses ranks and replaces them (rmqrun --ft): the heat equation on a rod, as in survive.cpp, on as
// many ranks from its first step to its last. Ranks kill themselves at random, in the middle of anything, also of the
// repair. Those that are left make a communicator of their own (MPIX_Comm_shrink), start as many new processes as are
// missing (MPI_Comm_spawn), become one group with them (MPI_Intercomm_merge), tell them how far all have come, and go
// on. In the end the field is that of a single process, bit by bit.
//
//   rmqrun --ft -n 4 respawn [seed [deaths in 1000 steps of a rank]]
//
// Members of the first world, and whoever has been told the state since, come first in each communicator: so rank 0
// always has it.
#include <mpi.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int kCells = 240, kSteps = 200, kPeriod = 20;

std::uint64_t chance = 0;
int deadly = 0;  // of 1000
bool immortal = false;
int seed = 1, wanted = 0;
int started = 0;  // processes that have been started in place of others, as far as this one knows
const char* program = nullptr;

// Ends this rank as a crash would, now and then.
void risk() {
  chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
  if (!immortal && static_cast<int>(chance % 1000) < deadly) raise(SIGKILL);
}

double step_of(double left, double here, double right) {
  return here + 0.25 * (left - 2 * here + right);
}

/// What all have computed together so far; of a process that has come later nothing yet.
struct State {
  int done = 0;
  std::vector<double> rod = std::vector<double>(kCells, 0.0);
};

State start() {
  State s;
  s.rod.front() = 100, s.rod.back() = 20;
  return s;
}

std::vector<double> alone() {
  std::vector<double> rod = start().rod, next = rod;
  for (int n = 0; n < kSteps; ++n, rod = next)
    for (std::size_t i = 1; i + 1 < rod.size(); ++i) next[i] = step_of(rod[i - 1], rod[i], rod[i + 1]);
  return rod;
}

/// Some steps of all ranks from the state of rank 0. False: something has failed; the state is what it was, or that of
/// rank 0.
bool advance(MPI_Comm comm, State& state) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  State s = state;
  int numbers[] = {s.done, started};
  if (MPI_Bcast(numbers, 2, MPI_INT, 0, comm) != MPI_SUCCESS) return false;
  if (MPI_Bcast(s.rod.data(), kCells, MPI_DOUBLE, 0, comm) != MPI_SUCCESS) return false;
  s.done = numbers[0], started = numbers[1];
  std::vector<int> counts, firsts;
  for (int r = 0; r < size; ++r) {
    firsts.push_back(kCells * r / size);
    counts.push_back(kCells * (r + 1) / size - firsts.back());
  }
  const auto me = static_cast<std::size_t>(rank);
  const int first = firsts[me], n = counts[me];
  std::vector<double> c(static_cast<std::size_t>(n) + 2);  // with a copy of a neighbour's cell at either end
  for (int i = 0; i < n; ++i) c[static_cast<std::size_t>(i) + 1] = s.rod[static_cast<std::size_t>(first + i)];
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  for (int step = 0; step < kPeriod; ++step) {
    risk();
    if (MPI_Sendrecv(&c[1], 1, MPI_DOUBLE, left, 0, c.data() + n + 1, 1, MPI_DOUBLE, right, 0, comm,
                     MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return false;
    if (MPI_Sendrecv(c.data() + n, 1, MPI_DOUBLE, right, 1, c.data(), 1, MPI_DOUBLE, left, 1, comm,
                     MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return false;
    std::vector<double> next = c;
    for (int i = 1; i <= n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (first + i > 1 && first + i < kCells) next[at] = step_of(c[at - 1], c[at], c[at + 1]);
    }
    c = next;
  }
  risk();
  if (MPI_Allgatherv(&c[1], n, MPI_DOUBLE, s.rod.data(), counts.data(), firsts.data(), MPI_DOUBLE, comm) != MPI_SUCCESS)
    return false;
  s.done += kPeriod;
  state = s;
  return true;
}

void free_comm(MPI_Comm& comm) {
  if (comm != MPI_COMM_WORLD && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

/// Those of `comm` who live, and new processes in the place of the others.
MPI_Comm repaired(MPI_Comm comm) {
  for (;;) {
    MPI_Comm living, inter = MPI_COMM_NULL, all = MPI_COMM_NULL;
    risk();
    if (MPIX_Comm_shrink(comm, &living) != MPI_SUCCESS) std::abort();
    free_comm(comm);
    int size;
    MPI_Comm_size(living, &size);
    if (size == wanted) return living;
    const int missing = wanted - size;
    started += missing;
    std::string words[] = {std::to_string(seed), std::to_string(deadly), std::to_string(wanted),
                           std::to_string(started)};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    risk();
    if (MPI_Comm_spawn(program, arguments, missing, MPI_INFO_NULL, 0, living, &inter, MPI_ERRCODES_IGNORE) ==
        MPI_SUCCESS) {
      MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
      risk();
      MPI_Intercomm_merge(inter, 0, &all);  // all who live come to the same
      free_comm(inter);
    }
    comm = living;
    if (all == MPI_COMM_NULL) continue;
    free_comm(living);
    return all;
  }
}

/// This process has been started in the place of another.
MPI_Comm joined(MPI_Comm parents) {
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_set_errhandler(parents, MPI_ERRORS_RETURN);
  risk();
  // Where it has failed the others start new ones.
  if (MPI_Intercomm_merge(parents, 1, &all) != MPI_SUCCESS) std::_Exit(1);
  free_comm(parents);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  program = argv[0];
  seed = argc > 1 ? std::atoi(argv[1]) : 1;
  deadly = argc > 2 ? std::atoi(argv[2]) : 4;
  MPI_Init(&argc, &argv);
  MPI_Comm parents, comm = MPI_COMM_WORLD;
  int me;
  MPI_Comm_get_parent(&parents);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &wanted);
  const bool first = parents == MPI_COMM_NULL;
  if (!first) wanted = std::atoi(argv[3]), started = std::atoi(argv[4]);
  chance = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(seed * 1000 + started * 50 + me + 1);
  immortal = first && me == seed % wanted;           // somebody has to tell
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);  // communicators that are made of it inherit it
  if (!first) comm = joined(parents);

  State state = start();
  bool over = false;
  while (!over) {
    State next = state;
    int good = advance(comm, next);
    if (!good) MPIX_Comm_revoke(comm);  // nobody waits for this rank in vain
    risk();
    const int agreed = MPIX_Comm_agree(comm, &good);
    if (good) state = next;
    over = state.done == kSteps;
    if (!over && (!good || agreed != MPI_SUCCESS)) comm = repaired(comm);
  }

  const bool right = state.rod == alone();
  if (immortal)
    std::printf("%d ranks, %d of them started anew: the field is %s\n", wanted, started, right ? "right" : "wrong");
  free_comm(comm);
  MPI_Finalize();
  return right ? 0 : 1;
}
