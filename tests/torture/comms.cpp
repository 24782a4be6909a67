// SPDX-License-Identifier: BSD-3-Clause
// Communicators: duplicates, splits, groups, Cartesian ones; freed at the finish, also with messages under way.
#include <algorithm>

#include "plan.hpp"

namespace torture {
namespace {

enum class Way { dup, idup, split, cart, count };

struct Make : Step {
  Group group;
  Way way = Way::dup;
  std::vector<Group> made;
  int colours = 1;
  bool backward = false;
  std::vector<int> dims, periodic{1};

  std::vector<Group> groups() const override { return made; }

  const Group* mine(int world) const {
    for (const Group& g : made)
      if (g.rank_of(world) >= 0) return &g;
    return nullptr;
  }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    const Comm from{group.comm};
    const Group& to = *mine(world);
    const CommRef c{to.comm};
    switch (way) {
      case Way::dup:
        f.call(TORTURE_CALL(MPI_Comm_dup), from, c);
        break;
      case Way::idup:
        f.call(TORTURE_CALL(MPI_Comm_idup), from, c, Req{object(id, 0)});
        f.does(TORTURE_CALL(complete), id, me % 6, Req{object(id, 0)}, Stat{object(id, 0)});
        break;
      case Way::split:
        f.call(TORTURE_CALL(MPI_Comm_split), from, me % colours, backward ? -me : me, c);
        break;
      default:
        f.call(TORTURE_CALL(MPI_Cart_create), from, 1, Ints{&dims}, Ints{&periodic}, 0, c);
    }
    f.does(TORTURE_CALL(expect_size), id, Comm{to.comm}, to.size(), to.rank_of(world));
  }
  void finish(Face& f, int world) const override {
    const Group* to = mine(world);
    if (to != nullptr) f.call(TORTURE_CALL(MPI_Comm_free), CommRef{to->comm});
  }
};

}  // namespace

std::unique_ptr<Step> draw_comm(Chance& chance, const Group& group, int id) {
  auto step = std::make_unique<Make>();
  step->what = "communicator";
  step->group = group;
  step->makes = true;
  step->dims = {group.size()};
  step->way = static_cast<Way>(chance.below(static_cast<int>(Way::count)));
  if (step->way == Way::split) {
    step->colours = 1 + chance.below(std::min(3, group.size()));
    step->backward = chance.one_in(2);
  }
  for (int colour = 0; colour < step->colours; ++colour) {
    Group made;
    made.comm = object(id, colour);
    made.maker = id;
    for (int r = colour; r < group.size(); r += step->colours)
      made.members.push_back(group.members[static_cast<std::size_t>(r)]);
    if (step->backward) std::reverse(made.members.begin(), made.members.end());
    step->made.push_back(made);
  }
  return step;
}

}  // namespace torture
