// SPDX-License-Identifier: BSD-3-Clause
#include "tests/chaos/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "methods/chance.hpp"

namespace rmq::test {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Trouble::count)> kNames = {
    "no trouble",      "kill a rank",     "kill the front",   "kill the keeper", "stop a rank",
    "stop the keeper", "few descriptors", "few in the ranks", "little memory",   "a full trace disk",
    "small /dev/shm",  "no peer memory",  "strangers"};

std::uint64_t draw_limit(methods::Chance& chance, Trouble trouble) {
  switch (trouble) {
    case Trouble::few_descriptors:
      // With fewer the loader cannot even load rmqrun.
      return chance.between(4, chance.in(300) ? 30 : 150);
    case Trouble::few_in_ranks:
      return chance.between(6, 40);
    case Trouble::little_memory:
      return std::uint64_t{1} << chance.between(24, 36);
    case Trouble::full_trace:
      return std::uint64_t{1} << chance.between(13, 22);
    case Trouble::small_shm:
      return std::uint64_t{1} << chance.between(12, 22);
    default:
      return 0;
  }
}

}  // namespace

Plan draw_plan(std::uint64_t seed, int pause_ms) {
  methods::Chance chance(seed);
  Plan plan;
  plan.seed = seed;
  plan.ranks = static_cast<int>(chance.between(2, 6));
  plan.steps = static_cast<int>(chance.between(1, 60));
  plan.trouble = static_cast<Trouble>(chance.below(static_cast<std::uint64_t>(Trouble::count)));
  plan.victim = static_cast<int>(chance.below(static_cast<std::uint64_t>(plan.ranks)));
  plan.after_ms = static_cast<int>(chance.below(chance.in(500) ? 100 : 1000));
  plan.pause_ms = pause_ms;
  plan.limit = draw_limit(chance, plan.trouble);
  const int first = static_cast<int>(chance.between(1, static_cast<std::uint64_t>(plan.ranks) - 1));
  switch (chance.below(3)) {
    case 0:
      plan.way = {"--method", "shm"};
      break;
    case 1:
      plan.way = {"--method", "tcp"};
      break;
    default:
      plan.way = {"--host-split", fmt::format("{},{}", first, plan.ranks - first)};
  }
  // Spinning is for ranks with a core each: more of them than CPUs take a slice of time for each message.
  if (chance.in(200))
    plan.settings.push_back(
        fmt::format("RMQ_WAIT={}", chance.pick({plan.ranks == 2 ? "spin" : "sleep", "yield", "sleep"})));
  if (chance.in(200)) plan.settings.emplace_back("RMQ_UNEXPECTED_MAX=64K");
  if (chance.in(200)) plan.settings.emplace_back("RMQ_SHM_RING=16K");
  if (chance.in(200)) plan.settings.emplace_back("RMQ_GET_MODE=0");
  if (plan.trouble == Trouble::small_shm)
    plan.settings.emplace_back("RMQ_SHM_SEGMENT=posix");
  else if (chance.in(300))
    plan.settings.push_back(fmt::format("RMQ_SHM_SEGMENT={}", chance.pick({"posix", "sysv"})));
  return plan;
}

const char* name_of(Trouble trouble) {
  return kNames[static_cast<std::size_t>(trouble)];
}

std::string describe(const Plan& plan) {
  std::string detail;
  switch (plan.trouble) {
    case Trouble::kill_rank:
    case Trouble::stop_rank:
      detail = fmt::format(" {} after {} ms", plan.victim, plan.after_ms);
      break;
    case Trouble::kill_front:
    case Trouble::kill_keeper:
    case Trouble::stop_keeper:
    case Trouble::strangers:
      detail = fmt::format(" after {} ms", plan.after_ms);
      break;
    default:
      if (plan.limit != 0) detail = fmt::format(" ({})", plan.limit);
  }
  return fmt::format("seed {}: {}{}; {} ranks, {} steps, {} {}", plan.seed, name_of(plan.trouble), detail, plan.ranks,
                     plan.steps, fmt::join(plan.way, " "), fmt::join(plan.settings, " "));
}

}  // namespace rmq::test
