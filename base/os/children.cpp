// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/children.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rmq::os {
namespace {

constexpr int kMost = 65536;

// Inode of the socket that each number stood for when it was told, 0: none. Sockets have inodes of their own, so a
// number that means something else by now is recognised. Relaxed: each entry stands alone, and a child sees what its
// parent's thread saw. No pages of it are used for numbers that are not.
std::atomic<std::uint64_t> inode_of[kMost];
std::atomic<int> end{0};  // no entry from here on

std::uint64_t inode(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

// In the child, where only functions that are safe in signal handlers may be called. The number stays taken: code of
// the parent's that still believes in it meets /dev/null, and nothing of the child's.
void on_fork() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  for (int fd = 0; fd < end.load(std::memory_order_relaxed); ++fd) {
    const std::uint64_t known = inode_of[fd].load(std::memory_order_relaxed);
    if (known != 0 && inode(fd) == known) ::dup3(null, fd, O_CLOEXEC);
  }
  ::close(null);
}

}  // namespace

void keep_from_children(int socket) {
  static const int watching = ::pthread_atfork(nullptr, nullptr, on_fork);
  if (watching != 0 || socket < 0 || socket >= kMost) return;
  inode_of[socket].store(inode(socket), std::memory_order_relaxed);
  int known = end.load(std::memory_order_relaxed);
  while (known <= socket && !end.compare_exchange_weak(known, socket + 1, std::memory_order_relaxed)) {
  }
}

}  // namespace rmq::os
