// SPDX-License-Identifier: BSD-3-Clause
// Several messages of one sender to receives that fit more than one of them, by source, by tag, or by neither: which
// message a receive gets is decided by the order in which they were sent and posted.
#include <algorithm>

#include "plan.hpp"

namespace torture {
namespace {

constexpr Type kWord{-1};
constexpr int kMostMessages = 6;

struct Receive {
  int tag = -1;  // -1: any
  bool any_source = false;
  int gets = -1;  // message
};

struct Order : Step {
  Group group;
  int from = 0, to = 0, way = 0;
  bool late = false;  // the receives are posted when the messages are there, perhaps
  std::vector<int> tags, words;
  std::vector<Receive> receives;

  static int n(std::size_t i, int first) { return static_cast<int>(i) + first; }

  /// Each message goes to the first receive that fits. Whether each receive gets one.
  bool match() {
    for (Receive& r : receives) r.gets = -1;
    for (std::size_t m = 0; m < tags.size(); ++m)
      for (Receive& r : receives)
        if (r.gets < 0 && (r.tag < 0 || r.tag == tags[m])) {
          r.gets = n(m, 0);
          break;
        }
    return std::all_of(receives.begin(), receives.end(), [](const Receive& r) { return r.gets >= 0; });
  }
  int most() const { return *std::max_element(words.begin(), words.end()); }

  void post(Face& f) const {
    for (std::size_t i = 0; i < receives.size(); ++i) {
      const Receive& r = receives[i];
      const Buf in{object(id, n(i, kMostMessages))};
      const Source source{r.any_source ? -1 : from};
      f.does(TORTURE_CALL(make), BufRef{in.index}, most());
      const Comm c{object(id, 0)};
      const Req request{object(id, n(i, kMostMessages))};
      if (r.tag < 0)
        f.call(TORTURE_COUNTED(MPI_Irecv), in, most(), kWord, source, TORTURE_NAMED(MPI_ANY_TAG), c, request);
      else
        f.call(TORTURE_COUNTED(MPI_Irecv), in, most(), kWord, source, r.tag, c, request);
    }
  }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    f.call(TORTURE_CALL(MPI_Comm_dup), Comm{group.comm}, CommRef{object(id, 0)});
    if (me == to && !late) post(f);
    if (me != from) return;
    for (std::size_t m = 0; m < tags.size(); ++m) {
      const Buf out{object(id, n(m, 0))};
      f.does(TORTURE_CALL(make), BufRef{out.index}, words[m]);
      f.does(TORTURE_CALL(fill), out, Layout{-1}, 1, 1, words[m], Key{key + static_cast<unsigned>(m)}, 0);
      f.call(TORTURE_COUNTED(MPI_Isend), out, words[m], kWord, to, tags[m], Comm{object(id, 0)},
             Req{object(id, n(m, 0))});
    }
  }

  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    if (me == to) {
      if (late) post(f);
      // The last one first, in half of the ways: what has matched does not depend on who is waited for.
      for (std::size_t k = 0; k < receives.size(); ++k) take(f, way % 2 == 0 ? k : receives.size() - 1 - k);
    }
    if (me == from)
      for (std::size_t m = 0; m < tags.size(); ++m) {
        f.does(TORTURE_CALL(complete), id, (way + 1) % 6, Req{object(id, n(m, 0))}, Stat{object(id, 1)});
        f.does(TORTURE_CALL(drop), BufRef{object(id, n(m, 0))});
      }
    f.call(TORTURE_CALL(MPI_Comm_free), CommRef{object(id, 0)});
  }
  void take(Face& f, std::size_t i) const {
    const auto m = static_cast<std::size_t>(receives[i].gets);
    const Buf in{object(id, n(i, kMostMessages))};
    f.does(TORTURE_CALL(complete), id, way, Req{object(id, n(i, kMostMessages))}, Stat{object(id, 0)});
    f.does(TORTURE_CALL(expect_count), id, Stat{object(id, 0)}, from, tags[m], words[m]);
    f.does(TORTURE_CALL(expect), id, in, Layout{-1}, 1, 1, words[m], Key{key + static_cast<unsigned>(m)}, 1, 0);
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{in.index}, most());
  }
};

}  // namespace

std::unique_ptr<Step> draw_order(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Order>();
  step->what = "messages in order";
  step->group = group;
  step->holds = true;
  step->from = chance.below(group.size());
  step->to = chance.below(group.size());
  step->way = chance.below(6);
  step->late = chance.one_in(3);
  const int messages = 1 + chance.below(kMostMessages);
  for (int m = 0; m < messages; ++m) {
    step->tags.push_back(chance.below(3));
    step->words.push_back(draw_words(chance) % 20000);
  }
  step->receives.resize(step->tags.size());
  for (int tries = 0; tries < 20; ++tries) {
    for (Receive& r : step->receives)
      r = {chance.one_in(2) ? -1 : step->tags[static_cast<std::size_t>(chance.below(messages))], chance.one_in(2), -1};
    if (step->match()) return step;
  }
  for (Receive& r : step->receives) r.tag = -1;
  step->match();
  return step;
}

}  // namespace torture
