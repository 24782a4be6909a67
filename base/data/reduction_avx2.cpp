// SPDX-License-Identifier: BSD-3-Clause
// The same kernels for CPUs with AVX2. Without FMA, so that every CPU rounds alike.
#define RMQ_KERNEL_TARGET __attribute__((target("avx2")))
#include "base/data/reduction_kernels.hpp"

namespace rmq::reduction_detail {

constinit const KernelTable avx2_kernels = make_table(Types{});

}  // namespace rmq::reduction_detail
