// SPDX-License-Identifier: BSD-3-Clause
// Several jobs under one launcher, for keeper_test: several_jobs JOB [+ JOB | / JOB]…, each JOB as rmqrun's arguments.
// A job behind "+" is connected with the first one, a job behind "/" is not.
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "tools/launch/front.hpp"
#include "tools/launch/keeper.hpp"
#include "tools/launch/verdict.hpp"

namespace {

using namespace rmq::launch;

struct JobWords {
  std::vector<const char*> words;
  bool connected = false;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<JobWords> parts(1);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "+" || word == "/") {
      parts.push_back({{}, word == "+"});
    } else {
      parts.back().words.push_back(argv[i]);
    }
  }
  std::vector<Options> options;
  for (const JobWords& part : parts) {
    auto read = parse_options(part.words, {});
    if (!read) return std::fprintf(stderr, "%s\n", read.error().what.c_str()), exit_usage;
    options.push_back(std::move(*read));
  }
  return run_kept([&](UniqueFd leash, UniqueFd table, const sigset_t& ranks_mask) {
    const auto loop = std::move(*EventLoop::create());
    Keeper keeper(options[0], *loop, ranks_mask, std::move(leash), std::move(table));
    Job* first = nullptr;
    // The first one has been started when the loop runs.
    loop->after(std::chrono::milliseconds(0), [&] {
      first = keeper.first_job();
      for (std::size_t i = 1; i < parts.size(); ++i) {
        const auto job = keeper.start_job(plan_job(options[i]), parts[i].connected ? first : nullptr);
        if (!job) std::fprintf(stderr, "not started: %s\n", job.error().what.c_str());
      }
    });
    return keeper.run();
  });
}
