// SPDX-License-Identifier: BSD-3-Clause
#include "base/data/reduction_kernels.hpp"

namespace rmq::reduction_detail {

constinit const KernelTable baseline_kernels = make_table(Types{});

}  // namespace rmq::reduction_detail
