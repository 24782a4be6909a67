// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <algorithm>

namespace torture {

int Group::rank_of(int world) const {
  auto at = std::find(members.begin(), members.end(), world);
  return at == members.end() ? -1 : static_cast<int>(at - members.begin());
}

int draw_words(Chance& chance, int one_is_long) {
  if (chance.one_in(one_is_long))
    return chance.one_in(2) ? 32768 * (1 + chance.below(3)) + chance.below(5) - 2 : 65536 + 12 * chance.below(3 * 4096);
  if (chance.one_in(6)) return 1024 * chance.of({1, 2, 4, 8, 16}) + chance.below(5) - 2;
  return chance.of({0, 1, 2, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33, 60, 120, 240, 512});
}

namespace {

struct Kind {
  const char* name;
  Draw draw;
  int weight;
};
constexpr Kind kinds[] = {
    {"comm", draw_comm, 2},
    {"inter", draw_inter, 2},
    {"message", draw_message, 8},
    {"many", draw_many, 2},
    {"ring", draw_ring, 2},
    {"repeat", draw_repeat, 2},
    {"partitioned", draw_partitioned, 2},
    {"order", draw_order, 2},
    {"cancel", draw_cancel, 2},
    {"aside", draw_aside, 1},
    {"collective", draw_collective, 8},
    {"odd", draw_odd, 2},
    {"vectors", draw_vectors, 4},
    {"reduction", draw_reduction, 2},
    {"objects", draw_objects, 2},
    {"spawn", draw_spawn, 1},
    {"window", draw_window, 3},
    {"threads", nullptr, 3},  // draw_threads
};

std::unique_ptr<Step> draw_step(Chance& chance, const World& world, const Group& group, int id) {
  const auto weight = [&](const Kind& kind) {
    if (!world.threads && kind.draw == nullptr) return 0;
    if (world.old && kind.draw == draw_partitioned) return 0;
    if (world.kinds.empty() && kind.draw == draw_aside) return 0;
    if (world.breaks && kind.draw == draw_spawn) return 0;
    return world.kinds.empty() || world.kinds.count(kind.name) != 0 ? kind.weight : 0;
  };
  int all = 0;
  for (const Kind& kind : kinds) all += weight(kind);
  if (all == 0) return draw_comm(chance, group, id);
  int at = chance.below(all);
  const Kind* kind = kinds;
  while (at >= weight(*kind)) at -= weight(*kind++);
  auto step = kind->draw != nullptr ? kind->draw(chance, group, id) : draw_threads(chance, world, group, id);
  step->id = id;
  step->maker = group.maker;
  step->key = static_cast<unsigned>(id + 1) * 1024;
  return step;
}

/// What is under way while a plan is drawn.
class Open {
 public:
  Open(Plan& plan, const World& world, const Group& group) : plan_(plan), world_(world) { groups_.push_back(group); }

  int size() const { return static_cast<int>(steps_.size()); }

  void begin(Chance& chance, int id) {
    const Group group = groups_[static_cast<std::size_t>(chance.below(static_cast<int>(groups_.size())))];
    plan_.steps.push_back(draw_step(chance, world_, group, id));
    plan_.buffered += plan_.steps.back()->buffered;
    plan_.events.push_back({id, 0});
    steps_.push_back({id, 1});
    for (Group made : plan_.steps.back()->groups()) {
      made.shares = group.shares;
      made.keeps = group.keeps;
      groups_.push_back(made);
    }
  }
  /// The next part of a step, if it may come now.
  bool advance(int at) {
    Event& step = steps_[static_cast<std::size_t>(at)];
    const int id = step.step;
    const bool finish = step.part > plan_.steps[static_cast<std::size_t>(id)]->middles;
    if (finish && !may_finish(id)) return false;
    plan_.events.push_back(step);
    ++step.part;
    if (!finish) return true;
    steps_.erase(steps_.begin() + at);
    std::erase_if(groups_, [&](const Group& group) { return group.maker == id; });
    return true;
  }

 private:
  bool may_finish(int id) const {
    if (!plan_.steps[static_cast<std::size_t>(id)]->makes) return true;
    return std::none_of(steps_.begin(), steps_.end(), [&](Event other) {
      const Step& user = *plan_.steps[static_cast<std::size_t>(other.step)];
      return user.maker == id && (user.holds || world_.late);
    });
  }

  Plan& plan_;
  const World& world_;
  std::vector<Event> steps_;  // each with its next part
  std::vector<Group> groups_;
};

}  // namespace

Plan draw_on(Chance& chance, const World& world, const Group& group, int count, int most) {
  Plan plan;
  plan.ranks = world.ranks;
  plan.old = world.old;
  Open open(plan, world, group);
  for (int id = 0; id < count; ++id) {
    open.begin(chance, id);
    // The latest step can always go on: nothing uses what it makes.
    while (open.size() > most || (open.size() > 0 && chance.one_in(3)))
      if (!open.advance(chance.below(open.size()))) open.advance(open.size() - 1);
  }
  while (open.size() > 0) open.advance(open.size() - 1);
  return plan;
}

Plan draw(std::uint64_t seed, const World& given) {
  World world = given;
  Chance chance(seed * 1000 + static_cast<std::uint64_t>(world.ranks));
  // Of what a rank that stays outside of MPI owes others, nothing may be under way.
  if (chance.one_in(16) && world.kinds.empty() && !world.breaks) world.kinds = {"aside"};
  const bool quiet = world.kinds.count("aside") != 0;
  Group all;
  all.shares = world.shares;
  all.keeps = world.keeps;
  for (int r = 0; r < world.ranks; ++r) all.members.push_back(r);
  const int count = quiet ? 1 + chance.below(3) : 2 + chance.below(40);
  const int most = quiet ? 0 : 1 + chance.below(8);
  return draw_on(chance, world, all, count, most);
}

void perform_part(const Step& step, int part, Face& face, int world) {
  face.step = step.id;
  if (part == 0)
    step.start(face, world);
  else if (part <= step.middles)
    step.middle(face, world, part - 1);
  else
    step.finish(face, world);
}

void perform(const Plan& plan, Face& face, int world) {
  face.step = -1;
  if (plan.buffered > 0) face.does(TORTURE_CALL(attach_buffer), plan.buffered);
  for (Event event : plan.events)
    perform_part(*plan.steps[static_cast<std::size_t>(event.step)], event.part, face, world);
  if (plan.buffered > 0) face.does(TORTURE_CALL(detach_buffer));
}

void keep(Plan& plan, const std::set<int>& steps) {
  std::vector<bool> stays(plan.steps.size());
  for (std::size_t id = 0; id < stays.size(); ++id) {
    const int maker = plan.steps[id]->maker;
    stays[id] = steps.count(static_cast<int>(id)) != 0 && (maker < 0 || stays[static_cast<std::size_t>(maker)]);
  }
  std::erase_if(plan.events, [&](Event event) { return !stays[static_cast<std::size_t>(event.step)]; });
}

}  // namespace torture
