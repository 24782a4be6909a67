// SPDX-License-Identifier: BSD-3-Clause
// Pipes, and what blocking callers do with a file descriptor.
#pragma once

#include <sys/types.h>

#include <cstddef>
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

/// The same pipe or terminal as this standard descriptor, opened once more so that it does not block: whoever shares
/// the descriptor would be surprised if we made it so. Not open for anything else, and where it cannot be had.
UniqueFd open_unshared(int fd, int flags);

/// As read, of a descriptor that may be shared and block: never waits, as long as it is none of another user's that
/// several read; EAGAIN then.
ssize_t read_now(int fd, char* at, std::size_t size);

/// The whole of a file that a user has named; from a pipe, what comes until its end. A folder is refused, and what has
/// more than 16 MiB.
Result<std::string> read_file(const std::string& path);

/// The same of a plain file. Anything else, as a FIFO that nobody writes to, is refused without waiting for it; so is
/// what has more than 16 MiB.
Result<std::string> read_plain_file(const std::string& path);

/// Appends what there is to read, waiting for it, `most` bytes at most; false at the end or when reading fails.
bool read_some(int fd, std::string& text, std::size_t most = 4096);

/// Writes all of it, waiting for room; false, with errno, when that fails.
bool write_all(int fd, std::string_view text);

}  // namespace rmq::launch
