// SPDX-License-Identifier: BSD-3-Clause
// Draws the epochs of a window and follows what they leave in its memory.
#include "window.hpp"

namespace torture {
namespace {

bool accumulates(What what) {
  return what == What::add || what == What::get_add || what == What::get_nothing;
}

class Drawer {
 public:
  Drawer(Chance& chance, WindowPlan& step) : chance_(chance), step_(step), p_(step.group.size()) {}

  void draw(int rounds) {
    step_.counts.assign(index(p_), 0);
    step_.all_members.assign(index(p_), 1);
    step_.combined.assign(index(p_), 0);
    for (int r = 0; r < rounds; ++r) {
      step_.rounds.push_back(draw_round());
      for (int rank = 0; rank < p_; ++rank) note_partners(rank);
    }
  }

 private:
  Round draw_round() {
    Round round;
    round.sync = static_cast<Sync>(chance_.below(static_cast<int>(Sync::count)));
    round.tests = chance_.one_in(2);
    round.scribbles = chance_.one_in(2);
    passive_ = passive(round.sync);
    all_gets_ = chance_.one_in(2);
    swaps_ = chance_.one_in(2);
    const int crowded = passive_ && !all_gets_ && chance_.one_in(3) ? chance_.below(p_) : -1;  // all add to its area
    for (int origin = 0; origin < p_; ++origin) {
      places_ = 0;
      for (int n = chance_.below(p_ > 9 ? 2 : 4); n > 0; --n) {
        const int target = chance_.below(p_);
        if (round.sync == Sync::isolate)
          round.visits.push_back(draw_isolated(origin, target));
        else if (round.sync == Sync::lock)
          round.visits.push_back(draw_visit(origin, target));
        else
          draw_ops(round.ops, origin, target);
      }
      if (crowded >= 0 && round.sync == Sync::lock_all) round.ops.push_back(draw_of_crowd(origin, crowded));
      if (crowded >= 0 && round.sync == Sync::lock) {
        Visit visit;
        visit.origin = origin;
        visit.target = crowded;
        visit.ops.push_back(draw_of_crowd(origin, crowded));
        round.visits.push_back(visit);
      }
      modes_.clear();
    }
    if (round.sync == Sync::lock_all && p_ > 1 && p_ <= 33 && chance_.one_in(2)) {
      round.hand = ++step_.hands;
      round.first = chance_.below(p_);
      round.how = chance_.below(5);
      round.fetches = round.how < 3 && chance_.one_in(2);
    }
    return round;
  }

  Visit draw_isolated(int origin, int target) {
    Visit v;
    v.origin = origin;
    v.target = target;
    v.puts = chance_.one_in(2);
    v.exclusive = v.puts || chance_.one_in(2);
    v.flushes = chance_.one_in(3);
    v.version = static_cast<unsigned>(1 + chance_.below(100));
    if (!v.exclusive && chance_.one_in(2)) v.within = chance_.below(p_);
    if (v.within == target) v.within = -1;
    return v;
  }
  Visit draw_visit(int origin, int target) {
    Visit v;
    v.origin = origin;
    v.target = target;
    v.exclusive = chance_.one_in(2);
    modes_.clear();
    draw_ops(v.ops, origin, target);
    return v;
  }

  /// One of many accumulates on one place at a time.
  Op draw_of_crowd(int origin, int target) {
    Op op{origin, target, What::all_add};
    op.times = p_ > 9 ? 2 : 12;
    note_all_add(op);
    take_place(op);
    return op;
  }

  What draw_what(bool empty) {
    if (empty) return chance_.one_in(3) ? What::replace : What::put;
    return static_cast<What>(chance_.below(static_cast<int>(What::combine) + 1));
  }

  /// Some operations of one origin on one target, in its own area and those of all.
  void draw_ops(std::vector<Op>& ops, int origin, int target) {
    for (int n = 1 + chance_.below(4); n > 0; --n) {
      auto& [from, members] = step_.state[{origin, target}];
      Op op{origin, target, draw_what(members == 0)};
      if (op.what == What::all_add && all_gets_) op.what = What::all_get;
      if (op.what == What::all_get && !all_gets_) op.what = What::all_add;
      // Accumulates of one epoch on one place have one operation.
      if (op.what == What::cell_swap || op.what == What::cell_add) op.what = swaps_ ? What::cell_swap : What::cell_add;
      // In one epoch the data of one place may be put, or gotten, or accumulated: not two of that without a flush.
      const int kind = accumulates(op.what) ? 1 : 2;
      const bool own = op.what <= What::get_nothing;
      int& mode = modes_[target];
      if (own && mode != 0 && (mode != kind || kind == 2)) {
        if (!passive_) continue;
        ops.back().flush = 1 + chance_.below(2);
        if (ops.back().target != target) ops.back().flush = 2;
        mode = 0;
      }
      if (own) mode = kind;
      follow(op, from, members);
      op.request = passive_ && own && chance_.one_in(4);
      op.taken = passive_ && chance_.one_in(5) && op.what <= What::replace;
      take_place(op);
      ops.push_back(op);
    }
    if (step_.state[{origin, target}].second == 0) step_.state.erase({origin, target});
  }

  void follow(Op& op, unsigned& from, int& members) {
    switch (op.what) {
      case What::put:
      case What::replace:
        from += static_cast<unsigned>(members);
        members = 1;
        op.from = from;
        break;
      case What::add:
      case What::get_add:
        op.from = from + static_cast<unsigned>(members);
        op.members = members++;
        break;
      case What::get:
      case What::get_nothing:
        op.from = from;
        op.members = members;
        break;
      case What::all_add:
        if (chance_.one_in(3)) (passive_ ? op.times : op.zeros) = 12;  // of large areas more than may be under way
        note_all_add(op);
        break;
      case What::all_get:
        op.members = step_.all_members[index(op.target)];
        break;
      case What::count_up:
        ++step_.counts[index(op.target)];
        break;
      case What::combine:
        op.how = chance_.below(passive_ ? 5 : 3);
        op.members = ++step_.combined[index(op.target)];
        break;
      default:
        op.members = step_.cells[{op.origin, op.target}]++;
    }
  }

  void note_all_add(Op& op) {
    op.from = kAllKey + static_cast<unsigned>(step_.all_members[index(op.target)]);
    step_.all_members[index(op.target)] += op.times;
  }
  void take_place(Op& op) { op.out = op.in = places_++ * step_.place_words(); }

  void note_partners(int rank) {
    const Round& round = step_.rounds.back();
    std::vector<int> to, from;
    for (const Op& op : round.ops) {
      if (op.origin == rank) to.push_back(op.target);
      if (op.target == rank) from.push_back(op.origin);
    }
    for (std::vector<int>* list : {&to, &from}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    step_.accessed.push_back(to);
    step_.accessing.push_back(from);
  }

  Chance& chance_;
  WindowPlan& step_;
  int p_;
  bool passive_ = false, all_gets_ = false, swaps_ = false;
  int places_ = 0;            // of the origin's buffers, taken in this round
  std::map<int, int> modes_;  // target: what its area of this origin is used for
};

}  // namespace

void draw_epochs(Chance& chance, WindowPlan& plan, int rounds) {
  Drawer(chance, plan).draw(rounds);
}

}  // namespace torture
