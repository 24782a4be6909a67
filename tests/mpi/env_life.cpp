// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// What may be asked before MPI_Init and after MPI_Finalize; versions, clocks, memory, addresses, thread level.
#include <cstring>

#include "check.hpp"

int main(int argc, char** argv) {
  int flag = 1, version, subversion, length;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Initialized(&flag);
  const bool not_yet = !flag;
  MPI_Get_version(&version, &subversion);
  MPI_Get_library_version(text, &length);
  const bool named = std::strncmp(text, "RMQ ", 4) == 0 && static_cast<int>(std::strlen(text)) == length;
  const int gpus = MPIX_Query_cuda_support() + MPIX_Query_hip_support() + MPIX_Query_ze_support();
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &flag);
  CHECK(gpus == 0 && MPIX_Query_cuda_support() == 0);
  CHECK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_ZE, &flag) == MPI_SUCCESS && !flag);
  flag = MPI_THREAD_FUNNELED;
  CHECK(not_yet && named && version == 4 && subversion == 1 && flag == MPI_THREAD_FUNNELED);
  MPI_Initialized(&flag);
  CHECK(flag);
  MPI_Finalized(&flag);
  CHECK(!flag);
  MPI_Query_thread(&flag);
  CHECK(flag == MPI_THREAD_FUNNELED);
  MPI_Is_thread_main(&flag);
  CHECK(flag);
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Get_processor_name(name, &length);
  CHECK(length > 0 && static_cast<int>(std::strlen(name)) == length);
  const double before = MPI_Wtime();
  CHECK(MPI_Wtime() >= before && MPI_Wtick() > 0 && MPI_Wtick() < 1e-3);
  char* memory = nullptr;
  CHECK(MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory) == MPI_SUCCESS && memory);
  std::memset(memory, 1, 100000);
  MPI_Aint a, b;
  MPI_Get_address(memory, &a);
  MPI_Get_address(memory + 10, &b);
  CHECK(MPI_Aint_diff(b, a) == 10 && MPI_Aint_add(a, 10) == b);
  MPI_Free_mem(memory);
  const int result = check::finish();
  MPI_Finalized(&flag);
  return flag ? result : 2;
}
