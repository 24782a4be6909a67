#include "tools/process/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace rmq::launch {

Result<Pipe> Pipe::create() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("no pipe (see ulimit -n)");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
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
