// SPDX-License-Identifier: BSD-3-Clause
// Collectives: blocking, non-blocking and persistent, in place or not; several may be under way.
#include "forms.hpp"
#include "plan.hpp"

namespace torture {
namespace {

enum class Kind {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  scan,
  exscan,
  blocks,
  count
};
const char* const names[] = {"barrier",  "bcast", "reduce", "allreduce",           "gather", "scatter", "allgather",
                             "alltoall", "scan",  "exscan", "reduce_scatter_block"};

struct Collective : Step {
  Group group;
  Kind kind = Kind::barrier;
  Form form = Form::blocking;
  int root = 0, words = 0, way = 0;
  bool in_place = false;

  unsigned key_of(int rank) const { return key + static_cast<unsigned>(rank); }

  template <class... A>
  void calls(Face& f, const A&... a) const {
    call_form(f, form, Req{object(id, 0)}, a...);
  }

  int sent() const {  // words of a member's send buffer
    const int p = group.size();
    return kind == Kind::barrier                                                     ? 0
           : kind == Kind::alltoall || kind == Kind::blocks || kind == Kind::scatter ? words * p
                                                                                     : words;
  }
  int received() const {
    const int p = group.size();
    return kind == Kind::barrier                                                       ? 0
           : kind == Kind::alltoall || kind == Kind::gather || kind == Kind::allgather ? words * p
                                                                                       : words;
  }
  bool sends(int me) const { return !(kind == Kind::bcast || kind == Kind::scatter) || me == root; }
  bool receives(int me) const { return !(kind == Kind::reduce || kind == Kind::gather) || me == root; }

  void invoke(Face& f, int me) const {
    const Buf out{object(id, 0)}, in{object(id, 1)};
    const Type t{-1};
    const Comm c{group.comm};
    const auto sum = TORTURE_NAMED(MPI_SUM);
    const auto same = TORTURE_NAMED(MPI_IN_PLACE);
    const int n = words;
    switch (kind) {
      case Kind::barrier:
        calls(f, TORTURE_FORMS(Barrier, barrier), c);
        break;
      case Kind::bcast:
        calls(f, TORTURE_COUNTED_FORMS(Bcast, bcast), me == root ? out : in, n, t, root, c);
        break;
      case Kind::reduce:
        calls(f, TORTURE_COUNTED_FORMS(Reduce, reduce), out, in, n, t, sum, root, c);
        break;
      case Kind::allreduce:
        if (in_place)
          calls(f, TORTURE_COUNTED_FORMS(Allreduce, allreduce), same, in, n, t, sum, c);
        else
          calls(f, TORTURE_COUNTED_FORMS(Allreduce, allreduce), out, in, n, t, sum, c);
        break;
      case Kind::gather:
        calls(f, TORTURE_COUNTED_FORMS(Gather, gather), out, n, t, in, n, t, root, c);
        break;
      case Kind::scatter:
        calls(f, TORTURE_COUNTED_FORMS(Scatter, scatter), out, n, t, in, n, t, root, c);
        break;
      case Kind::allgather:
        if (in_place)
          calls(f, TORTURE_COUNTED_FORMS(Allgather, allgather), same, 0, t, in, n, t, c);
        else
          calls(f, TORTURE_COUNTED_FORMS(Allgather, allgather), out, n, t, in, n, t, c);
        break;
      case Kind::alltoall:
        calls(f, TORTURE_COUNTED_FORMS(Alltoall, alltoall), out, n, t, in, n, t, c);
        break;
      case Kind::scan:
        calls(f, TORTURE_COUNTED_FORMS(Scan, scan), out, in, n, t, sum, c);
        break;
      case Kind::exscan:
        calls(f, TORTURE_COUNTED_FORMS(Exscan, exscan), out, in, n, t, sum, c);
        break;
      default:
        calls(f, TORTURE_COUNTED_FORMS(Reduce_scatter_block, reduce_scatter_block), out, in, n, t, sum, c);
    }
  }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    const Buf out{object(id, 0)}, in{object(id, 1)};
    f.does(TORTURE_CALL(make), BufRef{out.index}, sends(me) ? sent() : 0);
    f.does(TORTURE_CALL(make), BufRef{in.index}, receives(me) ? received() : 0);
    if (sends(me)) f.does(TORTURE_CALL(fill), out, Layout{-1}, 1, 1, sent(), Key{key_of(me)}, 0);
    if (in_place) {
      const Buf at{in.index, kind == Kind::allgather ? me * words : 0};
      f.does(TORTURE_CALL(fill), at, Layout{-1}, 1, 1, words, Key{key_of(me)}, 0);
    }
    invoke(f, me);
  }

  /// Contents at word `at` of the receive buffer: word `first` on, summed over `members` ranks from `rank` on.
  void block(Face& f, int at, int rank, int members, int first) const {
    f.does(TORTURE_CALL(expect), id, Buf{object(id, 1), at}, Layout{-1}, 1, 1, words, Key{key_of(rank)}, members,
           first);
  }

  void check(Face& f, int me) const {
    const int p = group.size();
    switch (kind) {
      case Kind::barrier:
        break;
      case Kind::bcast:
        if (me != root) block(f, 0, root, 1, 0);
        break;
      case Kind::reduce:
        if (me == root) block(f, 0, 0, p, 0);
        break;
      case Kind::allreduce:
        block(f, 0, 0, p, 0);
        break;
      case Kind::gather:
        for (int r = 0; r < p && me == root; ++r) block(f, r * words, r, 1, 0);
        break;
      case Kind::scatter:
        block(f, 0, root, 1, me * words);
        break;
      case Kind::allgather:
        for (int r = 0; r < p; ++r) block(f, r * words, r, 1, 0);
        break;
      case Kind::alltoall:
        for (int r = 0; r < p; ++r) block(f, r * words, r, 1, me * words);
        break;
      case Kind::scan:
        block(f, 0, 0, me + 1, 0);
        break;
      case Kind::exscan:
        if (me > 0) block(f, 0, 0, me, 0);
        break;
      default:
        block(f, 0, 0, p, me * words);
    }
  }

  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    const Buf out{object(id, 0)};
    const Req request{object(id, 0)};
    complete_form(f, form, way, request, Stat{object(id, 0)});
    if (sends(me)) f.does(TORTURE_CALL(expect), id, out, Layout{-1}, 1, 1, sent(), Key{key_of(me)}, 1, 0);
    check(f, me);
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{out.index}, sends(me) ? sent() : 0);
    const bool undefined = kind == Kind::exscan && me == 0;  // what MPI_Exscan leaves at rank 0
    if (!undefined) f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 1)}, receives(me) ? received() : 0);
  }
};

}  // namespace

std::unique_ptr<Step> draw_collective(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Collective>();
  step->group = group;
  step->kind = static_cast<Kind>(chance.below(static_cast<int>(Kind::count)));
  step->what = names[static_cast<int>(step->kind)];
  step->form = static_cast<Form>(chance.below(static_cast<int>(Form::count)));
  step->holds = step->form == Form::persistent;
  step->root = chance.below(group.size());
  step->words = draw_words(chance, 3) % (group.size() > 9 ? 1000 : group.size() > 4 ? 30000 : 120000);
  step->way = chance.below(6);
  step->in_place = (step->kind == Kind::allreduce || step->kind == Kind::allgather) && chance.one_in(3);
  return step;
}

}  // namespace torture
