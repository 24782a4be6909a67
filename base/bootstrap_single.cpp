#include "base/bootstrap_single.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/bootstrap_env.hpp"
#include "base/exit.hpp"
#include "base/launcher.hpp"

namespace rmq::boot {

namespace {

// A launcher starts as many as are asked for; a CPU each, or at least one more.
JobInfo describe() {
  JobInfo job = singleton_job();
  job.universe_size = std::max(2, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  return job;
}

}  // namespace

SingletonBootstrap::SingletonBootstrap() : LocalBootstrap(describe(), std::make_shared<LocalBoard>(1)) {}

Result<void> SingletonBootstrap::wish(std::string_view what, std::string_view text) {
  if (!launcher_) {
    const auto fd = start_launcher(job());
    if (!fd) return tl::unexpected(fd.error());
    launcher_ = std::make_unique<ServerBootstrap>(job(), *fd);
    if (auto sent = launcher_->hello(); !sent) return sent;
  }
  return launcher_->wish(what, text);
}

void SingletonBootstrap::abort(int code, std::string_view why, Blame blame) {
  std::fprintf(stderr, "rmq: %.*s\n", static_cast<int>(why.size()), why.data());
  if (launcher_) launcher_->abort(code, why, blame);
  flush_and_exit(code);
}

}  // namespace rmq::boot
