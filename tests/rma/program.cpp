// SPDX-License-Identifier: BSD-3-Clause
#include "rma/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace rmq::testing {

RmaPlan::RmaPlan(std::uint64_t number, int most) : seed(number) {
  methods::Chance chance(seed * 2 + 1);
  ranks = static_cast<int>(chance.between(2, static_cast<std::uint64_t>(most)));
  rounds = static_cast<int>(chance.between(2, 6));
  area = chance.pick<std::int64_t>({512, 2048, 2048, 40000});
  unit = chance.pick<std::int64_t>({1, 1, 4, 8});
  heap_memory = chance.in(400);
  flavor =
      chance.pick<rma::Flavor>({rma::Flavor::create, rma::Flavor::allocate, rma::Flavor::dynamic, rma::Flavor::shared});
  if (flavor == rma::Flavor::dynamic) unit = 1;
  types = chance.pick<std::uint64_t>({1, 2, 1000});
  queue = chance.pick<std::uint64_t>({0, 200, 65536});
}

std::string RmaPlan::describe() const {
  static constexpr const char* kFlavors[] = {"create", "allocate", "shared", "dynamic"};
  return fmt::format("seed {}: {} ranks, {} rounds, area {}, unit {}, {}, {} memory", seed, ranks, rounds, area, unit,
                     kFlavors[static_cast<int>(flavor)], heap_memory ? "heap" : "own");
}

RmaModel::RmaModel(const RmaPlan& plan)
    : areas(static_cast<std::size_t>(plan.ranks), std::vector<std::byte>(static_cast<std::size_t>(plan.counters()))),
      counters(static_cast<std::size_t>(plan.ranks), std::vector<std::int64_t>(RmaPlan::kCounters)) {}

RmaPart::RmaPart(const RmaPlan& plan, RmaModel& model, RmaFace& face, int me, std::vector<std::string>& faults)
    : plan_(plan),
      model_(model),
      face_(face),
      me_(me),
      faults_(faults),
      chance_(plan.seed * 1000 + static_cast<std::uint64_t>(me)),
      touched_(static_cast<std::size_t>(plan.ranks)) {}

RmaPart::~RmaPart() = default;

void RmaPart::expect_none(const std::string& fault, const char* what) {
  if (!fault.empty()) faults_.push_back(fmt::format("rank {}: {}: {}", me_, what, fault));
}

// ---- epochs ----

void RmaPart::round(int number) {
  methods::Chance common(plan_.seed * 7919 + static_cast<std::uint64_t>(number));  // the same in all ranks
  const std::uint64_t kind = common.below(4);
  const std::uint64_t draw = common.below(1u << 30);
  switch (kind) {
    case 0:
      fence_round();
      break;
    case 1:
      pscw_round(draw);
      break;
    case 2:
      lock_round();
      break;
    default:
      lock_all_round();
  }
  complete();
}

void RmaPart::fence_round() {
  expect_none(face_.fence(rma::assertion::noprecede), "fence");
  for (int times = 0; times < 2; ++times) {
    for (int t = 0; t < plan_.ranks; ++t) operations(t, false);
    expect_none(face_.fence(0), "fence");
    complete();
  }
  // Behind a fence the operations of all others are there, too.
  for (std::uint64_t k = chance_.below(6); k > 0; --k)
    look(static_cast<int>(chance_.below(static_cast<std::uint64_t>(plan_.ranks))));
  expect_none(face_.fence(rma::assertion::nosucceed), "fence");
  complete();
}

void RmaPart::pscw_round(std::uint64_t draw) {
  const auto accesses = [&](int origin, int target) {
    return methods::Chance(draw + static_cast<std::uint64_t>(origin * 64 + target)).in(600);
  };
  std::vector<int> targets, origins;
  for (int i = 0; i < plan_.ranks; ++i) {
    if (accesses(me_, i)) targets.push_back(i);
    if (accesses(i, me_)) origins.push_back(i);
  }
  expect_none(face_.post(origins), "post");
  expect_none(face_.start(targets), "start");
  for (int t : targets) operations(t, false);
  expect_none(face_.complete(), "complete");
  complete();
  if (chance_.in(500)) {
    expect_none(face_.wait(), "wait");
  } else {
    for (bool done = false; !done && well();) expect_none(face_.test(done), "test");
  }
}

void RmaPart::lock_round() {
  for (std::uint64_t epochs = chance_.between(1, 5); epochs > 0; --epochs) {
    const int t = static_cast<int>(chance_.below(static_cast<std::uint64_t>(plan_.ranks)));
    const auto type = chance_.in(400) ? rma::LockType::exclusive : rma::LockType::shared;
    const unsigned nocheck = type == rma::LockType::shared && chance_.in(150) ? rma::assertion::nocheck : 0;
    expect_none(face_.lock(type, t, nocheck), "lock");
    operations(t, true);
    expect_none(face_.unlock(t), "unlock");
    complete();
  }
}

void RmaPart::lock_all_round() {
  expect_none(face_.lock_all(chance_.in(200) ? rma::assertion::nocheck : 0), "lock_all");
  for (std::uint64_t times = chance_.between(1, 4); times > 0; --times) {
    operations(static_cast<int>(chance_.below(static_cast<std::uint64_t>(plan_.ranks))), true);
    if (chance_.in(300)) {
      expect_none(face_.flush_all(), "flush_all");
      complete();
    }
  }
  expect_none(face_.unlock_all(), "unlock_all");
}

void RmaPart::operations(int target, bool may_flush) {
  for (std::uint64_t k = chance_.below(6); k > 0 && well(); --k) {
    if (chance_.in(200))
      count(target);
    else
      one(target, may_flush);
    if (may_flush && chance_.in(100)) expect_none(face_.flush_local(target), "flush_local");
  }
}

// ---- judgement ----

// The epoch is over: all results must be there.
void RmaPart::complete() {
  for (auto& p : pending_) {
    if (p->asks) expect_none(face_.finish(*p), "finish");
    judge(*p);
  }
  pending_.clear();
  for (auto& list : touched_) list.clear();
}

void RmaPart::judge(const RmaOp& op) {
  if (!face_.is_real() || op.expected.empty() || op.expected == op.result) return;
  faults_.push_back(fmt::format("rank {}: the result of operation {} on rank {} at {} is wrong", me_,
                                static_cast<int>(op.what), op.target, op.offset));
}

void RmaPart::check(int number) {
  expect_none(face_.sync(), "sync");
  const std::byte* mine = face_.memory();
  const std::vector<std::byte>& areas = model_.areas[static_cast<std::size_t>(me_)];
  for (std::size_t i = 0; i < areas.size(); ++i) {
    if (mine[i] == areas[i]) continue;
    const auto area = static_cast<std::size_t>(plan_.area);
    faults_.push_back(
        fmt::format("rank {}, round {}: byte {} of the area of rank {} is wrong", me_, number, i % area, i / area));
    break;
  }
  for (std::size_t c = 0; c < RmaPlan::kCounters; ++c) {
    std::int64_t is = 0;
    const std::int64_t right = model_.counters[static_cast<std::size_t>(me_)][c];
    std::memcpy(&is, mine + areas.size() + c * 8, 8);
    if (is != right)
      faults_.push_back(fmt::format("rank {}, round {}: counter {} is {}, not {}", me_, number, c, is, right));
  }
}

}  // namespace rmq::testing
