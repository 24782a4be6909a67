// SPDX-License-Identifier: BSD-3-Clause
#include "start/pmi_start.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/os/no_signals.hpp"
#include "start/boot_join.hpp"
#include "start/pmi_server.hpp"

namespace rmq::pmi {

namespace {

constexpr std::string_view version = "rmq1";

// A word of the value: none of the addresses has a comma.
std::string_view cut_word(std::string_view& rest) {
  const std::size_t comma = std::min(rest.find(','), rest.size());
  const std::string_view word = rest.substr(0, comma);
  rest.remove_prefix(std::min(comma + 1, rest.size()));
  return word;
}

// Says on stderr, while it lives, that the launcher keeps this rank waiting: by a thread, because libpmix waits on its
// own terms. The first ranks speak for all.
class Notice {
 public:
  explicit Notice(const Launcher::Place& place) {
    if (place.rank >= kSpeakers) return;
    const os::NoSignals none;
    thread_ = std::thread([this, place] {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kPatience, [&] { return over_; })) return;
      std::fprintf(
          stderr,
          "rmq: rank %d has waited for %d s: not all of the %d ranks that the launcher was to start have called "
          "MPI_Init (or the first call of a session) yet\n",
          place.rank, static_cast<int>(kPatience.count()), place.size);
    });
  }
  ~Notice() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

 private:
  static constexpr int kSpeakers = 4;
  static constexpr std::chrono::seconds kPatience{10};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

// What the launcher says of ranks on this machine; without a word of its there may be others. The first that is set
// counts: a launcher started by another one's process leaves the variables of both, but Slurm is never the inner one.
bool all_are_here(int size) {
  for (const auto& [name, all] :
       {std::pair{"MPI_LOCALNRANKS", size}, {"OMPI_COMM_WORLD_LOCAL_SIZE", size}, {"SLURM_STEP_NUM_NODES", 1}})
    if (const char* text = std::getenv(name)) return text == std::to_string(all);
  return false;
}

Result<std::string> announce(const Launcher& launcher, os::UniqueFd& leash) {
  const int size = launcher.place().size;
  Announcement news;
  news.job = boot::singleton_job().job;
  std::array<std::byte, 32> key{};
  boot::fill_random(key);
  news.key = boot::to_hex(key);
  std::string tickets;
  for (int rank = 0; rank < size; ++rank) tickets += derive(news.key, fmt::format("ticket {}", rank));
  auto server = start_server({size, news.job, all_are_here(size), tickets, launcher.descriptor()});
  if (!server) return tl::make_unexpected(server.error());
  news.addresses = std::move(server->addresses);
  leash = std::move(server->leash);
  return format_announcement(news);
}

}  // namespace

std::string format_announcement(const Announcement& news) {
  std::string text = fmt::format("{},{},{},{}", version, news.job, news.key, news.addresses);
  std::ranges::replace(text, ' ', ',');
  while (text.size() > max_value) text.resize(text.rfind(','));
  return text;
}

Result<Announcement> parse_announcement(std::string_view text) {
  const auto wrong = [&] {
    return fail(Errc::protocol,
                fmt::format("what rank 0 has spread through the launcher is not what this version of RMQ spreads ({} "
                            "bytes, '{}'): do all ranks run the same program?",
                            text.size(), text.substr(0, 8)));
  };
  std::string_view rest = text;
  Announcement out;
  if (cut_word(rest) != version) return wrong();
  out.job = cut_word(rest);
  out.key = cut_word(rest);
  out.addresses = rest;
  std::ranges::replace(out.addresses, ',', ' ');
  std::array<std::byte, 8> job{};
  std::array<std::byte, 32> key{};
  if (!boot::from_hex(out.job, job) || !boot::from_hex(out.key, key) || out.addresses.find(' ') == std::string::npos)
    return wrong();
  return out;
}

std::string derive(std::string_view key, std::string_view what) {
  static_assert(crypto_auth_hmacsha256_BYTES == boot::ticket_bytes);
  crypto_auth_hmacsha256_state hmac;
  ::crypto_auth_hmacsha256_init(&hmac, reinterpret_cast<const unsigned char*>(key.data()), key.size());
  ::crypto_auth_hmacsha256_update(&hmac, reinterpret_cast<const unsigned char*>(what.data()), what.size());
  std::string out(crypto_auth_hmacsha256_BYTES, '\0');
  ::crypto_auth_hmacsha256_final(&hmac, reinterpret_cast<unsigned char*>(out.data()));
  ::sodium_memzero(&hmac, sizeof hmac);
  return out;
}

Result<Started> start_job(Launcher& launcher) {
  const Launcher::Place& place = launcher.place();
  Started out;
  std::string mine;
  if (place.rank == 0) {
    auto news = announce(launcher, out.leash);
    if (!news) return tl::make_unexpected(news.error());
    mine = std::move(*news);
  }
  const auto text = [&] {
    const Notice notice(place);
    return launcher.spread(mine);
  }();
  if (!text) return tl::make_unexpected(text.error());
  const auto news = parse_announcement(*text);
  if (!news) return tl::make_unexpected(news.error());
  auto socket = boot::join_server(news->addresses, boot::FrameKind::join, place.rank,
                                  derive(news->key, fmt::format("ticket {}", place.rank)));
  if (!socket) return tl::make_unexpected(socket.error());
  out.rank.server_fd = socket->release();
  JobInfo& job = out.rank.job;
  job.job = news->job;
  job.rank = place.rank;
  job.size = place.size;
  job.app_num = place.app_num;
  job.universe_size = boot::universe_size(place.universe_size > place.size ? place.universe_size : 0, place.size);
  job.host_name = boot::host_name();
  const std::string secret = derive(news->key, "secret");
  std::memcpy(job.secret.data(), secret.data(), job.secret.size());
  return out;
}

Result<Hosts> agree_on_hosts(Bootstrap& bootstrap) {
  const int rank = bootstrap.job().rank, size = bootstrap.job().size;
  const Notice notice({.rank = rank, .size = size});  // with PMIx, rank 0 waits here first
  const std::string mine = boot::host_identity();
  if (rank > 0) {
    if (auto put = bootstrap.put(fmt::format("host/{}", rank), mine); !put) return tl::make_unexpected(put.error());
    return boot::fetch_hosts(bootstrap);
  }
  std::vector<std::string> identities{mine};
  for (int other = 1; other < size; ++other) {
    auto identity = bootstrap.get(fmt::format("host/{}", other));
    if (!identity) return tl::make_unexpected(identity.error());
    identities.push_back(std::move(*identity));
  }
  const Hosts hosts = boot::number_hosts(identities);
  const auto table = boot::host_table(hosts);
  for (std::size_t part = 0; part < table.size(); ++part)
    if (auto put = bootstrap.put(boot::host_table_key(part), table[part]); !put)
      return tl::make_unexpected(put.error());
  return hosts;
}

}  // namespace rmq::pmi
