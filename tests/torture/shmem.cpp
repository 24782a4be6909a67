// Random OpenSHMEM programs: blocks of the symmetric heap come and go with any alignment, in all PEs alike; each PE
// puts into parts of its own at random PEs, and knows what they contain.
//   torture_shmem --seed N [--count PROGRAMS]
#include <shmem.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "chance.hpp"
#include "program.hpp"

namespace {

long calls = 0;

void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s%s\n", torture::now, what);
  shmem_global_exit(3);
}

/// One block of the symmetric heap: a part of it for each PE, which alone writes it, at all PEs.
struct Block {
  int* memory = nullptr;
  int part = 0;                         // words
  std::vector<std::vector<int>> known;  // what this PE's part contains, at each PE

  int* mine(int at) const { return memory + shmem_my_pe() * part + at; }
};

Block allocate(torture::Chance& alike) {
  Block block;
  const auto pes = static_cast<std::size_t>(shmem_n_pes());
  block.part = 1 + alike.below(std::min(20000 / shmem_n_pes(), alike.of({10, 300, 5000})));
  const std::size_t bytes = sizeof(int) * pes * static_cast<std::size_t>(block.part);
  const std::size_t alignment = std::size_t{8} << alike.below(14);
  switch (alike.below(3)) {
    case 0:
      block.memory = static_cast<int*>(shmem_malloc(bytes));
      break;
    case 1:
      block.memory = static_cast<int*>(shmem_calloc(bytes / 4, 4));
      break;
    default:
      block.memory = static_cast<int*>(shmem_align(alignment, bytes));
      must(reinterpret_cast<std::uintptr_t>(block.memory) % alignment == 0, "alignment");
  }
  must(block.memory != nullptr, "memory");
  std::fill_n(block.memory, bytes / sizeof(int), 0);
  block.known.assign(pes, std::vector<int>(static_cast<std::size_t>(block.part), 0));
  shmem_barrier_all();
  return block;
}

void compare(const Block& block, int pe, int at, int n) {
  std::vector<int> data(static_cast<std::size_t>(n), -1);
  shmem_int_get(data.data(), block.mine(at), data.size(), pe);
  for (int k = 0; k < n; ++k) {
    const int want = block.known[static_cast<std::size_t>(pe)][static_cast<std::size_t>(at + k)];
    const int is = data[static_cast<std::size_t>(k)];
    if (is == want) continue;
    std::fprintf(stderr, "PE %d at %d: word %d of %d from %d is %d and should be %d\n", shmem_my_pe(), pe, k, n, at, is,
                 want);
    must(false, "contents");
  }
}

void step(torture::Chance& own, Block& block) {
  const int pe = own.below(shmem_n_pes());
  const int at = own.below(block.part);
  const int n = 1 + own.below(own.one_in(2) ? 1 : block.part - at);
  ++calls;
  if (own.one_in(3)) {
    shmem_quiet();
    return compare(block, pe, at, n);
  }
  std::vector<int> data(static_cast<std::size_t>(n));
  for (int& word : data) word = static_cast<int>(own.next() % 1000000);
  std::vector<int>& known = block.known[static_cast<std::size_t>(pe)];
  if (n == 1 && own.one_in(3)) {
    known[static_cast<std::size_t>(at)] += data[0];
    shmem_quiet();
    shmem_int_atomic_add(block.mine(at), data[0], pe);
  } else {
    std::copy(data.begin(), data.end(), known.begin() + at);
    shmem_fence();  // of two puts to one place the later one stays
    shmem_int_put(block.mine(at), data.data(), data.size(), pe);
  }
}

int value(int pe, int k) {
  return 1000003 * pe + 31 * k + 7;
}

/// A collective of all PEs on memory of its own, which is right where its result is.
void together(torture::Chance& alike) {
  const int pes = shmem_n_pes(), me = shmem_my_pe();
  const int n = 1 + alike.below(alike.of({4, 100, 3000}));
  const int root = alike.below(pes);
  const auto words = static_cast<std::size_t>(n);
  auto* const out = static_cast<int*>(shmem_malloc(words * sizeof(int)));
  auto* const in = static_cast<int*>(shmem_malloc(words * sizeof(int) * static_cast<std::size_t>(pes)));
  for (int k = 0; k < n; ++k) out[k] = value(me, k);
  const int kind = alike.below(3);
  ++calls;
  if (kind == 0) must(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, in, out, words) == 0, "shmem_int_sum_reduce");
  if (kind == 1) must(shmem_int_broadcast(SHMEM_TEAM_WORLD, in, out, words, root) == 0, "shmem_int_broadcast");
  if (kind == 2) must(shmem_int_fcollect(SHMEM_TEAM_WORLD, in, out, words) == 0, "shmem_int_fcollect");
  for (int k = 0; k < n; ++k) {
    int sum = 0;
    for (int pe = 0; pe < pes; ++pe) sum += value(pe, k);
    if (kind == 0) must(in[k] == sum, "sum");
    if (kind == 1) must(in[k] == value(root, k), "broadcast");
    for (int pe = 0; kind == 2 && pe < pes; ++pe) must(in[pe * n + k] == value(pe, k), "fcollect");
  }
  std::fill_n(out, n, -1);
  shmem_free(in);
  shmem_free(out);
}

