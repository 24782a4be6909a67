// SPDX-License-Identifier: BSD-3-Clause
// One job of rmqrun with one or more programs.
#pragma once

#include <set>
#include <string>

#include "chaos/room.hpp"
#include "mode.hpp"

namespace torture {

struct Job {
  const rmq::test::Room* room = nullptr;  // where it runs
  std::string rmqrun, torture;
  Mode mode;
  unsigned long seed = 1;
  long count = 1;
  std::set<int> kept;  // steps, where `keeps`
  bool keeps = false;
  bool dies = false;    // ranks are killed on purpose
  bool plants = false;  // leaves things behind, which has to show
};

struct Outcome {
  bool good = false;
  long calls = 0;
  std::string output;
};

std::string command(const Job& job, const std::string& more = "");
/// A job is good when it ends well, leaves nothing behind, and its trace, if it has one, keeps the protocols' rules.
Outcome run(const Job& job, const std::string& more = "");

}  // namespace torture
