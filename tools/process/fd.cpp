// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process/fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

namespace rmq::launch {

Result<Pipe> Pipe::create() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("no pipe (see ulimit -n)");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

UniqueFd open_unshared(int fd, int flags) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !(S_ISFIFO(info.st_mode) || ::isatty(fd) == 1)) return {};
  const std::string same = "/proc/self/fd/" + std::to_string(fd);
  return UniqueFd(::open(same.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

ssize_t read_now(int fd, char* at, std::size_t size) {
  const ssize_t got = ::recv(fd, at, size, MSG_DONTWAIT);
  if (got >= 0 || errno != ENOTSOCK) return got;
  if (wait_for(fd, POLLIN, std::chrono::milliseconds(0))) return ::read(fd, at, size);
  errno = EAGAIN;
  return -1;
}

namespace {

Result<std::string> read_file(const std::string& path, bool only_plain) {
  constexpr std::size_t kMost = std::size_t{16} << 20;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | (only_plain ? O_NONBLOCK : 0) | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (!file.is_open() || ::fstat(file.get(), &info) != 0) return fail_errno("cannot be read");
  if (S_ISDIR(info.st_mode)) return fail(Errc::argument, "cannot be read: it is a folder");
  if (only_plain && !S_ISREG(info.st_mode)) return fail(Errc::argument, "cannot be read: it is no plain file");
  std::string text;
  while (text.size() <= kMost && read_some(file.get(), text, 64 * 1024)) continue;
  if (text.size() > kMost) return fail(Errc::argument, "cannot be read: it has more than 16 MiB");
  return text;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  return read_file(path, false);
}

Result<std::string> read_plain_file(const std::string& path) {
  return read_file(path, true);
}

bool read_some(int fd, std::string& text, std::size_t most) {
  const std::size_t had = text.size();
  text.resize(had + most);
  ssize_t got = 0;
  while ((got = ::read(fd, text.data() + had, most)) < 0 && errno == EINTR) {
  }
  text.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
  return got > 0;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace rmq::launch
