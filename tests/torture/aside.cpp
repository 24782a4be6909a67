// SPDX-License-Identifier: BSD-3-Clause
// Some ranks stay outside of MPI until the others have exchanged messages: nobody's progress may depend on theirs. They
// learn of it by marks in a file, whose name one of the others tells: so they owe nobody anything meanwhile.
#include <algorithm>

#include "plan.hpp"

namespace torture {
namespace {

constexpr Type kWord{-1};
constexpr int kShort = 8;  // words that every MPI keeps for a receiver which does not come

struct Aside : Step {
  Group group;
  std::vector<int> inside, aside;  // ranks of the group
  int words = 0, way = 0;
  bool leaves = false;  // short messages to those aside are complete before they come

  int tag() const { return id + 1; }
  Buf board() const { return {object(id, 3)}; }
  Key ring_key(int me) const { return {key + static_cast<unsigned>(me)}; }
  Key short_key(int me) const { return {key + 512 + static_cast<unsigned>(me)}; }
  bool is_aside(int me) const { return std::count(aside.begin(), aside.end(), me) > 0; }
  /// Who gets short messages: all that are aside, or the first one, as a step has few requests.
  std::vector<int> awaited() const { return leaves ? aside : std::vector<int>{aside[0]}; }
  int neighbour(int me, int steps) const {
    const auto at = std::find(inside.begin(), inside.end(), me) - inside.begin();
    const auto n = static_cast<int>(inside.size());
    return inside[static_cast<std::size_t>((static_cast<int>(at) + steps + n) % n)];
  }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    f.does(TORTURE_CALL(open_board), id, Comm{group.comm}, BufRef{board().index}, inside[0]);
    if (is_aside(me)) return f.does(TORTURE_CALL(await_marks), board(), static_cast<int>(inside.size()));
    exchange(f, me);
    send_short(f, me);
    f.does(TORTURE_CALL(leave_mark), board());
  }
  void exchange(Face& f, int me) const {
    const Comm c{group.comm};
    const Buf out{object(id, 0)}, in{object(id, 1)};
    const int from = neighbour(me, -1);
    f.does(TORTURE_CALL(make), BufRef{out.index}, words);
    f.does(TORTURE_CALL(make), BufRef{in.index}, words);
    f.does(TORTURE_CALL(fill), out, Layout{-1}, 1, 1, words, ring_key(me), 0);
    f.call(TORTURE_COUNTED(MPI_Irecv), in, words, kWord, from, tag(), c, Req{object(id, 1)});
    f.call(TORTURE_COUNTED(MPI_Isend), out, words, kWord, neighbour(me, 1), tag(), c, Req{object(id, 0)});
    f.does(TORTURE_CALL(complete), id, way, Req{object(id, 1)}, Stat{object(id, 1)});
    f.does(TORTURE_CALL(complete), id, (way + 1) % 6, Req{object(id, 0)}, Stat{object(id, 0)});
    f.does(TORTURE_CALL(expect), id, in, Layout{-1}, 1, 1, words, ring_key(from), 1, 0);
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{in.index}, words);
    f.does(TORTURE_CALL(drop), BufRef{out.index});
  }
  void send_short(Face& f, int me) const {
    const Buf out{object(id, 2)};
    f.does(TORTURE_CALL(make), BufRef{out.index}, kShort);
    f.does(TORTURE_CALL(fill), out, Layout{-1}, 1, 1, kShort, short_key(me), 0);
    for (const int to : awaited())
      if (leaves)
        f.call(TORTURE_COUNTED(MPI_Send), out, kShort, kWord, to, tag(), Comm{group.comm});
      else
        f.call(TORTURE_COUNTED(MPI_Isend), out, kShort, kWord, to, tag(), Comm{group.comm}, Req{object(id, 2)});
  }

  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    const std::vector<int> receivers = awaited();
    if (std::count(receivers.begin(), receivers.end(), me) > 0) receive(f);
    if (!is_aside(me)) {
      if (!leaves) f.does(TORTURE_CALL(complete), id, way, Req{object(id, 2)}, Stat{object(id, 2)});
      f.does(TORTURE_CALL(drop), BufRef{object(id, 2)});
    }
    f.does(TORTURE_CALL(close_board), id, Comm{group.comm}, BufRef{board().index});
  }
  void receive(Face& f) const {
    const Buf in{object(id, 1)};
    for (const int from : inside) {
      f.does(TORTURE_CALL(make), BufRef{in.index}, kShort);
      f.call(TORTURE_COUNTED(MPI_Recv), in, kShort, kWord, from, tag(), Comm{group.comm}, Stat{object(id, 0)});
      f.does(TORTURE_CALL(expect), id, in, Layout{-1}, 1, 1, kShort, short_key(from), 1, 0);
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{in.index}, kShort);
    }
  }
};

}  // namespace

std::unique_ptr<Step> draw_aside(Chance& chance, const Group& group, int id) {
  if (group.size() < 2) return draw_comm(chance, group, id);
  auto step = std::make_unique<Aside>();
  step->what = "ranks aside";
  step->group = group;
  step->holds = true;
  step->words = draw_words(chance);
  step->leaves = group.keeps;
  step->way = chance.below(6);
  const int one_in = chance.of({2, 4, 100});
  for (int r = 0; r < group.size(); ++r) (chance.one_in(one_in) ? step->aside : step->inside).push_back(r);
  for (auto [from, to] : {std::pair{&step->inside, &step->aside}, std::pair{&step->aside, &step->inside}})
    if (to->empty()) {
      to->push_back(from->back());
      from->pop_back();
    }
  return step;
}

}  // namespace torture
