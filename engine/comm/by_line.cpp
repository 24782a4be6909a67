// SPDX-License-Identifier: BSD-3-Clause
#include "engine/comm/by_line.hpp"

#include <poll.h>

#include <cstring>
#include <map>

#include "engine/object/failure.hpp"
#include "engine/object/runtime.hpp"

namespace rmq::mpi {
namespace {

using Words = std::vector<std::uint64_t>;

/// A descriptor in the set in which this rank sleeps. Several threads may wait for one.
class WatchedFd {
 public:
  WatchedFd(int fd, bool writable) : fd_(fd) {
    if (fd < 0) return;
    ++users()[fd];
    static_cast<void>(runtime().device->watch_fd(fd, writable));  // else it is looked at now and then
  }
  ~WatchedFd() {
    if (fd_ < 0 || --users()[fd_] > 0) return;
    users().erase(fd_);
    runtime().device->unwatch_fd(fd_);
  }
  WatchedFd(const WatchedFd&) = delete;
  WatchedFd& operator=(const WatchedFd&) = delete;

 private:
  /// Touched with the device held.
  static std::map<int, int>& users() {
    static auto* const all = new std::map<int, int>;
    return *all;
  }
  const int fd_;
};

}  // namespace

void await_fd(int fd, bool writable, const std::function<bool()>& done) {
  adi::Device& d = *runtime().device;
  const WatchedFd watched(fd, writable);
  const auto come = [&] {
    pollfd one{fd, static_cast<short>(writable ? POLLIN | POLLOUT : POLLIN), 0};
    return fd >= 0 && ::poll(&one, 1, 0) > 0;
  };
  const adi::Watch watch(d.watches(), come);
  while (!done()) d.MPID_Poll(true, {&adi::tell_other_job, nullptr});
}

std::vector<std::uint64_t> swap_by_line(Line& line, const Words& ours, const std::function<void()>& failed) {
  line.say({reinterpret_cast<const char*>(ours.data()), ours.size() * sizeof(std::uint64_t)});
  Words theirs;
  bool sent = false;
  await_fd(line.fd(), false, [&] {
    failed();
    if (!sent) {
      const auto left = line.flush();
      if (!left) fail_call(MPI_ERR_PORT, "the other root is gone: " + left.error().what);
      sent = *left;
    }
    if (!theirs.empty()) return sent;
    const auto message = line.hear();
    if (!message) fail_call(MPI_ERR_PORT, "the other root is gone: " + message.error().what);
    if (!*message) return false;
    theirs.resize((*message)->size() / sizeof(std::uint64_t));
    std::memcpy(theirs.data(), (*message)->data(), theirs.size() * sizeof(std::uint64_t));
    return sent;
  });
  return theirs;
}

}  // namespace rmq::mpi
