// SPDX-License-Identifier: BSD-3-Clause
// The accesses of a schedule: which store a load reads, and what a mutant makes of them.
#include <algorithm>
#include <cstring>

#include "run.hpp"

namespace rmq::explore {
namespace {

constexpr std::size_t kOlder = 3;    // stores before the newest that a load may bring
constexpr unsigned kStaleOneIn = 4;  // random schedules: how often a load brings one of them

const char* name(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    default:
      return "seq_cst";
  }
}

}  // namespace

std::uint64_t updated(Update what, std::uint64_t old, std::uint64_t operand) {
  switch (what) {
    case Update::exchange:
      break;
    case Update::add:
      return old + operand;
    case Update::subtract:
      return old - operand;
    case Update::bit_and:
      return old & operand;
    case Update::bit_or:
      return old | operand;
    case Update::bit_xor:
      return old ^ operand;
  }
  return operand;
}

std::size_t Run::pick(std::size_t location, std::memory_order order) {
  const std::size_t newest = memory.history(location).size() - 1;
  const std::size_t n = std::min(newest - memory.oldest(now(), location, order), kOlder) + 1;
  if (n == 1 || threads_[now()].fresh || (!choices.random() && stale_ >= bounds_.stale)) return newest;
  const std::size_t back = choices.next(n, kStaleOneIn);
  if (back != 0) ++stale_;
  return newest - back;
}

void Run::put(std::size_t location, void* at, std::size_t bytes, std::uint64_t value, std::memory_order order,
              const View* base) {
  memory.write(now(), location, value, order, base);
  std::memcpy(at, &value, bytes);
  stored();
}

std::uint64_t Run::load(const void* at, std::size_t bytes, std::memory_order order, const Where& where) {
  point();
  if (site_.is(where, Change::relaxed)) order = std::memory_order_relaxed;
  const std::size_t l = memory.location(at, bytes);
  const std::size_t index = pick(l, order);
  const std::uint64_t value = memory.read(now(), l, index, order);
  tell(&where, "#{} load {:#x} {}, {} stores old", l, value, name(order), memory.history(l).size() - 1 - index);
  return value;
}

void Run::store(void* at, std::size_t bytes, std::uint64_t value, std::memory_order order, const Where& where) {
  point();
  if (site_.is(where, Change::skipped)) return;
  if (site_.is(where, Change::relaxed)) order = std::memory_order_relaxed;
  const std::size_t l = memory.location(at, bytes);
  put(l, at, bytes, value, order, nullptr);
  tell(&where, "#{} store {:#x} {}", l, value, name(order));
}

std::uint64_t Run::update(void* at, std::size_t bytes, Update what, std::uint64_t operand, std::memory_order order,
                          const Where& where) {
  point();
  if (site_.is(where, Change::relaxed)) order = std::memory_order_relaxed;
  const std::size_t l = memory.location(at, bytes);
  const View base = memory.history(l).back().view;
  const std::uint64_t old = memory.read(now(), l, memory.history(l).size() - 1, order);
  std::uint64_t value = updated(what, old, operand);
  if (bytes < sizeof value) value &= (std::uint64_t{1} << 8 * bytes) - 1;
  if (site_.is(where, Change::skipped)) return old;
  if (site_.is(where, Change::torn)) point();
  put(l, at, bytes, value, order, &base);
  tell(&where, "#{} update {:#x} -> {:#x} {}", l, old, value, name(order));
  return old;
}

bool Run::compare_exchange(void* at, std::size_t bytes, std::uint64_t& expected, std::uint64_t desired,
                           std::memory_order success, std::memory_order failure, const Where& where) {
  point();
  if (site_.is(where, Change::relaxed)) success = failure = std::memory_order_relaxed;
  const std::size_t l = memory.location(at, bytes);
  const std::vector<Store>& stores = memory.history(l);
  // Only the newest store can be exchanged; to fail, an older one that differs does as well.
  std::size_t index = pick(l, failure);
  if (stores[index].value == expected) index = stores.size() - 1;
  const bool same = stores[index].value == expected || site_.is(where, Change::blind);
  if (!same) {
    expected = memory.read(now(), l, index, failure);
    tell(&where, "#{} compare-exchange fails on {:#x}", l, expected);
    return false;
  }
  const View base = stores.back().view;
  memory.read(now(), l, stores.size() - 1, success);
  if (site_.is(where, Change::torn)) point();
  put(l, at, bytes, desired, success, &base);
  tell(&where, "#{} compare-exchange {:#x} -> {:#x} {}", l, expected, desired, name(success));
  return true;
}

void Run::fence(std::memory_order order, const Where& where) {
  point();
  if (site_.is(where, Change::skipped)) return;
  memory.fence(now(), order);
  tell(&where, "fence {}", name(order));
}

void Run::light_fence(const Where& where) {
  point();
  if (site_.is(where, Change::skipped)) return;
  memory.light_fence(now());
  tell(&where, "light fence");
}

void Run::heavy_fence(const Where& where) {
  point();
  if (site_.is(where, Change::skipped)) return;
  memory.heavy_fence(now());
  tell(&where, "heavy fence");
}

}  // namespace rmq::explore
