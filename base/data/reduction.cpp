// SPDX-License-Identifier: BSD-3-Clause
#include "base/data/reduction.hpp"

#include "base/data/copy.hpp"
#include "base/data/reduction_table.hpp"
#include "base/error.hpp"

namespace rmq {
namespace {

using reduction_detail::KernelTable;

reduction_detail::Kernel find(const KernelTable& table, ReduceOp op, Basic type) {
  const auto row = static_cast<std::size_t>(op);
  const auto column = static_cast<std::size_t>(type);
  if (row >= table.kernels.size() || column >= table.sizes.size()) return nullptr;
  return table.kernels[row][column];
}

const KernelTable& kernels() {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  return has_avx2 ? reduction_detail::avx2_kernels : reduction_detail::baseline_kernels;
}

}  // namespace

bool reduce_defined(ReduceOp op, Basic type) {
  if (op == ReduceOp::replace || op == ReduceOp::no_op) return true;
  return find(reduction_detail::baseline_kernels, op, type) != nullptr;
}

void reduce(ReduceOp op, Basic type, const void* in, void* inout, std::size_t count) {
  if (op == ReduceOp::no_op || count == 0) return;
  if (op == ReduceOp::replace) {
    const std::size_t size = basic_size(type);
    copy_bytes(inout, in, size == 0 ? count : count * size);
    return;
  }
  const auto kernel = find(kernels(), op, type);
  RMQ_CHECK(kernel != nullptr);
  kernel(in, inout, count);
}

void reduce_scaled(Basic type, const void* scale, const void* in, void* inout, std::size_t count) {
  const KernelTable& table = kernels();
  const auto column = static_cast<std::size_t>(type);
  const auto kernel = column < table.scaled.size() ? table.scaled[column] : nullptr;
  RMQ_CHECK(kernel != nullptr);
  kernel(scale, in, inout, count);
}

std::size_t basic_size(Basic type) {
  const auto column = static_cast<std::size_t>(type);
  const KernelTable& table = reduction_detail::baseline_kernels;
  if (type == Basic::packed) return 1;
  return column < table.sizes.size() ? table.sizes[column] : 0;
}

std::optional<std::uint32_t> basic_packed_size(Basic type) {
  switch (type) {
    case Basic::none:
    case Basic::character:
      return 0;
    case Basic::i16_i32:
      return 6;
    case Basic::f64_i32:
    case Basic::i64_i32:
      return 12;
    case Basic::f80_i32:
      return 20;
    default:
      break;
  }
  const std::size_t size = basic_size(type);
  return size == 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(size));
}

}  // namespace rmq
