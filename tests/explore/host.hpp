// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one host in one process: the real directories over the segment of seams.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shm/directory.hpp"
#include "start/bootstrap.hpp"
#include "tests/explore/seams.hpp"

namespace rmq::explore {

/// Made anew for each schedule, outside of its threads.
struct Host {
  std::vector<std::unique_ptr<Bootstrap>> boots;
  Config config;
  std::uint64_t probe = 0;
  std::vector<shm::Directory> directories;

  /// The smallest rings there are: 8 cells, 4 KB of payload.
  explicit Host(int ranks) : boots(local_bootstraps(ranks)) {
    seams().no_memory = false;
    config.shm_cells = 512;
    config.shm_ring = 4096;
    config.shm_heap = 4096;
    for (auto& boot : boots) directories.push_back(std::move(shm::Directory::open(config, *boot, probe).value()));
  }
};

}  // namespace rmq::explore
