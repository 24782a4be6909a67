// Pipes, and what blocking callers do with a file descriptor.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/os/fd.hpp"

namespace rmq::launch {

using os::UniqueFd;
using os::wait_for;

/// Both ends close on exec.
struct Pipe {
  UniqueFd reader, writer;
  static Result<Pipe> create();
};

/// Appends what there is to read, waiting for it, `most` bytes at most; false at the end or when reading fails.
bool read_some(int fd, std::string& text, std::size_t most = 4096);

/// Writes all of it, waiting for room; false, with errno, when that fails.
bool write_all(int fd, std::string_view text);

}  // namespace rmq::launch
