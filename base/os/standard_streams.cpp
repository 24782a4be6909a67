// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace rmq::os {

void hold_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest number that is free; it can be neither read nor written.
    const int held = ::open("/", O_PATH | O_CLOEXEC);
    if (held > fd) ::close(held);  // another thread was faster
  }
}

}  // namespace rmq::os
