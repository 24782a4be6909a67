// SPDX-License-Identifier: BSD-3-Clause
// Random OpenSHMEM programs: blocks of the symmetric heap come and go with any alignment, in all PEs alike, beside
// blocks of static memory; each PE puts into parts of its own at random PEs, and knows what they contain.
//   torture_shmem --seed N [--count PROGRAMS]
#include <shmem.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "chance.hpp"
#include "program.hpp"
#include "statics.hpp"

namespace {

long calls = 0;

void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s%s\n", torture::now, what);
  shmem_global_exit(3);
}

/// Symmetric memory: of the heap, or static, here and in libraries.
alignas(64) int here[2][kStaticWords];
struct Static {
  int* memory;
  bool taken = false;
};
std::vector<Static>& statics() {
  static std::vector<Static> all{{&here[0][0]},      {&here[1][0]},      {torture_data_1()}, {torture_data_2()},
                                 {torture_data_3()}, {torture_data_4()}, {torture_data_5()}, {torture_data_6()}};
  return all;
}

int* static_memory(torture::Chance& alike, std::size_t words) {
  Static& one = statics()[static_cast<std::size_t>(alike.below(static_cast<int>(statics().size())))];
  if (one.taken || words > kStaticWords) return nullptr;
  one.taken = true;
  return one.memory;
}

int* memory_for(torture::Chance& alike, std::size_t words) {
  int* const fixed = alike.one_in(3) ? static_memory(alike, words) : nullptr;
  auto* const memory = fixed ? fixed : static_cast<int*>(shmem_malloc(words * sizeof(int)));
  must(memory != nullptr, "memory");
  return memory;
}

void release(int* memory) {
  for (Static& one : statics())
    if (memory == one.memory) {
      shmem_barrier_all();  // as shmem_free
      one.taken = false;
      return;
    }
  shmem_free(memory);
}

/// All PEs meet, and what they have put is there: by a barrier, or by a function of the heap, which is one too.
void meet(torture::Chance& alike) {
  if (alike.one_in(2)) return shmem_barrier_all();
  void* const memory =
      alike.one_in(2) ? shmem_malloc(1 + static_cast<std::size_t>(alike.below(5000))) : shmem_align(64, 8);
  must(memory != nullptr, "memory");
  shmem_free(memory);
}

/// One block of symmetric memory: a part of it for each PE, which alone writes it, at all PEs.
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
      block.memory = memory_for(alike, bytes / sizeof(int));
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

void compare(torture::Chance& own, const Block& block, int pe, int at, int n) {
  std::vector<int> data(static_cast<std::size_t>(n), -1);
  const int way = own.below(4);
  if (way == 0) {
    shmem_int_get_nbi(data.data(), block.mine(at), data.size(), pe);
    shmem_quiet();
  } else if (way == 1 && n <= 20) {
    for (int k = 0; k < n; ++k) data[static_cast<std::size_t>(k)] = shmem_int_g(block.mine(at + k), pe);
  } else {
    shmem_int_get(data.data(), block.mine(at), data.size(), pe);
  }
  for (int k = 0; k < n; ++k) {
    const int want = block.known[static_cast<std::size_t>(pe)][static_cast<std::size_t>(at + k)];
    const int is = data[static_cast<std::size_t>(k)];
    if (is == want) continue;
    std::fprintf(stderr, "PE %d at %d: word %d of %d from %d is %d and should be %d\n", shmem_my_pe(), pe, k, n, at, is,
                 want);
    must(false, "contents");
  }
}

/// Changes one word of this PE's part there atomically.
void change(torture::Chance& own, int* word, int& known, int by, int pe) {
  const int was = known;
  shmem_quiet();
  switch (own.below(5)) {
    case 0:
      known += by;
      return shmem_int_atomic_add(word, by, pe);
    case 1:
      known += by;
      return must(shmem_int_atomic_fetch_add(word, by, pe) == was, "shmem_int_atomic_fetch_add");
    case 2:
      known = by;
      return must(shmem_int_atomic_swap(word, by, pe) == was, "shmem_int_atomic_swap");
    case 3:
      if (own.one_in(2)) known = by;
      return must(shmem_int_atomic_compare_swap(word, known == by ? was : was + 1, by, pe) == was,
                  "shmem_int_atomic_compare_swap");
    default:
      known = by;
      return shmem_int_atomic_set(word, by, pe);
  }
}

