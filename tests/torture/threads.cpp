// SPDX-License-Identifier: BSD-3-Clause
// Threads: each runs a program of its own, on a communicator of its own, while the others run theirs. They end within
// one event: what the main thread has under way goes on meanwhile.
#include <utility>

#include "plan.hpp"

namespace torture {
namespace {

struct Threads : Step {
  Group group;
  std::vector<Plan> programs;

  Comm comm(std::size_t thread) const { return {object(id, static_cast<int>(thread))}; }

  void start(Face& f, int world) const override {
    if (group.rank_of(world) < 0) return;
    std::vector<Comm> worlds;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      f.call(TORTURE_CALL(MPI_Comm_dup), Comm{group.comm}, CommRef{comm(i).index});
      worlds.push_back(comm(i));
    }
    f.threads(worlds, [&](Face& own, std::size_t i) { perform(programs[i], own, world); });
  }
  void finish(Face& f, int world) const override {
    if (group.rank_of(world) < 0) return;
    for (std::size_t i = 0; i < programs.size(); ++i) f.call(TORTURE_CALL(MPI_Comm_free), CommRef{comm(i).index});
  }
};

}  // namespace

std::unique_ptr<Step> draw_threads(Chance& chance, const World& world, const Group& group, int id) {
  auto step = std::make_unique<Threads>();
  step->what = "threads";
  step->group = group;
  World own = world;
  own.threads = false;
  own.kinds = {"comm",  "message", "many",       "ring",    "repeat",    "partitioned",
               "order", "cancel",  "collective", "vectors", "reduction", "window"};
  Group all = group;
  all.comm = 0;
  all.maker = -1;
  const int threads = 2 + chance.below(kMostThreads - 1);
  for (int i = 0; i < threads; ++i) {
    Plan program = draw_on(chance, own, all, 1 + chance.below(6), 1 + chance.below(3));
    for (const auto& part : program.steps) part->key += static_cast<unsigned>((id + 1) * kMostThreads + i) << 16;
    step->buffered += std::exchange(program.buffered, 0);  // the whole program attaches one buffer for all
    step->programs.push_back(std::move(program));
  }
  return step;
}

}  // namespace torture
