// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/fd.hpp"

#include <poll.h>

#include <cerrno>

namespace rmq::os {

bool wait_for(int fd, short events, std::chrono::milliseconds patience) {
  pollfd ready{fd, events, 0};
  int count = 0;
  while ((count = ::poll(&ready, 1, static_cast<int>(patience.count()))) < 0 && errno == EINTR) {
  }
  if (count == 0) errno = ETIMEDOUT;
  return count > 0;
}

}  // namespace rmq::os
