// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rmq {

tl::unexpected<Error> fail_errno(std::string_view what) {
  const int number = errno;
  return fail(Errc::system, fmt::format("{}: {}", what, std::strerror(number)));
}

void panic(const char* file, int line, const char* why) {
  std::fprintf(stderr, "rmq: internal error at %s:%d: %s\n", file, line, why);
  std::abort();
}

}  // namespace rmq
