// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/memory.hpp"

#include <sys/mman.h>

#include <new>

namespace rmq::tcp {

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes < kMapped) {
    at_ = static_cast<std::byte*>(::operator new(bytes));
    return;
  }
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  at_ = static_cast<std::byte*>(at);
}

Memory::~Memory() {
  if (bytes_ < kMapped) {
    ::operator delete(at_);
  } else {
    ::munmap(at_, bytes_);
  }
}

}  // namespace rmq::tcp
