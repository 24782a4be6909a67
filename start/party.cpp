// SPDX-License-Identifier: BSD-3-Clause
#include "start/party.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "base/data/fnv.hpp"
#include "start/bootstrap_env.hpp"

namespace rmq {
namespace {

std::uint64_t hash(std::string_view text) {
  return Fnv().bytes(text).value();
}

Hosts hosts_of(const std::vector<Process>& members) {
  std::vector<std::uint64_t> seen;
  std::vector<int> index;
  for (const Process& p : members) {
    const auto at = std::ranges::find(seen, p.host);
    index.push_back(static_cast<int>(at - seen.begin()));
    if (at == seen.end()) seen.push_back(p.host);
  }
  return Hosts(index);
}

bool next_text(std::string_view& rest, std::string_view& text) {
  const std::size_t colon = rest.find(':');
  std::size_t length = 0;
  if (colon == std::string_view::npos) return false;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + colon, length);
  if (error != std::errc() || end != rest.data() + colon || length > rest.size() - colon - 1) return false;
  text = rest.substr(colon + 1, length);
  rest.remove_prefix(colon + 1 + length);
  return true;
}

}  // namespace

std::uint64_t job_number(std::string_view job) {
  std::uint64_t number = 0;
  std::from_chars(job.data(), job.data() + job.size(), number, 16);
  return number;
}

std::string job_name(std::uint64_t number) {
  return fmt::format("{:016x}", number);
}

std::uint64_t host_identity(const JobInfo& job) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat space {};
  const std::uint64_t pids = ::stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
  return hash(fmt::format("{} {} {} {}", boot, pids, ::getuid(), job.host_name));
}

PartyBootstrap::PartyBootstrap(const PartyFacts& facts) {
  job_.job = job_name(facts.id);
  job_.rank = facts.me;
  job_.size = job_.universe_size = static_cast<int>(facts.members.size());
  job_.host_of_rank = hosts_of(facts.members);
  job_.secret = facts.secret;
  job_.host_name = boot::host_name();
  boot::place_on_host(job_);
}

Result<void> PartyBootstrap::put(std::string_view key, std::string_view value) {
  mine_.emplace(key, value);
  board_.emplace(key, value);
  return {};
}

Result<std::string> PartyBootstrap::get(std::string_view key) {
  if (const auto found = board_.find(key); found != board_.end()) return found->second;
  missed_ = !complete_;
  return fail(Errc::peer_lost, fmt::format("no member of party {} has published '{}'", job_.job, key));
}

Result<std::optional<std::string>> PartyBootstrap::look_up(std::string_view key) {
  return get(key).map([](std::string value) { return std::optional<std::string>(std::move(value)); });
}

std::string PartyBootstrap::cards() const {
  std::string text;
  for (const auto& [key, value] : mine_) text += fmt::format("{}:{}{}:{}", key.size(), key, value.size(), value);
  return text;
}

Result<void> PartyBootstrap::add_cards(std::string_view text) {
  while (!text.empty()) {
    std::string_view key, value;
    if (!next_text(text, key) || !next_text(text, value))
      return fail(Errc::protocol, fmt::format("a member of party {} sent a card that makes no sense", job_.job));
    board_.emplace(key, value);
  }
  return {};
}

}  // namespace rmq
