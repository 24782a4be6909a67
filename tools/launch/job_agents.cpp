// SPDX-License-Identifier: BSD-3-Clause
// What agents of other hosts tell of a job, and what becomes of it when one is lost.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "start/exit.hpp"
#include "tools/launch/job.hpp"
#include "tools/launch/verdict.hpp"

namespace rmq::launch {

void Job::on_word(std::size_t place, const Link::Frame& frame) {
  if (RemoteStarter* const remote = remote_at(place); remote != nullptr && !finished_) remote->hear(frame);
}

void Job::on_lost_agent(std::size_t place, const std::string& why) {
  if (RemoteStarter* const remote = remote_at(place); remote != nullptr && !finished_)
    on_lost_ranks(remote->on_lost(), remote->has_started() ? 1 : exit_cannot_start, why);
}

void Job::on_lost_hosts(std::size_t place, const std::vector<std::string>& hosts, const std::string& why) {
  RemoteStarter* const remote = remote_at(place);
  if (remote == nullptr || finished_) return;
  std::vector<int> ranks;
  for (const std::string& host : hosts) {
    const auto lost = remote->on_lost(host);
    ranks.insert(ranks.end(), lost.begin(), lost.end());
  }
  on_lost_ranks(ranks, remote->has_started() ? 1 : exit_cannot_start, why);
}

void Job::on_lost_ranks(const std::vector<int>& ranks, int code, const std::string& why) {
  if (ranks.empty()) return;
  for (const int rank : ranks) rank_of(rank).alive = false;
  alive_ -= static_cast<int>(ranks.size());
  if (!ending_ && std::ranges::all_of(ranks, [&](int rank) { return goes_on_without(rank); })) {
    for (const int rank : ranks)
      if (!rank_of(rank).buried && server_.state(rank) != RankState::finalized)
        bury(rank, code, fmt::format("{}: {} with it", why, name_of(rank)));
    if (alive_ == 0) on_nobody_left();
    return;
  }
  std::string named = fmt::format("{}", ranks[0]);
  if (ranks.size() > 1) named += fmt::format("{}{}", ranks.size() == 2 ? " and " : " … ", ranks.back());
  end_job(code, fmt::format("{}: rank{} {} with it{}", why, ranks.size() > 1 ? "s" : "", named,
                            alive_ > 0 ? "; the other ranks were ended" : ""));
  if (alive_ == 0) finish();
}

std::optional<std::string> Job::processes() const {
  std::string all;
  for (const auto& local : locals_) all += local->processes();
  for (const auto& remote : remotes_) {
    if (!remote->has_started()) return std::nullopt;
    all += remote->processes();
  }
  return all;
}

void Job::say(const std::string& message) {
  output_.say("rmqrun: " + message);
}

}  // namespace rmq::launch
