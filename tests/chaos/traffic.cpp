// SPDX-License-Identifier: BSD-3-Clause
// chaos_traffic --seed N --steps N [--memory BYTES] [--descriptors N] [--only STEP]: random MPI traffic that checks
// itself, as the ranks of chaos (main.cpp). `--memory` and `--descriptors` limit each rank from before MPI_Init on;
// `--only` draws but one kind of step, to look at it closely.
//
// All ranks draw the same steps from the seed, and each knows what every message of every rank holds. At the end rank 0
// prints "traffic: N steps right". What is wrong is told with rank and step, and ends the job with exit code 98.
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "methods/chance.hpp"

namespace {

using rmq::methods::Chance;
using Bytes = std::vector<unsigned char>;

constexpr int kWrong = 98, kNoMemory = 97;

int me, size, step;
const char* what = "";

[[noreturn]] void wrong(const char* detail, std::int64_t a, std::int64_t b) {
  std::fprintf(stderr, "traffic: WRONG: rank %d, step %d (%s): %s (%" PRId64 ", %" PRId64 ")\n", me, step, what, detail,
               a, b);
  MPI_Abort(MPI_COMM_WORLD, kWrong);
  std::abort();
}

// The memory that this program itself wants is not the library's business.
void give_up() {
  std::fprintf(stderr, "traffic: rank %d has no memory left for its own data\n", me);
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) MPI_Abort(MPI_COMM_WORLD, kNoMemory);
  std::_Exit(kNoMemory);
}

void expect(bool good, const char* detail, std::int64_t a = 0, std::int64_t b = 0) {
  if (!good) wrong(detail, a, b);
}

/// The data of one message: everybody can tell it from step, sender, receiver and number.
Bytes data_of(int from, int to, int number, std::size_t bytes) {
  Chance chance(static_cast<std::uint64_t>(step) << 40 ^ static_cast<std::uint64_t>(from) << 28 ^
                static_cast<std::uint64_t>(to) << 16 ^ static_cast<std::uint64_t>(number));
  Bytes out(bytes);
  std::size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    const std::uint64_t word = chance.next();
    std::memcpy(&out[at], &word, 8);
  }
  for (; at < bytes; ++at) out[at] = static_cast<unsigned char>(chance.next());
  return out;
}

void check(const Bytes& got, int from, int to, int number) {
  const Bytes expected = data_of(from, to, number, got.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != expected[i])
      wrong("byte differs: which, of how many", static_cast<std::int64_t>(i), static_cast<std::int64_t>(got.size()));
}

/// Sizes around the limits of the protocols: a packet's line, eager, a fragment, a ring, credit.
std::size_t draw_size(Chance& chance, std::size_t most) {
  static constexpr std::array<std::size_t, 16> edges = {0,     1,     32,    64,     512,    4096,   8192,    16384,
                                                        32768, 65536, 99999, 131072, 262144, 524288, 1000000, 4000000};
  const std::size_t edge = edges[chance.below(edges.size())];
  const std::size_t bytes = edge + chance.below(5) - (edge >= 2 ? 2 : 0);
  return bytes <= most ? bytes : chance.below(most + 1);
}

int count_of(const Bytes& data) {
  return static_cast<int>(data.size());
}

// ---- steps; each draws alike on every rank ----

