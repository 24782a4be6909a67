// SPDX-License-Identifier: BSD-3-Clause
// A file descriptor with one owner, and waiting for one.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace rmq::os {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

/// Waits until the descriptor has one of `events` (POLLIN, POLLOUT) or has failed. False, with errno, when it has not
/// in time (ETIMEDOUT; a signal that is handled starts it anew) or can't be waited for.
bool wait_for(int fd, short events, std::chrono::milliseconds patience);

/// Whether a call has failed with this errno for want of a descriptor: the process may have no more (ulimit -n), or the
/// system has none left.
inline bool lacks_descriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

}  // namespace rmq::os
