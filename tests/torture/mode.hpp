// SPDX-License-Identifier: BSD-3-Clause
// How a job runs: its ranks, and options and variables of rmqrun. A new kind of mode is one more line of mode.cpp.
#pragma once

#include <string>
#include <vector>

namespace torture {

struct Mode {
  int ranks = 2;
  bool trace = false;
  std::vector<std::string> settings;  // NAME=VALUE for the ranks, or an option of rmqrun with its value after a blank
};

/// `deaths`: ranks die, of whom some are to be left for a while.
Mode draw_mode(unsigned long seed, bool deaths);

}  // namespace torture
