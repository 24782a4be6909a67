// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace rmq::trace {

Result<Output> Output::file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return fail_errno(fmt::format("cannot write {}", path));
  return Output(fd, path);
}

Output Output::standard() {
  return Output(STDOUT_FILENO, "standard output");
}

Output::Output(Output&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)),
      text_(std::move(other.text_)),
      error_(other.error_) {}

Output::~Output() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
}

bool Output::flush() {
  std::string_view rest = text_;
  while (error_ == 0 && !rest.empty()) {
    const ssize_t wrote = ::write(fd_, rest.data(), rest.size());
    if (wrote >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  text_.clear();
  return error_ == 0;
}

Result<void> Output::end() {
  flush();
  if (fd_ > STDERR_FILENO && ::close(std::exchange(fd_, -1)) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0 || error_ == EPIPE) return {};
  errno = error_;
  return fail_errno(fmt::format("cannot write {}", name_));
}

}  // namespace rmq::trace
