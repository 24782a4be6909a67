// SPDX-License-Identifier: BSD-3-Clause
// Windows of every kind, with several epochs of every kind; other steps go on while an epoch is open.
#include "window.hpp"

namespace torture {
namespace {

struct Window : Step, WindowPlan {
  Win win() const { return {object(id, 0)}; }
  Disp disp(int target, int word) const {
    const bool dynamic = flavour == Flavour::dynamic;
    return {static_cast<long>(word) * (dynamic ? 4 : 4 / unit), dynamic ? object(id, 0) : -1, target};
  }
  unsigned first(int origin, int target) const {
    return static_cast<unsigned>((origin * group.size() + target) * area);
  }

  void make_window(Face& f, int me) const {
    const Comm c{group.comm};
    const BufRef memory{object(id, 0)};
    const Size bytes{4L * words()};
    const Info info{told ? object(id, 0) : -1};
    if (told) {
      f.call(TORTURE_CALL(MPI_Info_create), InfoRef{info.index});
      f.call(TORTURE_CALL(MPI_Info_set), info, Text{"same_disp_unit"}, Text{"true"});
      f.call(TORTURE_CALL(MPI_Info_set), info, Text{"accumulate_ops"}, Text{"same_op_no_op"});
      f.call(TORTURE_CALL(MPI_Info_set), info, Text{"alloc_shared_noncontig"}, Text{"true"});
    }
    switch (flavour) {
      case Flavour::create:
        f.does(TORTURE_CALL(make), memory, words() - 1);
        f.call(TORTURE_CALL(MPI_Win_create), Buf{memory.index}, bytes, unit, info, c, WinRef{win().index});
        break;
      case Flavour::allocate:
        f.call(TORTURE_CALL(MPI_Win_allocate), bytes, unit, info, c, memory, WinRef{win().index});
        break;
      case Flavour::shared:
        f.call(TORTURE_CALL(MPI_Win_allocate_shared), bytes, unit, info, c, memory, WinRef{win().index});
        break;
      default:
        f.does(TORTURE_CALL(make), memory, words() - 1);
        f.call(TORTURE_CALL(MPI_Win_create_dynamic), info, c, WinRef{win().index});
        f.call(TORTURE_CALL(MPI_Win_attach), win(), Buf{memory.index}, bytes);
        f.does(TORTURE_CALL(exchange_addresses), id, c, Buf{memory.index}, Aints{object(id, 0)});
    }
    if (told) f.call(TORTURE_CALL(MPI_Info_free), InfoRef{info.index});
    f.call(TORTURE_CALL(MPI_Win_lock), TORTURE_NAMED(MPI_LOCK_EXCLUSIVE), me, 0, win());
    f.does(TORTURE_CALL(blank), Buf{memory.index}, words());
    f.does(TORTURE_CALL(fill), Buf{memory.index, all_at()}, Layout{-1}, 1, 1, area, Key{key + kAllKey}, 0);
    f.does(TORTURE_CALL(fill_whole), Buf{memory.index, whole_at()}, whole, Key{key + kWholeKey}, Key{0});
    for (int i = cell_at(); i <= hand_at(); ++i) f.does(TORTURE_CALL(set_number), Buf{memory.index, i}, Key{0});
    f.does(TORTURE_CALL(begin_combined), Buf{memory.index, combine_at()}, kind, elements);
    f.call(TORTURE_CALL(MPI_Win_unlock), me, win());
    f.call(TORTURE_CALL(MPI_Barrier), c);
  }

