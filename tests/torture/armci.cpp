// SPDX-License-Identifier: BSD-3-Clause
// Random ARMCI programs: each process puts into areas of its own at random targets, and gets them, in order without
// fences; it knows what they contain. Some processes stay away meanwhile.
//   torture_armci --seed N [--count PROGRAMS]
#include <armci.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "chance.hpp"
#include "program.hpp"

namespace {

long calls = 0;

void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s%s\n", torture::now, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/// The areas of one process at all others, and what they have to contain.
class Areas {
 public:
  Areas(torture::Chance& chance, int words)
      : chance_(chance), me_(armci_msg_me()), size_(armci_msg_nproc()), words_(words) {
    memory_.resize(static_cast<std::size_t>(size_));
    must(ARMCI_Malloc(memory_.data(), bytes(size_ * words_)) == 0, "ARMCI_Malloc");
    std::fill_n(mine(0), size_ * words_, 0);
    known_.assign(static_cast<std::size_t>(size_), std::vector<int>(static_cast<std::size_t>(words_), 0));
    ARMCI_Barrier();
  }
  ~Areas() {
    ARMCI_Barrier();
    must(ARMCI_Free(memory_[static_cast<std::size_t>(me_)]) == 0, "ARMCI_Free");
  }
  Areas(const Areas&) = delete;
  Areas& operator=(const Areas&) = delete;

  void step() {
    const int target = chance_.below(size_);
    const int at = chance_.below(words_);
    const int most = words_ - at;
    const int n = std::min(most, chance_.one_in(2) ? 1 + chance_.below(16) : 1 + chance_.below(most));
    ++calls;
    switch (chance_.below(6)) {
      case 0:
      case 1:
      case 2:
        return put(target, at, n);
      case 3:
        return get(target, at, n);
      case 4:
        return add(target, at, n);
      default:
        return chance_.one_in(4) ? ARMCI_Fence(target) : get(target, at, n);
    }
  }
  /// Each finds in its own memory what the others know, once all have come.
  void compare() {
    ARMCI_Barrier();
    for (int target = 0; target < size_; ++target) get(target, 0, words_);
    ARMCI_Barrier();
  }

 private:
  static int bytes(int words) { return words * static_cast<int>(sizeof(int)); }
  int* mine(int owner) { return static_cast<int*>(memory_[static_cast<std::size_t>(me_)]) + owner * words_; }
  int* there(int target, int at) {
    return static_cast<int*>(memory_[static_cast<std::size_t>(target)]) + me_ * words_ + at;
  }
  std::vector<int>& known(int target) { return known_[static_cast<std::size_t>(target)]; }
  std::vector<int> draw(int n) {
    std::vector<int> data(static_cast<std::size_t>(n));
    for (int& word : data) word = static_cast<int>(chance_.next() % 1000000);
    return data;
  }

  void put(int target, int at, int n) {
    std::vector<int> data = draw(n);
    std::copy(data.begin(), data.end(), known(target).begin() + at);
    must(ARMCI_Put(data.data(), there(target, at), bytes(n), target) == 0, "ARMCI_Put");
  }
  void add(int target, int at, int n) {
    std::vector<int> data = draw(n);
    for (int k = 0; k < n; ++k)
      known(target)[static_cast<std::size_t>(at + k)] += 3 * data[static_cast<std::size_t>(k)];
    int scale = 3;
    must(ARMCI_Acc(ARMCI_ACC_INT, &scale, data.data(), there(target, at), bytes(n), target) == 0, "ARMCI_Acc");
    if (chance_.one_in(2)) ARMCI_Fence(target);
  }
  void get(int target, int at, int n) {
    std::vector<int> data(static_cast<std::size_t>(n), -1);
    must(ARMCI_Get(there(target, at), data.data(), bytes(n), target) == 0, "ARMCI_Get");
    for (int k = 0; k < n; ++k) {
      const int want = known(target)[static_cast<std::size_t>(at + k)], is = data[static_cast<std::size_t>(k)];
      if (is == want) continue;
      std::fprintf(stderr, "process %d at %d: word %d of %d from %d is %d and should be %d\n", me_, target, k, n, at,
                   is, want);
      must(false, "contents");
    }
  }

  torture::Chance& chance_;
  int me_, size_, words_;
  std::vector<void*> memory_;
  std::vector<std::vector<int>> known_;  // of each target
};

}  // namespace

int main(int argc, char** argv) {
  const torture::Seeds seeds = torture::read_seeds(argc, argv);
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  torture::tell_when_ended();
  const int me = armci_msg_me();
  for (unsigned long program = seeds.first; program < seeds.first + seeds.count; ++program) {
    torture::begin_program(program, me, armci_msg_nproc());
    torture::Chance alike(program), own(program * 1000 + static_cast<unsigned long>(me));
    const int most = 200000 / armci_msg_nproc();  // words, of one in the memory of another
    Areas areas(own, 1 + alike.below(std::min(most, alike.of({40, 1000, 40000}))));
    const bool computes = own.one_in(3);
    for (int n = alike.below(60); n > 0; --n) {
      if (computes && own.one_in(20)) usleep(static_cast<useconds_t>(own.below(2000)));
      areas.step();
    }
    areas.compare();
  }
  alarm(0);
  if (me == 0) std::printf("%lu programs, %ld calls\n", seeds.count, calls);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