void put(torture::Chance& own, int* there, std::vector<int>& data, int pe) {
  const std::size_t n = data.size();
  shmem_ctx_t context = SHMEM_CTX_DEFAULT;
  shmem_fence();  // of two puts to one place the later one stays
  switch (own.below(6)) {
    case 0:
      shmem_int_put_nbi(there, data.data(), n, pe);
      return shmem_quiet();
    case 1:
      shmem_quiet();
      if (shmem_ctx_create(own.one_in(2) ? SHMEM_CTX_SERIALIZED : SHMEM_CTX_PRIVATE, &context) != 0)
        return put(own, there, data, pe);
      shmem_ctx_int_put_nbi(context, there, data.data(), n, pe);
      shmem_ctx_quiet(context);
      return shmem_ctx_destroy(context);
    case 2:
      for (std::size_t k = 0; k < std::min<std::size_t>(n, 20); ++k) shmem_int_p(there + k, data[k], pe);
      if (n > 20) shmem_putmem(there + 20, &data[20], (n - 20) * sizeof(int), pe);
      return;
    default:
      shmem_int_put(there, data.data(), n, pe);
  }
}

void step(torture::Chance& own, Block& block) {
  const int pe = own.below(shmem_n_pes());
  const int at = own.below(block.part);
  const int n = 1 + own.below(own.one_in(2) ? 1 : block.part - at);
  ++calls;
  if (own.one_in(3)) {
    shmem_quiet();
    return compare(own, block, pe, at, n);
  }
  std::vector<int> data(static_cast<std::size_t>(n));
  for (int& word : data) word = static_cast<int>(own.next() % 1000000);
  std::vector<int>& known = block.known[static_cast<std::size_t>(pe)];
  if (n == 1 && own.one_in(2)) return change(own, block.mine(at), known[static_cast<std::size_t>(at)], data[0], pe);
  std::copy(data.begin(), data.end(), known.begin() + at);
  put(own, block.mine(at), data, pe);
  std::fill(data.begin(), data.end(), -1);  // a put has left its source, however it goes
}

int value(int pe, int k) {
  return 10007 * pe + 31 * k + 7;
}

/// A collective of some PEs, of which this one is `me`, on memory of its own, which is right where its result is.
void collect_in(torture::Chance& alike, shmem_team_t team, int* in, int* out, int n) {
  const int pes = shmem_team_n_pes(team), me = shmem_team_my_pe(team);
  const auto words = static_cast<std::size_t>(n);
  const int root = alike.below(pes), kind = alike.below(8);
  const int apart = 1 + alike.below(3), step = 1 + alike.below(3);  // of alltoalls
  const auto is = [&](int at, int want, const char* what) { must(in[at] == want, what); };
  int filled = 0;
  const auto fill = [&](int many) {
    for (int k = 0; k < many; ++k) out[k] = value(me, k);
    filled = many;
  };
  ++calls;
  fill(n);
  switch (kind) {
    case 0:
    case 1:
      must((kind == 0 ? shmem_int_sum_reduce(team, in, out, words) : shmem_int_max_reduce(team, in, out, words)) == 0,
           "reduce");
      for (int k = 0; k < n; ++k) {
        int sum = 0;
        for (int pe = 0; pe < pes; ++pe) sum = kind == 0 ? sum + value(pe, k) : std::max(sum, value(pe, k));
        is(k, sum, "reduce");
      }
      break;
    case 2:  // into where it comes from
      must(shmem_int_min_reduce(team, out, out, words) == 0, "reduce");
      for (int k = 0; k < n; ++k) must(out[k] == value(0, k), "reduce in place");
      break;
    case 3:
      must(shmem_int_broadcast(team, in, out, words, root) == 0, "broadcast");
      for (int k = 0; k < n; ++k) is(k, value(root, k), "broadcast");
      break;
    case 4:
      must(shmem_int_fcollect(team, in, out, words) == 0, "fcollect");
      for (int pe = 0; pe < pes; ++pe)
        for (int k = 0; k < n; ++k) is(pe * n + k, value(pe, k), "fcollect");
      break;
    case 5: {  // of some PEs nothing
      const auto part = [&](int pe) { return pe % 3 == 1 ? 0 : n - pe % std::min(n, 3); };
      must(shmem_int_collect(team, in, out, static_cast<std::size_t>(part(me))) == 0, "collect");
      for (int pe = 0, at = 0; pe < pes; at += part(pe++))
        for (int k = 0; k < part(pe); ++k) is(at + k, value(pe, k), "collect");
      break;
    }
    case 6: {
      const int each = std::max(1, n / pes);
      fill(each * pes);
      must(shmem_int_alltoall(team, in, out, static_cast<std::size_t>(each)) == 0, "alltoall");
      for (int pe = 0; pe < pes; ++pe)
        for (int k = 0; k < each; ++k) is(pe * each + k, value(pe, me * each + k), "alltoall");
      break;
    }
    default: {
      const int each = std::max(1, n / pes / 3);
      fill(each * pes * step);
      std::fill_n(in, each * pes * apart, -2);
      shmem_team_sync(team);
      must(shmem_int_alltoalls(team, in, out, apart, step, static_cast<std::size_t>(each)) == 0, "alltoalls");
      for (int pe = 0; pe < pes; ++pe)
        for (int k = 0; k < each * apart; ++k)
          is(pe * each * apart + k, k % apart == 0 ? value(pe, (me * each + k / apart) * step) : -2, "alltoalls");
    }
  }
  std::fill_n(out, filled, -1);  // a call that is over has left its source
}

