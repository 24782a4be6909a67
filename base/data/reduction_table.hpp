// SPDX-License-Identifier: BSD-3-Clause
// The kernels of reduce(), one table per instruction set. Private to base/.
#pragma once

#include <array>
#include <cstddef>

#include "base/data/reduction.hpp"

namespace rmq::reduction_detail {

/// inout[i] = in[i] op inout[i]; any alignment, no overlap.
using Kernel = void (*)(const void* in, void* inout, std::size_t count);
/// inout[i] += scale * in[i]; the same.
using ScaledKernel = void (*)(const void* scale, const void* in, void* inout, std::size_t count);

inline constexpr std::size_t kOps = 15;    // enumerators of ReduceOp
inline constexpr std::size_t kTypes = 31;  // one more than the largest enumerator of Basic

struct KernelTable {
  std::array<std::array<Kernel, kTypes>, kOps> kernels{};  // [op][type]; null: not defined
  std::array<ScaledKernel, kTypes> scaled{};               // null: not defined
  std::array<std::size_t, kTypes> sizes{};                 // bytes of one element in memory; 0: no arithmetic
};

extern const KernelTable baseline_kernels;  // any x86-64
extern const KernelTable avx2_kernels;      // to be called only where the CPU has AVX2

}  // namespace rmq::reduction_detail
