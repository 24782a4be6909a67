// SPDX-License-Identifier: BSD-3-Clause
#include "engine/object/contexts.hpp"

#include <algorithm>
#include <iterator>

namespace rmq::mpi {
namespace {

constexpr std::uint32_t kFirstOwn = 2 * 64 * kContextWords;

struct Free {
  std::uint64_t mask[kContextWords];
  std::uint32_t next_own = kFirstOwn;  // contexts of this process alone
  std::vector<std::uint32_t> own;
  Free() {
    std::fill(std::begin(mask), std::end(mask), ~std::uint64_t{0});
    mask[0] &= ~std::uint64_t{3};  // MPI_COMM_WORLD and MPI_COMM_SELF
  }
};
Free& all() {
  static Free* const contexts = new Free;  // never destroyed, like the runtime
  return *contexts;
}

std::uint64_t bit_of(std::uint32_t context) {
  return std::uint64_t{1} << (context / 2 % 64);
}

}  // namespace

std::span<const std::uint64_t, kContextWords> free_contexts() {
  return all().mask;
}

void take_context(std::uint32_t context) {
  all().mask[context / 2 / 64] &= ~bit_of(context);
}

std::uint32_t take_own_context() {
  Free& f = all();
  if (f.own.empty()) {
    f.next_own += 2;
    return f.next_own - 2;
  }
  const std::uint32_t context = f.own.back();
  f.own.pop_back();
  return context;
}

void free_context(std::uint32_t context) {
  if (context >= kFirstOwn) {
    all().own.push_back(context);
  } else {
    all().mask[context / 2 / 64] |= bit_of(context);
  }
}

}  // namespace rmq::mpi