void ring(Chance& chance) {
  const int shift = static_cast<int>(chance.between(1, static_cast<std::uint64_t>(size) - 1));
  const int to = (me + shift) % size, from = (me - shift + size) % size;
  for (int i = static_cast<int>(chance.between(1, 8)); i > 0; --i) {
    const std::size_t bytes = draw_size(chance, 4 << 20);
    const Bytes out = data_of(me, to, i, bytes);
    Bytes in(bytes);
    MPI_Sendrecv(out.data(), count_of(out), MPI_BYTE, to, i, in.data(), count_of(in), MPI_BYTE, from, i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check(in, from, me, i);
  }
}

void everybody(Chance& chance) {
  const bool synchronous = chance.in(300);
  std::vector<Bytes> in(static_cast<std::size_t>(size)), out(in.size());
  std::vector<MPI_Request> requests;
  for (int a = 0; a < size; ++a) {
    for (int b = 0; b < size; ++b) {
      const std::size_t bytes = draw_size(chance, 1 << 20);
      if (a == me) {
        Bytes& data = out[static_cast<std::size_t>(b)] = data_of(a, b, 0, bytes);
        (synchronous ? MPI_Issend : MPI_Isend)(data.data(), count_of(data), MPI_BYTE, b, 5, MPI_COMM_WORLD,
                                               &requests.emplace_back());
      }
      if (b == me) {
        Bytes& data = in[static_cast<std::size_t>(a)] = Bytes(bytes);
        MPI_Irecv(data.data(), count_of(data), MPI_BYTE, a, 5, MPI_COMM_WORLD, &requests.emplace_back());
      }
    }
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (int a = 0; a < size; ++a) check(in[static_cast<std::size_t>(a)], a, me, 0);
}

// Messages pile up at one rank, which takes them from anybody, those of each sender in order.
void flood(Chance& chance) {
  const int tag = 1000 + step;  // who is done may be in the next flood
  const int root = static_cast<int>(chance.below(static_cast<std::uint64_t>(size)));
  const int messages = static_cast<int>(chance.between(1, 200));
  const std::size_t bytes = draw_size(chance, 20000);
  const auto pause = static_cast<useconds_t>(chance.below(3000));
  if (me != root) {
    for (int i = 0; i < messages; ++i) {
      const Bytes out = data_of(me, root, i, bytes);
      MPI_Send(out.data(), count_of(out), MPI_BYTE, root, tag, MPI_COMM_WORLD);
    }
    return;
  }
  ::usleep(pause);
  std::vector<int> next(static_cast<std::size_t>(size));
  Bytes in(bytes);
  for (int left = messages * (size - 1); left > 0; --left) {
    MPI_Status status;
    MPI_Recv(in.data(), count_of(in), MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    check(in, status.MPI_SOURCE, me, next[static_cast<std::size_t>(status.MPI_SOURCE)]++);
  }
}

// The receiver wants the last message first.
void backwards(Chance& chance) {
  const int to = (me + 1) % size, from = (me - 1 + size) % size;
  const int messages = static_cast<int>(chance.between(2, 60));
  const std::size_t bytes = draw_size(chance, 70000);
  std::vector<Bytes> out;
  std::vector<MPI_Request> requests(static_cast<std::size_t>(messages));
  for (int i = 0; i < messages; ++i) {
    out.push_back(data_of(me, to, i, bytes));
    MPI_Isend(out.back().data(), count_of(out.back()), MPI_BYTE, to, 100 + i, MPI_COMM_WORLD,
              &requests[static_cast<std::size_t>(i)]);
  }
  for (int i = messages - 1; i >= 0; --i) {
    MPI_Status status;
    MPI_Probe(from, 100 + i, MPI_COMM_WORLD, &status);
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(count == static_cast<int>(bytes), "size that a probe tells", count, static_cast<std::int64_t>(bytes));
    Bytes in(bytes);
    MPI_Recv(in.data(), count, MPI_BYTE, from, 100 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(in, from, me, i);
  }
  MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
}

void strided(Chance& chance) {
  const int blocks = static_cast<int>(chance.between(1, 3000)), block = static_cast<int>(chance.between(1, 40));
  const int to = (me + 1) % size, from = (me - 1 + size) % size;
  MPI_Datatype type;
  MPI_Type_vector(blocks, block, block * 2, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  const auto bytes = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(block);
  const Bytes out = data_of(me, to, 0, bytes);
  Bytes in(bytes * 2);
  MPI_Sendrecv(out.data(), count_of(out), MPI_BYTE, to, 7, in.data(), 1, type, from, 7, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  const Bytes expected = data_of(from, me, 0, bytes);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t b = i / static_cast<std::size_t>(block);
    const unsigned char due = b % 2 == 0 ? expected[i - b / 2 * static_cast<std::size_t>(block)] : 0;
    expect(in[i] == due, "byte of a vector differs: which", static_cast<std::int64_t>(i));
  }
  MPI_Type_free(&type);
}

void collectives(Chance& chance) {
  const auto n = static_cast<std::size_t>(chance.pick({1, 2, 100, 5000, 40000}));
  const int root = static_cast<int>(chance.below(static_cast<std::uint64_t>(size)));
  const int count = static_cast<int>(n);
  std::vector<std::int64_t> mine(n), sum(n);
  for (std::size_t i = 0; i < n; ++i) mine[i] = static_cast<std::int64_t>(i) * (me + 1);
  MPI_Allreduce(mine.data(), sum.data(), count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  const std::int64_t ranks = static_cast<std::int64_t>(size) * (size + 1) / 2;
  for (std::size_t i = 0; i < n; ++i)
    expect(sum[i] == static_cast<std::int64_t>(i) * ranks, "sum", sum[i], static_cast<std::int64_t>(i) * ranks);

  Bytes all = data_of(root, root, 1, n * 4);
  if (me != root) all.assign(all.size(), 0);
  MPI_Bcast(all.data(), count_of(all), MPI_BYTE, root, MPI_COMM_WORLD);
  check(all, root, root, 1);

  Bytes to_all, from_all(n * static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) {
    const Bytes part = data_of(me, r, 2, n);
    to_all.insert(to_all.end(), part.begin(), part.end());
  }
  MPI_Request request;
  MPI_Ialltoall(to_all.data(), count, MPI_BYTE, from_all.data(), count, MPI_BYTE, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < size; ++r) {
    const auto at = from_all.begin() + static_cast<std::ptrdiff_t>(n) * r;
    check(Bytes(at, at + static_cast<std::ptrdiff_t>(n)), r, me, 2);
  }
}

// Everybody puts, counts and reads in everybody's memory.
void window(Chance& chance) {
  const std::size_t bytes = draw_size(chance, 100000) + 1;
  const std::size_t slots = bytes * static_cast<std::size_t>(size);
  const bool by_locks = chance.in(500);
  unsigned char* base = nullptr;
  MPI_Win win;
  MPI_Win_allocate(static_cast<MPI_Aint>(slots + 8), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  std::memset(base, 0, slots + 8);
  MPI_Barrier(MPI_COMM_WORLD);
  const MPI_Aint counter = static_cast<MPI_Aint>(slots), slot = static_cast<MPI_Aint>(bytes) * me;
  const std::int64_t one = 1;
  std::int64_t before = 0;
  std::vector<Bytes> out;
  if (by_locks)
    MPI_Win_lock_all(0, win);
  else
    MPI_Win_fence(0, win);
  for (int r = 0; r < size; ++r) {
    out.push_back(data_of(me, r, 3, bytes));
    MPI_Put(out.back().data(), count_of(out.back()), MPI_BYTE, r, slot, count_of(out.back()), MPI_BYTE, win);
    MPI_Accumulate(&one, 8, MPI_BYTE, r, counter, 8, MPI_BYTE, MPI_REPLACE, win);
  }
  if (by_locks) {
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);  // everybody has replaced
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, counter, MPI_SUM, win);
    MPI_Win_unlock_all(win);
  } else {
    MPI_Win_fence(0, win);
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, counter, MPI_SUM, win);
    MPI_Win_fence(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect(before >= 1 && before <= size, "what a counter held", before, size);
  const int next = (me + 1) % size;
  Bytes theirs(slots + 8);
  MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
  MPI_Get(theirs.data(), count_of(theirs), MPI_BYTE, next, 0, count_of(theirs), MPI_BYTE, win);
  MPI_Win_unlock(next, win);
  for (int r = 0; r < size; ++r) {
    const auto at = theirs.begin() + static_cast<std::ptrdiff_t>(bytes) * r;
    check(Bytes(at, at + static_cast<std::ptrdiff_t>(bytes)), r, next, 3);
  }
  std::int64_t total = 0;
  std::memcpy(&total, &theirs[slots], 8);
  expect(total == (next == 0 ? size + 1 : 1), "the counter in the end", total, next);
  MPI_Win_free(&win);
}

// One rank computes, or is late, while the others wait.
void late(Chance& chance) {
  const int who = static_cast<int>(chance.below(static_cast<std::uint64_t>(size)));
  const auto pause = static_cast<useconds_t>(chance.below(20000));
  if (who == me) ::usleep(pause);
  MPI_Barrier(MPI_COMM_WORLD);
}

struct Step {
  const char* name;
  void (*run)(Chance&);
};
constexpr Step kSteps[] = {
    {"ring", ring},       {"everybody", everybody},     {"flood", flood},   {"backwards", backwards},
    {"strided", strided}, {"collectives", collectives}, {"window", window}, {"late", late}};

void limit(__rlimit_resource resource, const char* number) {
  const rlim_t most = std::strtoull(number, nullptr, 10);
  const rlimit both{most, most};
  ::setrlimit(resource, &both);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = 1;
  int steps = 20;
  const char* only = "";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--steps") == 0) steps = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    if (std::strcmp(argv[i], "--memory") == 0) limit(RLIMIT_AS, argv[i + 1]);
    if (std::strcmp(argv[i], "--descriptors") == 0) limit(RLIMIT_NOFILE, argv[i + 1]);
  }
  std::set_new_handler(give_up);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) {
    std::fprintf(stderr, "chaos_traffic: needs two ranks or more\n");
    return 2;
  }
  Chance chance(seed);
  for (step = 0; step < steps; ++step) {
    const Step* next = &kSteps[chance.below(std::size(kSteps))];
    for (const Step& s : kSteps)
      if (std::strcmp(s.name, only) == 0) next = &s;
    what = next->name;
    Chance own(chance.next());  // a step may draw as much as it likes
    next->run(own);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) std::printf("traffic: %d steps right\n", steps);
  MPI_Finalize();
  return 0;
}
