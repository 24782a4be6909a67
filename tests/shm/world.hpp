// SPDX-License-Identifier: BSD-3-Clause
// N ranks of the shared-memory method in one process, each with its own mapping of the segment.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "tests/shm/harness.hpp"

namespace rmq::test {

inline Config settings(const char* kind = "memfd") {
  Config config;
  config.shm_segment = kind;
  return config;
}

/// For many ranks in one process, each of which maps the segment.
inline Config small_heaps() {
  Config config = settings();
  config.shm_heap = 4096;
  return config;
}

struct World {
  std::vector<std::unique_ptr<Bootstrap>> boots;
  std::vector<std::unique_ptr<ShmRank>> ranks;

  explicit World(int n, const Config& config = settings(), const std::vector<int>& hosts = {})
      : boots(hosts.empty() ? local_bootstraps(n) : local_bootstraps(Hosts(hosts))) {
    for (auto& boot : boots) ranks.push_back(std::make_unique<ShmRank>(*boot, config));
    for (auto& rank : ranks) EXPECT_TRUE(rank->method) << rank->failure;
  }
  ShmRank& operator[](std::size_t i) { return *ranks[i]; }
  void poll_all() {
    for (auto& rank : ranks) rank->method->poll();
  }
};

inline std::vector<std::byte> random_bytes(std::size_t n) {
  std::vector<std::byte> data(n);
  std::mt19937_64 random(n);
  for (std::byte& b : data) b = static_cast<std::byte>(random());
  return data;
}

}  // namespace rmq::test
