// SPDX-License-Identifier: BSD-3-Clause
#include "start/bootstrap_local.hpp"

#include <fmt/format.h>

#include "start/bootstrap_env.hpp"

namespace rmq {

namespace boot {

Result<void> check_put(std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > max_boot_key)
    return fail(Errc::argument,
                fmt::format("a start-up key of {} bytes; 1 to {} are possible", key.size(), max_boot_key));
  if (value.size() > max_boot_value)
    return fail(Errc::argument, fmt::format("the start-up value of '{}' has {} bytes; {} are possible", key,
                                            value.size(), max_boot_value));
  return {};
}

Result<void> LocalBoard::check_alive() const {
  if (!aborted_.empty()) return fail(Errc::peer_lost, aborted_);
  return {};
}

Result<void> LocalBoard::put(std::string_view key, std::string_view value) {
  const std::lock_guard lock(mutex_);
  if (auto alive = check_alive(); !alive) return alive;
  if (!values_.emplace(key, value).second)
    return fail(Errc::argument, fmt::format("the start-up key '{}' was published twice", key));
  changed_.notify_all();
  return {};
}

Result<std::string> LocalBoard::get(std::string_view key) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (auto alive = check_alive(); !alive) return tl::make_unexpected(alive.error());
    if (const auto found = values_.find(key); found != values_.end()) return found->second;
    // With one rank nobody else could ever put it.
    if (size_ == 1) return fail(Errc::argument, fmt::format("nobody has published the start-up key '{}'", key));
    changed_.wait(lock);
  }
}

Result<std::optional<std::string>> LocalBoard::look_up(std::string_view key) {
  const std::lock_guard lock(mutex_);
  if (auto alive = check_alive(); !alive) return tl::make_unexpected(alive.error());
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

Result<void> LocalBoard::fence() {
  std::unique_lock lock(mutex_);
  const unsigned round = fence_round_;
  if (++fence_arrived_ == size_) {
    fence_arrived_ = 0;
    ++fence_round_;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return fence_round_ != round || !aborted_.empty(); });
  return check_alive();
}

void LocalBoard::abort(int rank, int code, std::string_view why) {
  const std::lock_guard lock(mutex_);
  if (aborted_.empty()) aborted_ = fmt::format("rank {} aborted the job with code {}: {}", rank, code, why);
  changed_.notify_all();
}

Result<void> LocalBootstrap::put(std::string_view key, std::string_view value) {
  if (auto good = check_put(key, value); !good) return good;
  return board_->put(key, value);
}

}  // namespace boot

std::vector<std::unique_ptr<Bootstrap>> local_bootstraps(int n) {
  return local_bootstraps(Hosts::blocks(n, n));
}

std::vector<std::unique_ptr<Bootstrap>> local_bootstraps(const Hosts& hosts) {
  const int n = hosts.size();
  JobInfo job = boot::singleton_job();
  job.size = job.universe_size = n;
  job.host_of_rank = hosts;
  const auto board = std::make_shared<boot::LocalBoard>(n);
  std::vector<std::unique_ptr<Bootstrap>> out;
  out.reserve(static_cast<std::size_t>(n));
  for (job.rank = 0; job.rank < n; ++job.rank) {
    boot::place_on_host(job);
    out.push_back(std::make_unique<boot::LocalBootstrap>(job, board));
  }
  return out;
}

}  // namespace rmq