  /// The buffers of a round: what goes out, and what comes in.
  void make_buffers(Face& f, const Round& round, int me) const {
    f.does(TORTURE_CALL(make), BufRef{object(id, 1)}, buffer_words(round, me));
    f.does(TORTURE_CALL(make), BufRef{object(id, 2)}, buffer_words(round, me));
  }
  void drop_buffers(Face& f, const Round& round, int me) const {
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 1)}, buffer_words(round, me));
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 2)}, buffer_words(round, me));
  }
  int buffer_words(const Round& round, int me) const { return op_words(round, me) + (round.hand != 0 ? 2 : 0); }
  int op_words(const Round& round, int me) const {
    int most = 0;
    for (const Op& op : round.ops)
      if (op.origin == me) most = std::max(most, std::max(op.out, op.in) + place_words());
    for (const Visit& visit : round.visits) {
      if (visit.origin == me) most = std::max(most, place_words());
      for (const Op& op : visit.ops)
        if (op.origin == me) most = std::max(most, std::max(op.out, op.in) + place_words());
    }
    return most;
  }

  Buf out_of(const Op& op) const { return {object(id, 1), op.out + here.origin()}; }
  Buf in_of(const Op& op) const { return {object(id, 2), op.in + here.origin()}; }
  Type here_type() const { return here.type(id, 0); }
  Type there_type() const { return there.type(id, 2); }

  template <class C, class R>
  void transfer(Face& f, const Op& op, const C& function, const R& with_request, Buf buffer) const {
    const int n = area / here.size(), m = area / there.size();
    const Disp at = disp(op.target, op.origin * room() + base());
    if (op.request)
      f.call(with_request, buffer, n, here_type(), op.target, at, m, there_type(), win(), Req{object(id, 0)});
    else
      f.call(function, buffer, n, here_type(), op.target, at, m, there_type(), win());
  }
  template <class O>
  void accumulate(Face& f, const Op& op, O operation) const {
    const int n = area / here.size(), m = area / there.size();
    const Disp at = disp(op.target, op.origin * room() + base());
    const Req r{object(id, 0)};
    if (op.what != What::get_add && op.what != What::get_nothing) {
      if (op.request)
        f.call(TORTURE_COUNTED(MPI_Raccumulate), out_of(op), n, here_type(), op.target, at, m, there_type(), operation,
               win(), r);
      else
        f.call(TORTURE_COUNTED(MPI_Accumulate), out_of(op), n, here_type(), op.target, at, m, there_type(), operation,
               win());
    } else if (op.request) {
      f.call(TORTURE_COUNTED(MPI_Rget_accumulate), out_of(op), n, here_type(), in_of(op), n, here_type(), op.target, at,
             m, there_type(), operation, win(), r);
    } else {
      f.call(TORTURE_COUNTED(MPI_Get_accumulate), out_of(op), n, here_type(), in_of(op), n, here_type(), op.target, at,
             m, there_type(), operation, win());
    }
  }

  void issue(Face& f, const Op& op) const {
    const Type word{-1};
    const Buf out{object(id, 1), op.out}, in{object(id, 2), op.in};
    const int n = area;
    if (op.what == What::put || op.what == What::replace || op.what == What::add || op.what == What::get_add)
      f.does(TORTURE_CALL(fill), out_of(op), here.layout(id, 0), here.size(), here.extent(), area, Key{key + op.from},
             static_cast<int>(first(op.origin, op.target)));
    if (op.what == What::all_add) f.does(TORTURE_CALL(fill), out, Layout{-1}, 1, 1, n, Key{key + op.from}, 0);
    if (op.what == What::cell_add || op.what == What::count_up) f.does(TORTURE_CALL(set_number), out, Key{1});
    if (op.what == What::cell_swap) {
      f.does(TORTURE_CALL(set_number), out, Key{static_cast<unsigned>(op.members + 1)});
      f.does(TORTURE_CALL(set_number), Buf{in.index, in.at + 1}, Key{static_cast<unsigned>(op.members)});
    }
    switch (op.what) {
      case What::put:
        transfer(f, op, TORTURE_COUNTED(MPI_Put), TORTURE_COUNTED(MPI_Rput), out_of(op));
        break;
      case What::get:
        transfer(f, op, TORTURE_COUNTED(MPI_Get), TORTURE_COUNTED(MPI_Rget), in_of(op));
        break;
      case What::add:
      case What::get_add:
        accumulate(f, op, TORTURE_NAMED(MPI_SUM));
        break;
      case What::replace:
        accumulate(f, op, TORTURE_NAMED(MPI_REPLACE));
        break;
      case What::get_nothing:
        accumulate(f, op, TORTURE_NAMED(MPI_NO_OP));
        break;
      case What::all_add:
        if (op.zeros > 0)
          f.does(TORTURE_CALL(add_zeros), id, in, n, op.target, disp(op.target, all_at()), op.zeros, win());
        if (op.times > 1)
          f.does(TORTURE_CALL(add_again), id, out, n, op.target, disp(op.target, all_at()), Key{key + op.from},
                 op.times, win());
        else
          f.call(TORTURE_COUNTED(MPI_Accumulate), out, n, word, op.target, disp(op.target, all_at()), n, word,
                 TORTURE_NAMED(MPI_SUM), win());
        break;
      case What::all_get:
        f.call(TORTURE_COUNTED(MPI_Get), in, n, word, op.target, disp(op.target, all_at()), n, word, win());
        break;
      case What::cell_swap:
        f.call(TORTURE_CALL(MPI_Compare_and_swap), out, Buf{in.index, in.at + 1}, in, word, op.target,
               disp(op.target, cell_at() + op.origin), win());
        break;
      case What::combine:
        f.does(TORTURE_CALL(combine), id, out, in, kind, elements, op.members, op.how, op.target,
               disp(op.target, combine_at()), flavour == Flavour::dynamic ? 1 : unit, win());
        break;
      default: {
        const int cell = op.what == What::count_up ? group.size() : op.origin;
        f.call(TORTURE_CALL(MPI_Fetch_and_op), out, in, word, op.target, disp(op.target, cell_at() + cell),
               TORTURE_NAMED(MPI_SUM), win());
      }
    }
    if (op.request) f.does(TORTURE_CALL(complete), id, op.target % 6, Req{object(id, 0)}, Stat{object(id, 0)});
    if (op.taken) {
      f.call(TORTURE_CALL(MPI_Win_flush_local), op.target, win());
      f.does(TORTURE_CALL(blank), Buf{object(id, 1), op.out}, place_words());
    }
    if (op.flush == 1) f.call(TORTURE_CALL(MPI_Win_flush), op.target, win());
    if (op.flush == 2) f.call(TORTURE_CALL(MPI_Win_flush_all), win());
  }

  /// What the origin finds in its buffers after the epoch.
  void check(Face& f, const Op& op) const {
    const Buf out{object(id, 1), op.out}, in{object(id, 2), op.in};
    const int at = static_cast<int>(first(op.origin, op.target));
    const auto area_is = [&](Buf b, unsigned from, int members) {
      f.does(TORTURE_CALL(expect), id, b, here.layout(id, 0), here.size(), here.extent(), area, Key{key + from},
             members, at);
    };
    const auto plain_is = [&](Buf b, unsigned from, int members) {
      f.does(TORTURE_CALL(expect), id, b, Layout{-1}, 1, 1, area, Key{key + from}, members, 0);
    };
    const bool sends =
        op.what == What::put || op.what == What::replace || op.what == What::add || op.what == What::get_add;
    if (sends && !op.taken) area_is(out_of(op), op.from, 1);
    const unsigned since = op.from - static_cast<unsigned>(op.members);  // what was there before an add
    if (op.what == What::get_add) area_is(in_of(op), since, op.members);
    if (op.what == What::get || op.what == What::get_nothing) area_is(in_of(op), op.from, op.members);
    if (op.zeros > 0) f.does(TORTURE_CALL(blank), in, area);
    for (const Buf b : {out, in})
      if (op.what == What::combine) f.does(TORTURE_CALL(blank), b, place_words());
    if (op.what == What::all_add && !op.taken) plain_is(out, op.from + static_cast<unsigned>(op.times - 1), 1);
    if (op.what == What::all_get) plain_is(in, kAllKey, op.members);
    if (op.what == What::cell_add || op.what == What::cell_swap || op.what == What::count_up) {
      const auto set = static_cast<unsigned>(op.what == What::cell_swap ? op.members + 1 : 1);
      f.does(TORTURE_CALL(expect_number), id, out, Key{set});
      if (op.what == What::count_up)
        f.does(TORTURE_CALL(expect_below), id, in, Key{static_cast<unsigned>(counts[index(op.target)])});
      else
        f.does(TORTURE_CALL(expect_number), id, in, Key{static_cast<unsigned>(op.members)});
    }
    if (op.what == What::cell_swap)
      f.does(TORTURE_CALL(expect_number), id, Buf{in.index, in.at + 1}, Key{static_cast<unsigned>(op.members)});
  }

  void visit(Face& f, const Visit& v) const {
    const auto lock = v.exclusive ? TORTURE_NAMED(MPI_LOCK_EXCLUSIVE) : TORTURE_NAMED(MPI_LOCK_SHARED);
    f.call(TORTURE_CALL(MPI_Win_lock), lock, v.target, 0, win());
    for (const Op& op : v.ops) issue(f, op);
    f.call(TORTURE_CALL(MPI_Win_unlock), v.target, win());
    for (const Op& op : v.ops) check(f, op);
  }

  /// Reads or writes the whole area under one lock: nobody may see a part of a write.
  void isolated(Face& f, const Visit& v) const {
    const Type word{-1};
    const Buf out{object(id, 1)}, in{object(id, 2)};
    const Disp at = disp(v.target, whole_at());
    const auto lock = v.exclusive ? TORTURE_NAMED(MPI_LOCK_EXCLUSIVE) : TORTURE_NAMED(MPI_LOCK_SHARED);
    if (v.puts) f.does(TORTURE_CALL(fill_whole), out, whole, Key{key + kWholeKey}, Key{v.version});
    f.call(TORTURE_CALL(MPI_Win_lock), lock, v.target, 0, win());
    if (v.within >= 0) {
      f.call(TORTURE_CALL(MPI_Win_lock), lock, v.within, 0, win());
      f.call(TORTURE_COUNTED(MPI_Get), in, whole, word, v.within, disp(v.within, whole_at()), whole, word, win());
      f.call(TORTURE_CALL(MPI_Win_unlock), v.within, win());
      f.does(TORTURE_CALL(expect_whole), id, in, whole, Key{key + kWholeKey});
    }
    if (!v.puts || v.flushes) f.call(TORTURE_COUNTED(MPI_Get), in, whole, word, v.target, at, whole, word, win());
    if (v.flushes) f.call(TORTURE_CALL(MPI_Win_flush), v.target, win());
    if (v.puts) f.call(TORTURE_COUNTED(MPI_Put), out, whole, word, v.target, at, whole, word, win());
    f.call(TORTURE_CALL(MPI_Win_unlock), v.target, win());
    if (!v.puts || v.flushes) f.does(TORTURE_CALL(expect_whole), id, in, whole, Key{key + kWholeKey});
    if (v.puts) f.does(TORTURE_CALL(blank), out, whole);
  }

  void hand_round(Face& f, const Round& round, int me) const {
    const int at = op_words(round, me), next = (me + 1) % group.size();
    const Buf out{object(id, 1), at}, in{object(id, 2), at}, cell{object(id, 0), hand_at()};
    const auto pass = [&] {
      f.does(TORTURE_CALL(hand_on), id, out, in, round.how, next, disp(next, hand_at()), Key{round.hand}, win());
    };
    if (me == round.first) pass();
    f.does(TORTURE_CALL(await_hand), id, in, cell, round.fetches ? 1 : 0, me, disp(me, hand_at()), Key{round.hand},
           Comm{group.comm}, win());
    if (me != round.first) pass();
  }

  void open(Face& f, int r, int me) const {
    const Round& round = rounds[index(r)];
    make_buffers(f, round, me);
    const std::vector<int>& to = accessed[index(r * group.size() + me)];
    const std::vector<int>& from = accessing[index(r * group.size() + me)];
    if (round.sync == Sync::fence) f.call(TORTURE_CALL(MPI_Win_fence), 0, win());
    if (round.sync == Sync::post) {
      f.call(TORTURE_CALL(MPI_Win_get_group), win(), GrpRef{object(id, 0)});
      f.call(TORTURE_CALL(MPI_Group_incl), Grp{object(id, 0)}, static_cast<int>(from.size()), Ints{&from},
             GrpRef{object(id, 1)});
      f.call(TORTURE_CALL(MPI_Group_incl), Grp{object(id, 0)}, static_cast<int>(to.size()), Ints{&to},
             GrpRef{object(id, 2)});
      f.call(TORTURE_CALL(MPI_Win_post), Grp{object(id, 1)}, 0, win());
      f.call(TORTURE_CALL(MPI_Win_start), Grp{object(id, 2)}, 0, win());
      for (int n = 0; n < 3; ++n) f.call(TORTURE_CALL(MPI_Group_free), GrpRef{object(id, n)});
    }
    if (round.sync == Sync::lock_all) f.call(TORTURE_CALL(MPI_Win_lock_all), 0, win());
    for (const Op& op : round.ops)
      if (op.origin == me) issue(f, op);
    for (const Visit& v : round.visits)
      if (v.origin == me) round.sync == Sync::isolate ? isolated(f, v) : visit(f, v);
    if (round.hand != 0) hand_round(f, round, me);
  }

  void close(Face& f, int r, int me) const {
    const Round& round = rounds[index(r)];
    const bool last = r + 1 == static_cast<int>(rounds.size());
    if (round.sync == Sync::fence) {
      const auto asserted = last ? TORTURE_NAMED(MPI_MODE_NOSUCCEED) : named(0, "0");
      f.call(TORTURE_CALL(MPI_Win_fence), asserted, win());
    }
    if (round.sync == Sync::post) {
      f.call(TORTURE_CALL(MPI_Win_complete), win());
      f.does(TORTURE_CALL(await_exposure_end), id, win(), round.tests ? 1 : 0);
      if (round.scribbles) f.does(TORTURE_CALL(scribble), Buf{object(id, 0)}, words());
    }
    if (round.sync == Sync::lock_all) f.call(TORTURE_CALL(MPI_Win_unlock_all), win());
    for (const int n : {1, 2})
      if (round.hand != 0) f.does(TORTURE_CALL(blank), Buf{object(id, n), op_words(round, me)}, 2);
    for (const Op& op : round.ops)
      if (op.origin == me) check(f, op);
    // A rank that has left its epoch may be ahead of a target that has not.
    if (passive(round.sync) || last || passive(rounds[index(r + 1)].sync))
      f.call(TORTURE_CALL(MPI_Barrier), Comm{group.comm});
    drop_buffers(f, round, me);
  }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    here.make(f, id, 0);
    there.make(f, id, 2);
    make_window(f, me);
    open(f, 0, me);
  }
  void middle(Face& f, int world, int at) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    close(f, at, me);
    open(f, at + 1, me);
  }

  /// The memory of `target` after all epochs; in shared memory another rank looks.
  void check_memory(Face& f, int target) const {
    const Buf memory{object(id, flavour == Flavour::shared ? 3 : 0)};
    if (flavour == Flavour::shared) f.does(TORTURE_CALL(query_shared), id, win(), target, BufRef{memory.index});
    for (const auto& [pair, is] : state) {
      if (pair.second != target) continue;
      f.does(TORTURE_CALL(expect), id, Buf{memory.index, pair.first * room() + base()}, there.layout(id, 2),
             there.size(), there.extent(), area, Key{key + is.first}, is.second,
             static_cast<int>(first(pair.first, target)));
    }
    f.does(TORTURE_CALL(expect), id, Buf{memory.index, all_at()}, Layout{-1}, 1, 1, area, Key{key + kAllKey},
           all_members[index(target)], 0);
    f.does(TORTURE_CALL(expect_whole), id, Buf{memory.index, whole_at()}, whole, Key{key + kWholeKey});
    for (int i = 0; i <= group.size(); ++i) {
      const auto cell = cells.find({i, target});
      const int want = i == group.size() ? counts[index(target)] : cell == cells.end() ? 0 : cell->second;
      f.does(TORTURE_CALL(expect_number), id, Buf{memory.index, cell_at() + i}, Key{static_cast<unsigned>(want)});
    }
    f.does(TORTURE_CALL(expect_number), id, Buf{memory.index, hand_at()}, Key{hands});
    f.does(TORTURE_CALL(expect_combined), id, Buf{memory.index, combine_at()}, kind, elements, combined[index(target)]);
    f.does(TORTURE_CALL(blank), Buf{memory.index, combine_at()}, elements * kCombineWords);
    f.does(TORTURE_CALL(expect_blank), id, memory, words());
  }

  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    close(f, static_cast<int>(rounds.size()) - 1, me);
    const int target = flavour == Flavour::shared ? (me + 1) % group.size() : me;
    f.call(TORTURE_CALL(MPI_Win_lock), TORTURE_NAMED(MPI_LOCK_EXCLUSIVE), target, 0, win());
    check_memory(f, target);
    f.call(TORTURE_CALL(MPI_Win_unlock), target, win());
    const BufRef memory{object(id, 0)};
    if (flavour == Flavour::dynamic) {
      f.call(TORTURE_CALL(MPI_Barrier), Comm{group.comm});
      f.call(TORTURE_CALL(MPI_Win_detach), win(), Buf{memory.index});
      f.does(TORTURE_CALL(drop_addresses), Aints{object(id, 0)});
    }
    f.call(TORTURE_CALL(MPI_Win_free), WinRef{win().index});
    if (flavour == Flavour::create || flavour == Flavour::dynamic) f.does(TORTURE_CALL(drop), memory);
    here.free(f, id, 0);
    there.free(f, id, 2);
  }
};

}  // namespace

std::unique_ptr<Step> draw_window(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Window>();
  step->what = "window";
  step->group = group;
  step->holds = true;
  step->flavour = static_cast<Flavour>(chance.below(static_cast<int>(Flavour::count)));
  if (step->flavour == Flavour::shared && !group.shares) step->flavour = Flavour::allocate;
  step->unit = step->flavour == Flavour::dynamic ? 1 : chance.of({1, 4});
  step->told = chance.one_in(3);
  const int most = group.size() > 9 ? 100 : group.size() > 3 || !chance.one_in(6) ? 10000 : 50000;
  step->area = std::max(1, draw_words(chance) % most);
  if (most > 10000 && chance.one_in(2)) step->area = most;
  step->whole = std::max(2, draw_words(chance) % (group.size() > 9 ? 1000 : 30000));
  if (chance.one_in(2)) {
    step->area += 48 - step->area % 48;
    step->here = Shape(chance);
    step->there = Shape(chance);
  }
  step->kind = chance.below(kCombineKinds);
  step->elements = group.size() > 9 ? chance.of({1, 3}) : chance.of({1, 3, 40, 700});
  step->middles = chance.below(4);
  draw_epochs(chance, *step, 1 + step->middles);
  return step;
}

}  // namespace torture