/// Collectives of all PEs, or of some that are a team.
void together(torture::Chance& alike) {
  const int pes = shmem_n_pes();
  const int n = 1 + alike.below(alike.of({4, 100, pes > 9 ? 300 : 3000}));
  const auto room = static_cast<std::size_t>(std::max(n, 3) * pes * 3);
  int *const out = memory_for(alike, room), *const in = memory_for(alike, room);
  shmem_team_t team = SHMEM_TEAM_WORLD;
  const bool some = alike.one_in(2);
  if (some) {
    const int first = alike.below(pes), stride = 1 + alike.below(3),
              size = 1 + alike.below((pes - 1 - first) / stride + 1);
    const int failed = shmem_team_split_strided(SHMEM_TEAM_WORLD, first, stride, size, nullptr, 0, &team);
    const int me = shmem_my_pe() - first;
    const bool in_it = me >= 0 && me % stride == 0 && me / stride < size;
    must((team != SHMEM_TEAM_INVALID) == in_it && (!in_it || failed == 0), "shmem_team_split_strided");
  }
  torture::Chance theirs(static_cast<unsigned long>(alike.next()));
  for (int rounds = 1 + alike.below(3); rounds > 0 && team != SHMEM_TEAM_INVALID; --rounds) {
    collect_in(theirs, team, in, out, n);
    shmem_team_sync(team);
  }
  if (some && team != SHMEM_TEAM_INVALID) shmem_team_destroy(team);
  shmem_barrier_all();
  release(in);
  release(out);
}

/// All count: by atomics, and under a lock.
void counted(torture::Chance& alike) {
  static long lock;
  const int pes = shmem_n_pes(), owner = alike.below(pes), times = 1 + alike.below(pes > 9 ? 2 : 20);
  int* const counters = memory_for(alike, 2);
  counters[0] = counters[1] = 0;
  shmem_barrier_all();
  for (int i = 0; i < times; ++i) {
    ++calls;
    const int before = shmem_int_atomic_fetch_inc(counters, owner);
    must(before >= 0 && before < times * pes, "shmem_int_atomic_fetch_inc");
    if (i > 2) continue;
    shmem_set_lock(&lock);
    shmem_int_p(counters + 1, shmem_int_g(counters + 1, owner) + 1, owner);
    shmem_quiet();
    shmem_clear_lock(&lock);
  }
  shmem_barrier_all();
  must(shmem_int_g(counters, owner) == times * pes, "counted by atomics");
  must(shmem_int_g(counters + 1, owner) == std::min(times, 3) * pes, "counted under a lock");
  shmem_barrier_all();
  release(counters);
}

