// SPDX-License-Identifier: BSD-3-Clause
#include "start/bootstrap_single.hpp"

#include <cstdio>

#include "start/bootstrap_env.hpp"
#include "start/exit.hpp"
#include "start/launcher.hpp"

namespace rmq::boot {

namespace {

// A launcher starts as many as are asked for; a CPU each, or at least one more.
JobInfo describe() {
  JobInfo job = singleton_job();
  job.universe_size = universe_size(0, job.size);
  return job;
}

}  // namespace

SingletonBootstrap::SingletonBootstrap() : LocalBootstrap(describe(), std::make_shared<LocalBoard>(1)) {}

Result<void> SingletonBootstrap::wish(std::string_view what, std::string_view text) {
  if (!launcher_) {
    auto started = ServerBootstrap::start_own(job());
    if (!started) return tl::unexpected(started.error());
    launcher_ = std::move(*started);
  }
  return launcher_->wish(what, text);
}

void SingletonBootstrap::abort(int code, std::string_view why, Blame blame) {
  std::fprintf(stderr, "rmq: %.*s\n", static_cast<int>(why.size()), why.data());
  if (launcher_) launcher_->abort(code, why, blame);
  flush_and_exit(code);
}

}  // namespace rmq::boot
