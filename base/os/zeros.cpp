// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/zeros.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace rmq::os {
namespace {

constexpr std::size_t kLine = 64;
// From here on pages of their own: shorter ones would be given whole.
constexpr std::size_t kMapped = 32 * 1024;

}  // namespace

void* take_zeros(std::size_t bytes) {
  if (bytes < kMapped) {
    const std::size_t lines = (bytes + kLine) / kLine;
    void* const memory = std::aligned_alloc(kLine, lines * kLine);
    if (!memory) throw std::bad_alloc();
    return std::memset(memory, 0, lines * kLine);
  }
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);  // one write would take two megabytes
  return memory;
}

void give_zeros(void* memory, std::size_t bytes) {
  if (bytes < kMapped)
    std::free(memory);
  else
    ::munmap(memory, bytes);
}

}  // namespace rmq::os