/// Each PE sends data with a signal to the next one, also with gaps at both ends.
void signalled(torture::Chance& alike) {
  const int pes = shmem_n_pes(), me = shmem_my_pe();
  const int n = 1 + alike.below(alike.of({4, 200, 20000}));
  const int to = (me + 1) % pes, from = (me + pes - 1) % pes;
  const int step = 1 + alike.below(4), apart = 1 + alike.below(4);
  const int some = std::min(n, 50);
  int* const data = memory_for(alike, static_cast<std::size_t>(n));
  auto* const gaps = static_cast<int*>(shmem_calloc(static_cast<std::size_t>(some * step), sizeof(int)));
  int* const word = memory_for(alike, 2);
  auto* const signal = reinterpret_cast<std::uint64_t*>(word);
  *signal = 0;
  std::fill_n(data, n, -1);
  shmem_barrier_all();
  std::vector<int> mine(static_cast<std::size_t>(std::max(n, some * apart)));
  for (std::size_t k = 0; k < mine.size(); ++k) mine[k] = value(me, static_cast<int>(k));
  calls += 2;
  shmem_int_iput(gaps, mine.data(), step, apart, static_cast<std::size_t>(some), to);
  shmem_fence();
  if (alike.one_in(2)) {
    shmem_int_put_signal(data, mine.data(), static_cast<std::size_t>(n), signal, 1, SHMEM_SIGNAL_ADD, to);
  } else {
    shmem_int_put_signal_nbi(data, mine.data(), static_cast<std::size_t>(n), signal, 1, SHMEM_SIGNAL_SET, to);
  }
  must(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 1) == 1, "signal");
  for (int k = 0; k < n; ++k) must(data[k] == value(from, k), "data of a signal");
  for (int k = 0; k < some * step; ++k)
    must(gaps[k] == (k % step == 0 ? value(from, k / step * apart) : 0), "data with gaps");
  shmem_barrier_all();
  release(word);
  shmem_free(gaps);
  release(data);
}

/// Memory is freed while the next PE still puts there, and given again: nothing of that comes behind.
void handed_on(torture::Chance& alike) {
  const auto n = static_cast<std::size_t>(1 + alike.below(alike.of({10, 3000, 300000})));
  const int pes = shmem_n_pes(), me = shmem_my_pe(), to = (me + 1) % pes, from = (me + pes - 1) % pes;
  auto* const first = static_cast<int*>(shmem_malloc(n * sizeof(int)));
  must(first != nullptr, "memory");
  std::vector<int> data(n, value(me, 1));
  ++calls;
  shmem_int_put_nbi(first, data.data(), n, to);
  if (alike.one_in(2)) {
    shmem_free(first);
    std::fill(data.begin(), data.end(), -2);  // complete
    auto* const second = static_cast<int*>(shmem_malloc(n * sizeof(int)));
    must(second != nullptr, "memory");
    std::fill_n(second, n, me);
    shmem_int_put_nbi(second, data.data(), n / 2, me);
    meet(alike);
    for (std::size_t k = 0; k < n; ++k) must(second[k] == (k < n / 2 ? -2 : me), "memory that is given again");
    return shmem_free(second);
  }
  void* const other = shmem_calloc(3, 5);
  std::fill(data.begin(), data.end(), -2);
  for (std::size_t k = 0; k < n; ++k) must(first[k] == value(from, 1), "a put before an allocation");
  shmem_free(other);
  shmem_free(first);
}

/// A child has static memory as it was when the fork began, and changes its own.
void forked() {
  static int number;
  int* const far = torture_data_6();
  const int was = far[0];
  for (int i = 0; i < 3; ++i) {
    number = i;
    const pid_t child = ::fork();
    if (child == 0) {
      const bool right = number == i && far[0] == was;
      far[0] = number = -1;
      ::_exit(right ? 0 : 1);
    }
    number = -1;
    int status = -1;
    must(child > 0 && ::waitpid(child, &status, 0) == child && status == 0, "static memory of a child");
    must(number == -1 && far[0] == was, "static memory after a fork");
  }
}

void run(torture::Chance& alike, torture::Chance& own) {
  std::vector<Block> blocks;
  for (int rounds = 1 + alike.below(12); rounds > 0; --rounds) {
    blocks.push_back(allocate(alike));
    for (int n = own.below(20); n > 0; --n)
      step(own, blocks[static_cast<std::size_t>(own.below(static_cast<int>(blocks.size())))]);
    meet(alike);
    for (const Block& block : blocks)
      for (int pe = 0; pe < shmem_n_pes(); ++pe) compare(own, block, pe, 0, block.part);
    shmem_barrier_all();
    if (alike.one_in(2)) together(alike);
    if (alike.one_in(2)) signalled(alike);
    if (alike.one_in(3)) counted(alike);
    if (alike.one_in(3)) handed_on(alike);
    if (alike.one_in(20) && own.one_in(shmem_n_pes())) forked();
    if (!alike.one_in(3)) continue;
    const int gone = alike.below(static_cast<int>(blocks.size()));
    release(blocks[static_cast<std::size_t>(gone)].memory);
    blocks.erase(blocks.begin() + gone);
  }
  for (const Block& block : blocks) release(block.memory);
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