/// Each PE sends data with a signal to the next one, also with gaps at both ends.
void signalled(torture::Chance& alike) {
  const int pes = shmem_n_pes(), me = shmem_my_pe();
  const int n = 1 + alike.below(alike.of({4, 200, 20000}));
  const int to = (me + 1) % pes, from = (me + pes - 1) % pes;
  const int step = 1 + alike.below(4), apart = 1 + alike.below(4);
  const int some = std::min(n, 50);
  auto* const data = static_cast<int*>(shmem_calloc(static_cast<std::size_t>(n), sizeof(int)));
  auto* const gaps = static_cast<int*>(shmem_calloc(static_cast<std::size_t>(some * step), sizeof(int)));
  auto* const signal = static_cast<std::uint64_t*>(shmem_calloc(1, sizeof(std::uint64_t)));
  std::vector<int> mine(static_cast<std::size_t>(std::max(n, some * apart)));
  for (std::size_t k = 0; k < mine.size(); ++k) mine[k] = value(me, static_cast<int>(k));
  calls += 2;
  shmem_int_iput(gaps, mine.data(), step, apart, static_cast<std::size_t>(some), to);
  shmem_fence();
  shmem_int_put_signal(data, mine.data(), static_cast<std::size_t>(n), signal, 1, SHMEM_SIGNAL_ADD, to);
  must(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 1) == 1, "signal");
  for (int k = 0; k < n; ++k) must(data[k] == value(from, k), "data of a signal");
  for (int k = 0; k < some * step; ++k)
    must(gaps[k] == (k % step == 0 ? value(from, k / step * apart) : 0), "data with gaps");
  shmem_barrier_all();
  shmem_free(signal);
  shmem_free(gaps);
  shmem_free(data);
}

void run(torture::Chance& alike, torture::Chance& own) {
  std::vector<Block> blocks;
  for (int rounds = 1 + alike.below(12); rounds > 0; --rounds) {
    blocks.push_back(allocate(alike));
    for (int n = own.below(20); n > 0; --n)
      step(own, blocks[static_cast<std::size_t>(own.below(static_cast<int>(blocks.size())))]);
    shmem_barrier_all();
    for (const Block& block : blocks)
      for (int pe = 0; pe < shmem_n_pes(); ++pe) compare(block, pe, 0, block.part);
    shmem_barrier_all();
    if (alike.one_in(2)) together(alike);
    if (alike.one_in(2)) signalled(alike);
    if (!alike.one_in(3)) continue;
    const int gone = alike.below(static_cast<int>(blocks.size()));
    shmem_free(blocks[static_cast<std::size_t>(gone)].memory);
    blocks.erase(blocks.begin() + gone);
  }
  for (const Block& block : blocks) shmem_free(block.memory);
}

/// Something of the program's own lies at all addresses that are tried for the heap.
void take_addresses() {
  constexpr std::uintptr_t kMega = 1024 * 1024;
  for (std::uintptr_t i = 0; i < 8; ++i)
    mmap(reinterpret_cast<void*>(0x100000000000 + i * 0x080000000000 - kMega), 4 * kMega, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const torture::Seeds seeds = torture::read_seeds(argc, argv);
  if (torture::Chance(seeds.first).one_in(3)) take_addresses();
  shmem_init();
  torture::tell_when_ended();
  const int me = shmem_my_pe();
  for (unsigned long program = seeds.first; program < seeds.first + seeds.count; ++program) {
    torture::begin_program(program, me, shmem_n_pes());
    torture::Chance alike(program), own(program * 1000 + static_cast<unsigned long>(me));
    run(alike, own);
  }
  alarm(0);
  if (me == 0) std::printf("%lu programs, %ld calls\n", seeds.count, calls);
  shmem_finalize();
  return 0;
}
