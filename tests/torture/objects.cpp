// SPDX-License-Identifier: BSD-3-Clause
// Attributes with callbacks, infos, wrong calls and what they return, many communicators at once, sessions, buffers of
// a communicator, and spawned
// worlds: each is a function of content.hpp that all members call.
#include "plan.hpp"

namespace torture {
namespace {

enum class What { attributes, infos, errors, comms, session, buffers, spawn };
const char* const names[] = {"attributes",         "infos",   "wrong calls",
                             "many communicators", "session", "buffer of a communicator"};

struct Objects : Step {
  Group group;
  What tried = What::attributes;
  int many = 1, words = 0, root = 0;
  unsigned how = 0;  // what worlds do when they meet: bits of meet_world

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    const Comm c{group.comm};
    switch (tried) {
      case What::attributes:
        return f.does(TORTURE_CALL(try_attributes), id, c, many);
      case What::infos:
        return f.does(TORTURE_CALL(try_infos), id, many);
      case What::comms:
        return f.does(TORTURE_CALL(try_comms), id, c, many * many * 5);
#if MPI_VERSION >= 4
      case What::session:
        if (f.old()) return;
        return f.does(TORTURE_CALL(try_session), id, Ints{&group.members}, group.size(), me);
#endif
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
      case What::buffers:
        if (f.old()) return;
        return f.does(TORTURE_CALL(try_buffers), id, c, many, words, Key{key});
#endif
      case What::spawn:
        return f.does(TORTURE_CALL(try_spawn), id, c, many, root, Key{how});
      default:
        f.does(TORTURE_CALL(try_errors), id, c);
    }
  }
  void finish(Face&, int) const override {}
};

}  // namespace

std::unique_ptr<Step> draw_objects(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Objects>();
  step->group = group;
  step->tried = static_cast<What>(chance.below(static_cast<int>(What::spawn)));
  step->what = names[static_cast<int>(step->tried)];
  step->many = 1 + chance.below(4);
  step->words = draw_words(chance) % 20000;
  return step;
}

std::unique_ptr<Step> draw_spawn(Chance& chance, const Group& group, int id) {
  // Processes take their time to start.
  if (group.size() > 9 || !chance.one_in(3)) return draw_comm(chance, group, id);
  auto step = std::make_unique<Objects>();
  step->what = "spawned world";
  step->group = group;
  step->tried = What::spawn;
  step->many = 1 + chance.below(2);
  step->root = chance.below(group.size());
  // One world more in four, and again; a communicator that is only freed keeps worlds joined to the end.
  for (unsigned at = 0; at < 18; at += 6) {
    step->how |= static_cast<unsigned>(chance.below(8) | (chance.one_in(4) ? 8 : 0) | chance.of({0, 0, 0, 16, 32, 48}))
                 << at;
    if ((step->how >> at & 8) == 0) break;
  }
  return step;
}

}  // namespace torture
