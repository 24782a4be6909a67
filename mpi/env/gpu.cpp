// SPDX-License-Identifier: BSD-3-Clause
// MPICH's questions about GPUs: whether buffers may lie in their memory. They may not. A program may ask at any time,
// and takes any answer but 0 for a yes: so there is no error here but for arguments.
#include <fmt/format.h>

#include "mpi/define.hpp"

namespace rmq::mpi {

RMQ_MPIX(int, Query_cuda_support, (void)) {
  return 0;
}
RMQ_MPIX(int, Query_hip_support, (void)) {
  return 0;
}
RMQ_MPIX(int, Query_ze_support, (void)) {
  return 0;
}

RMQ_MPIX(int, GPU_query_support, (int gpu_type, int* is_supported)) {
  return enter_any_time([&] {
    if (gpu_type < MPIX_GPU_SUPPORT_CUDA || gpu_type > MPIX_GPU_SUPPORT_HIP) {
      fail_call(MPI_ERR_ARG, fmt::format("invalid kind of GPU {} (argument gpu_type)", gpu_type));
    }
    *out(is_supported, "is_supported") = 0;
  });
}

}  // namespace rmq::mpi
