// SPDX-License-Identifier: BSD-3-Clause
// Random MPI programs that know their right results. Every rank draws the same plan from the seed and the number of
// ranks.
//   torture --seed N [--count N] [--keep a,b,…] [--kinds a,b,…] [--late-free] [--mpi3] [--print-c] [--list]
// --keep: only these steps. --kinds: programs of these kinds of steps only, with the names of plan.cpp. --late-free: no
// communicator is freed before what it carries is complete. --mpi3: only calls that MPI 3.1 has. --print-c: prints the
// program as C, for the number of ranks it runs with. --list: the number of steps. Variables: trouble.hpp, and
// TORTURE_THREADS: some programs have threads.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

#include "plan.hpp"
#include "program.hpp"
#include "trouble.hpp"

namespace {

std::set<std::string> names(const std::string& list) {
  std::set<std::string> all;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) all.insert(word);
  return all;
}

std::set<int> numbers(const std::string& list) {
  std::set<int> all;
  for (const std::string& word : names(list)) all.insert(std::atoi(word.c_str()));
  return all;
}

struct Options {
  unsigned long seed = 1;
  long count = 1;
  bool prints = false, lists = false, keeps = false, late = false, old = MPI_VERSION < 4;
  std::set<int> kept;
  std::set<std::string> kinds;
};

Options read(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* next = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--seed") o.seed = std::strtoul(next, nullptr, 10), ++i;
    if (word == "--count") o.count = std::atol(next), ++i;
    if (word == "--keep") o.kept = numbers(next), o.keeps = true, ++i;
    if (word == "--kinds") o.kinds = names(next), ++i;
    if (word == "--print-c") o.prints = true;
    if (word == "--late-free") o.late = true;
    if (word == "--mpi3") o.old = true;
    if (word == "--list") o.lists = true;
  }
  return o;
}

/// Whether all ranks can share memory.
bool all_share(int size) {
  MPI_Comm here;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int mine, least;
  MPI_Comm_size(here, &mine);
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Comm_free(&here);
  return least == size;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = read(argc, argv);
  torture::Trouble trouble;
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, std::getenv("TORTURE_THREADS") != nullptr ? MPI_THREAD_MULTIPLE : level, &level);
  torture::tell_when_ended();
  setenv("TORTURE_PROGRAM", argv[0], 1);
  torture::be_spawned();
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  torture::World world;
  world.ranks = size;
  world.late = o.late;
  world.shares = all_share(size);
  const char* methods = std::getenv("RMQ_METHODS");
  world.keeps = world.shares && (methods == nullptr || std::string(methods).find("tcp") == std::string::npos);
  world.old = o.old;
  world.breaks = std::getenv("TORTURE_CUTS") != nullptr;
  world.threads = level == MPI_THREAD_MULTIPLE;
  world.kinds = o.kinds;
  trouble.begin(o.seed + static_cast<unsigned long>(rank));
  long calls = 0;
  for (unsigned long seed = o.seed; seed < o.seed + static_cast<unsigned long>(o.count); ++seed) {
    torture::Plan plan = torture::draw(seed, world);
    if (o.keeps) keep(plan, o.kept);
    const std::string head = "torture --seed " + std::to_string(seed);
    if (o.prints || o.lists) {
      if (rank == 0 && o.prints) std::fputs(print_c(plan, head).c_str(), stdout);
      if (rank == 0 && o.lists) std::printf("%zu steps\n", plan.steps.size());
      continue;
    }
    torture::begin_program(seed, rank, size);
    setenv("TORTURE_SEED", std::to_string(seed).c_str(), 1);
    torture::Face face(false, o.old);
    perform(plan, face, rank);
    calls += face.calls();
    MPI_Barrier(MPI_COMM_WORLD);  // a message of the next program would fit this one's wildcards
  }
  alarm(0);
  trouble.stop();
  long all = 0;
  MPI_Reduce(&calls, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && !o.prints && !o.lists) std::printf("%ld programs, %ld calls\n", o.count, all);
  MPI_Finalize();
  return 0;
}
