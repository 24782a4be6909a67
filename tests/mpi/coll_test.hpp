// SPDX-License-Identifier: BSD-3-Clause
// What the tests of collectives share: checks, a seeded source of choices, datatypes with known layouts, and memory in
// which every byte has a known value, so that a collective that writes next to its data is found out. Plain MPI: the
// same programs run with any implementation.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace coll_test {

inline int errors = 0;
inline std::string context;  // what is being tested, for messages

inline bool check(bool good, const char* what) {
  if (!good && ++errors <= 5) {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s: %s\n", rank, context.c_str(), what);
  }
  return good;
}

/// The same numbers on every rank, from COLL_SEED (default 1).
class Random {
 public:
  Random() {
    const char* seed = std::getenv("COLL_SEED");
    state_ = seed ? std::strtoull(seed, nullptr, 10) : 1;
  }
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }

 private:
  std::uint64_t state_;
};

/// A byte that depends on everything that may be mixed up: who sent it to whom, which element, which byte.
inline unsigned char data_byte(int from, int to, long element, long byte) {
  std::uint64_t h = static_cast<std::uint64_t>(from) * 0x9e3779b1u + static_cast<std::uint64_t>(to) * 0x85ebca77u +
                    static_cast<std::uint64_t>(element) * 0xc2b2ae3du + static_cast<std::uint64_t>(byte) * 0x27d4eb2fu;
  h ^= h >> 15;
  return static_cast<unsigned char>(h * 0x2c1b3c6du >> 13);
}

/// A datatype and where its bytes lie, in the order in which a message carries them.
struct Layout {
  const char* name;
  MPI_Datatype type;
  long extent;
  std::vector<long> offsets;
  long size() const { return static_cast<long>(offsets.size()); }
};

/// Blocks of 4 bytes that begin at these places.
inline std::vector<long> ints_at(const std::vector<long>& starts) {
  std::vector<long> offsets;
  for (const long start : starts) {
    for (long k = 0; k < 4; ++k) offsets.push_back(start + k);
  }
  return offsets;
}

/// All are made of MPI_INT but for one, so that counts can be chosen for which two of them describe the same message.
inline std::vector<Layout> make_layouts() {
  std::vector<Layout> all;
  all.push_back({"int", MPI_INT, 4, ints_at({0})});
  all.push_back({"double", MPI_DOUBLE, 8, ints_at({0, 4})});
  MPI_Datatype t;
  MPI_Type_contiguous(3, MPI_INT, &t);
  all.push_back({"three ints", t, 12, ints_at({0, 4, 8})});
  MPI_Type_vector(2, 1, 3, MPI_INT, &t);
  all.push_back({"vector with a gap", t, 16, ints_at({0, 12})});
  int lengths[3] = {1, 1, 1};
  MPI_Aint backwards[3] = {16, 8, 0};
  MPI_Type_create_hindexed(3, lengths, backwards, MPI_INT, &t);
  all.push_back({"backwards", t, 20, ints_at({16, 8, 0})});
  MPI_Aint negative[2] = {-8, 4};
  MPI_Type_create_hindexed(2, lengths, negative, MPI_INT, &t);
  all.push_back({"negative lower bound", t, 16, ints_at({-8, 4})});
  MPI_Type_create_resized(MPI_INT, -4, 24, &t);
  all.push_back({"wide", t, 24, ints_at({0})});
  for (std::size_t i = 2; i < all.size(); ++i) MPI_Type_commit(&all[i].type);
  return all;
}

inline void free_layouts(std::vector<Layout>& all) {
  for (std::size_t i = 2; i < all.size(); ++i) MPI_Type_free(&all[i].type);
}

/// Memory for `count` elements of a layout, with a margin on both sides, filled with a pattern.
class Area {
 public:
  Area(const Layout& layout, long count)
      : layout_(&layout),
        bytes_(static_cast<std::size_t>(kMargin + count * layout.extent + kMargin), kPattern),
        known_(bytes_) {}
  void* at(long element) { return bytes_.data() + kMargin + element * layout_->extent; }
  void* data() { return at(0); }
  /// Puts the data of a message there; `element` counts from the start of the area, `index` from the start of the
  /// block.
  void put(long element, int from, int to, long index) {
    write(bytes_, element, from, to, index), write(known_, element, from, to, index);
  }
  /// The data must arrive there.
  void expect(long element, int from, int to, long index) { write(known_, element, from, to, index); }
  void put_block(long first, long count, int from, int to) {
    for (long i = 0; i < count; ++i) put(first + i, from, to, i);
  }
  void expect_block(long first, long count, int from, int to) {
    for (long i = 0; i < count; ++i) expect(first + i, from, to, i);
  }
  /// Nothing but what was expected has changed.
  void verify(const char* what) {
    if (bytes_ == known_) return;
    std::size_t i = 0;
    while (bytes_[i] == known_[i]) ++i;
    check(false,
          (std::string(what) + ": byte " + std::to_string(static_cast<long>(i) - kMargin) + " is wrong").c_str());
  }

 private:
  static constexpr long kMargin = 64;
  static constexpr unsigned char kPattern = 0xe7;
  void write(std::vector<unsigned char>& to_bytes, long element, int from, int to, long index) {
    const long base = kMargin + element * layout_->extent;
    const long size = layout_->size();
    // By the byte's place in the message, so that different layouts of one message agree.
    for (long k = 0; k < size; ++k) {
      to_bytes[static_cast<std::size_t>(base + layout_->offsets[static_cast<std::size_t>(k)])] =
          data_byte(from, to, 0, index * size + k);
    }
  }
  const Layout* layout_;
  std::vector<unsigned char> bytes_;
  std::vector<unsigned char> known_;
};

/// Calls `test(comm)` on communicators of the first 1, 2, … ranks of the world, and in the end on one in reverse order.
template <class Test>
void for_each_comm(Test&& test) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int n = 1; n <= size + 1; ++n) {
    const bool reverse = n > size;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, reverse || rank < n ? 0 : MPI_UNDEFINED, reverse ? -rank : rank, &comm);
    if (comm == MPI_COMM_NULL) continue;
    test(comm);
    MPI_Comm_free(&comm);
  }
}

/// The end of every test program. Each rank answers for itself, by its exit code, which the launcher passes on: what is
/// tested must not carry the verdict.
inline int finish() {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (errors) std::fprintf(stderr, "rank %d: %d errors\n", rank, errors);
  MPI_Finalize();
  return errors ? 1 : 0;
}

}  // namespace coll_test
