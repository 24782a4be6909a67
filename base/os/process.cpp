// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace rmq::os {

bool has_ended(pid_t pid) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH || (::kill(pid, 0) != 0 && errno == ESRCH);  // out of descriptors, an old kernel
  pollfd process{fd, POLLIN, 0};
  const bool ended = ::poll(&process, 1, 0) > 0;
  ::close(fd);
  return ended;
}

}  // namespace rmq::os
