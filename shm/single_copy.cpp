#include "shm/single_copy.hpp"

#include <sys/uio.h>

#include <array>
#include <cerrno>

namespace rmq::shm {
namespace {

constexpr std::size_t kPieces = 64;  // of a strided view in one call

using VmCopy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

Copied move(VmCopy vm_copy, pid_t pid, std::uint64_t address, const DataView& view, std::uint64_t offset,
            std::uint64_t bytes) {
  Copied copied;
  while (copied.bytes < bytes) {
    std::array<iovec, kPieces> here;
    std::uint64_t covered = bytes - copied.bytes;
    std::size_t pieces = 1;
    if (view.is_contiguous()) {
      here[0] = {view.base + offset + copied.bytes, covered};
    } else {
      pieces = iovecs(view, offset + copied.bytes, bytes - copied.bytes, here, covered);
    }
    const iovec there{reinterpret_cast<void*>(address + copied.bytes), covered};
    const ssize_t n = vm_copy(pid, here.data(), pieces, &there, 1, 0);
    if (n <= 0) {
      copied.error = n < 0 ? errno : EFAULT;
      break;
    }
    copied.bytes += static_cast<std::uint64_t>(n);
  }
  return copied;
}

}  // namespace

bool probe_single_copy(pid_t pid, std::uint64_t address, std::uint64_t word) {
  std::uint64_t seen = 0;
  const DataView into = DataView::contiguous(&seen, sizeof seen);
  return copy_from(pid, address, into, 0, sizeof seen).error == 0 && seen == word;
}

Copied copy_from(pid_t pid, std::uint64_t address, const DataView& into, std::uint64_t offset, std::uint64_t bytes) {
  return move(::process_vm_readv, pid, address, into, offset, bytes);
}

Copied copy_to(pid_t pid, std::uint64_t address, const DataView& from, std::uint64_t offset, std::uint64_t bytes) {
  return move(::process_vm_writev, pid, address, from, offset, bytes);
}

const char* single_copy_advice(int error) {
  switch (error) {
    case ESRCH:
      return "the process is gone";
    case EPERM:
      return "the kernel forbids it; set RMQ_SHM_SINGLE_COPY=0";
    case EFAULT:
      return "the memory is not mapped; was a buffer freed while in use?";
    default:
      return "set RMQ_SHM_SINGLE_COPY=0 to go without";
  }
}

}  // namespace rmq::shm
