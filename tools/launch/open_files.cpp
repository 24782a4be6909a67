// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/open_files.hpp"

#include <fmt/format.h>

namespace rmq::launch {

Result<std::optional<rlimit>> raise_open_files(int ranks, int hosts, rlim_t needed) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return std::nullopt;
  const rlimit before = limit;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= needed) return before;  // what there is, in any case
  return fail(
      Errc::system,
      fmt::format("{} ranks here{} need {} file descriptors, but the hard limit is {}: fewer ranks, or a higher "
                  "limit (ulimit -Hn, which only root raises)",
                  ranks, hosts > 0 ? fmt::format(" and {} other hosts", hosts) : "", needed, limit.rlim_max));
}

}  // namespace rmq::launch
