// SPDX-License-Identifier: BSD-3-Clause
// One job of chaos: started, troubled, awaited, judged.
#pragma once

#include <string>

#include "tests/chaos/plan.hpp"
#include "tests/chaos/room.hpp"

namespace rmq::test {

struct Tools {
  std::string rmqrun;
  std::string traffic;
};

struct Verdict {
  bool finished = false;  // the traffic came to its right end
  std::string fault;      // what should not have happened; empty: all is well
  std::string said;       // stdout and stderr
};

/// Runs the job to its end, and looks for what it has left behind.
Verdict run_job(const Plan& plan, const Room& room, const Tools& tools);

}  // namespace rmq::test
