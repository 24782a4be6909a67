// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Memory that is aligned as mpi_minimum_memory_alignment asks: MPI_Alloc_mem, and what windows allocate.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

bool is_aligned(const void* memory, std::uintptr_t to) {
  return memory && reinterpret_cast<std::uintptr_t>(memory) % to == 0;
}

void allocate(MPI_Info info, std::uintptr_t alignment) {
  std::vector<char*> all;
  for (int bytes = 1; bytes < 4000; bytes += 37) {
    char* memory = nullptr;
    CHECK(MPI_Alloc_mem(bytes, info, &memory) == MPI_SUCCESS && is_aligned(memory, alignment));
    std::memset(memory, 1, static_cast<std::size_t>(bytes));
    all.push_back(memory);
  }
  for (char* memory : all) MPI_Free_mem(memory);
}

void make_window(MPI_Info info, std::uintptr_t alignment) {
  const MPI_Aint bytes = 100 + check::rank();
  char* memory = nullptr;
  char text[MPI_MAX_INFO_VAL + 1] = "";
  int known = 0;
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &memory, &win);
  CHECK(is_aligned(memory, alignment));
  MPI_Info told;
  MPI_Win_get_info(win, &told);
  MPI_Info_get(told, "mpi_minimum_memory_alignment", MPI_MAX_INFO_VAL, text, &known);
  CHECK(known && std::to_string(alignment) == text);
  MPI_Info_free(&told);
  // What the other rank writes arrives at the aligned place.
  const int other = 1 - check::rank();
  const char mine = static_cast<char>(1 + check::rank());
  MPI_Win_fence(0, win);
  MPI_Put(&mine, 1, MPI_CHAR, other, 99, 1, MPI_CHAR, win);
  MPI_Win_fence(0, win);
  CHECK(memory[99] == 1 + other && memory[98] == 0);
  MPI_Win_free(&win);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const std::uintptr_t alignment : {std::uintptr_t{256}, std::uintptr_t{4096}, std::uintptr_t{1} << 16}) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", std::to_string(alignment).c_str());
    allocate(info, alignment);
    make_window(info, alignment);
    MPI_Info_free(&info);
  }
  // A value that is no power of two asks for nothing.
  MPI_Info odd;
  MPI_Info_create(&odd);
  MPI_Info_set(odd, "mpi_minimum_memory_alignment", "100");
  allocate(odd, 1);
  MPI_Info_free(&odd);
  return check::finish();
}
