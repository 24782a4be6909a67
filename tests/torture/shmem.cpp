// Random OpenSHMEM programs: blocks of the symmetric heap come and go with any alignment, in all PEs alike; each PE
// puts into parts of its own at random PEs, and knows what they contain.
//   torture_shmem --seed N [--count PROGRAMS]
#include <shmem.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "chance.hpp"

namespace {

char now[80];  // which program runs, for whoever ends it
long calls = 0;

void tell(int) {
  ssize_t ignored = write(2, now, sizeof now);
  (void)ignored;
  _exit(4);
}

void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s%s\n", now, what);
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
  block.part = 1 + alike.below(alike.of({10, 300, 5000}));
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
  unsigned long seed = 1, count = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--seed") seed = std::strtoul(argv[i + 1], nullptr, 10);
    if (std::string(argv[i]) == "--count") count = std::strtoul(argv[i + 1], nullptr, 10);
  }
  if (torture::Chance(seed).one_in(3)) take_addresses();
  shmem_init();
  signal(SIGALRM, tell);
  signal(SIGTERM, tell);
  const int me = shmem_my_pe();
  for (unsigned long program = seed; program < seed + count; ++program) {
    alarm(60);
    std::snprintf(now, sizeof now, "hangs or fails: seed %lu, PE %d: ", program, me);
    torture::Chance alike(program), own(program * 1000 + static_cast<unsigned long>(me));
    run(alike, own);
  }
  alarm(0);
  if (me == 0) std::printf("%lu programs, %ld calls\n", count, calls);
  shmem_finalize();
  return 0;
}
