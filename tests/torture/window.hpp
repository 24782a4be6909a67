// SPDX-License-Identifier: BSD-3-Clause
// What a step with a window does: its epochs and their operations.
//
// The memory of a window, words in this order: one area for each origin; an area to which all add; one that is read and
// written as a whole under locks; a cell for each origin; a counter for all; a word that goes round; elements that all
// combine (combine.hpp). An area of its own origin has one right outcome. What it contains is the sum of words of
// successive keys: a put begins anew, an accumulate adds the next one.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "combine.hpp"
#include "plan.hpp"
#include "shape.hpp"

namespace torture {

enum class Flavour { create, allocate, shared, dynamic, count };
enum class Sync { fence, post, lock_all, lock, isolate, count };
enum class What {
  put,
  add,
  replace,
  get,
  get_add,
  get_nothing,
  all_add,
  all_get,
  cell_add,
  cell_swap,
  count_up,
  combine
};

constexpr unsigned kAllKey = 512;    // of the area to which all add
constexpr unsigned kWholeKey = 900;  // of the one that is read and written as a whole

struct Op {
  int origin = 0, target = 0;
  What what = What::put;
  bool request = false;  // the form that returns one
  bool taken = false;    // MPI_Win_flush_local, and then the origin's buffer is used for something else
  int flush = 0;         // afterwards: none, flush, flush_all
  unsigned from = 0;     // key, relative to the step's
  int members = 1;       // what a get brings, a cell's number, or the one that is combined
  int how = 0;           // of combine()
  int times = 1;         // of an add to the area of all
  int zeros = 0;         // so often, before that, nothing is added to it
  int out = 0, in = 0;   // words of the origin's two buffers
};

/// Visits of one target under a lock.
struct Visit {
  int origin = 0, target = 0;
  int within = -1;  // a target that is read, too, under a shared lock inside of this one, which is shared then
  bool exclusive = false;
  bool flushes = false;  // and looks before it unlocks
  bool puts = false;
  unsigned version = 0;
  std::vector<Op> ops;
};

struct Round {
  Sync sync = Sync::fence;
  bool tests = false;      // waits by MPI_Win_test
  bool scribbles = false;  // the target uses its memory for something else when its exposure has ended
  std::vector<Op> ops;
  std::vector<Visit> visits;
  // A word goes round by operations that nobody flushes: each rank waits for it, and hands it on.
  unsigned hand = 0;     // its value; 0: none
  int first = 0;         // who begins
  int how = 0;           // hand_on()
  bool fetches = false;  // who waits reads by operations, too
};

inline bool passive(Sync sync) {
  return sync != Sync::fence && sync != Sync::post;
}

struct WindowPlan {
  Group group;
  Flavour flavour = Flavour::create;
  int area = 0, whole = 1;  // words of data
  int unit = 4;
  bool told = false;  // an MPI_Info
  Shape there, here;  // how an area lies in the window, and in the origin's buffers
  std::vector<Round> rounds;
  std::map<std::pair<int, int>, std::pair<unsigned, int>> state;  // origin, target: first key, members
  std::vector<std::vector<int>> accessed, accessing;  // targets and origins of a rank, a round after another
  int kind = 0, elements = 1;                         // that all combine
  std::vector<int> counts, all_members, combined;     // of each target
  std::map<std::pair<int, int>, int> cells;
  unsigned hands = 0;  // of all rounds

  /// Words from the begin of an area to the address of its elements; a displacement may not be negative.
  int base() const { return std::max(0, there.origin()); }
  int room() const { return base() - there.origin() + there.words(area / there.size()); }
  int origin_room() const { return here.words(area / here.size()); }
  int all_at() const { return group.size() * room(); }
  int whole_at() const { return all_at() + area; }
  int cell_at() const { return whole_at() + whole; }
  int hand_at() const { return cell_at() + group.size() + 1; }
  int combine_at() const { return (hand_at() + kCombineWords) / kCombineWords * kCombineWords; }  // aligned
  int words() const { return combine_at() + elements * kCombineWords; }
  /// Words of the origin's buffers that one operation takes.
  int place_words() const {
    const int least = std::max({origin_room(), area, whole, 2, elements * kCombineWords});
    return (least + kCombineWords - 1) / kCombineWords * kCombineWords;
  }
};

inline std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

/// Draws so many epochs.
void draw_epochs(Chance& chance, WindowPlan& plan, int rounds);

}  // namespace torture
