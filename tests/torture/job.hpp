// One job of rmqrun with one or more programs.
#pragma once

#include <set>
#include <string>

#include "mode.hpp"

namespace torture {

struct Job {
  std::string rmqrun, torture;
  Mode mode;
  unsigned long seed = 1;
  long count = 1;
  std::set<int> kept;  // steps, where `keeps`
  bool keeps = false;
};

struct Outcome {
  bool good = false;
  long calls = 0;
  std::string output;
};

std::string command(const Job& job, const std::string& more = "");
Outcome run(const Job& job, const std::string& more = "");

}  // namespace torture
