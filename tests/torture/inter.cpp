// SPDX-License-Identifier: BSD-3-Clause
// Inter-communicators: made of two parts of a group, beside other makings; messages and collectives between the parts;
// merged.
#include <algorithm>

#include "forms.hpp"
#include "plan.hpp"

namespace torture {
namespace {

enum class Kind { exchange, barrier, bcast, reduce, allreduce, gather, scatter, allgather, alltoall, blocks, count };

/// What one part of the step does on the inter-communicator.
struct Use {
  Kind kind = Kind::barrier;
  Form form = Form::blocking;
  int words = 0, way = 0;
  int root_side = 0, root = 0;
};

struct Inter : Step {
  Group group;
  std::vector<int> sides[2];  // ranks in `group`
  bool halves = false, high = false, dup = false, by_group = false;
  // A duplicate is under way: from the beginning, or only from when the two sides are there.
  enum class Beside { none, early, late } beside = Beside::none;
  int more[2] = {0, 0};  // communicators that one side has besides
  bool late = false;     // of which the latest is the local one, and the others are gone
  Group merged;
  std::vector<Use> uses;

  std::vector<Group> groups() const override { return {merged}; }

  Comm inter() const { return {object(id, dup ? 3 : 1)}; }
  int size(int side) const { return static_cast<int>(sides[side].size()); }
  int side_of(int me) const { return std::count(sides[1].begin(), sides[1].end(), me) > 0 ? 1 : 0; }
  int rank_of(int me, int side) const {
    return static_cast<int>(std::find(sides[side].begin(), sides[side].end(), me) - sides[side].begin());
  }
  unsigned key_of(int side, int rank) const { return key + static_cast<unsigned>(256 * side + rank); }
  static int first(int part) { return 1000003 * (part + 1); }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    const int side = side_of(me), other = 1 - side;
    const Comm from{group.comm};
    if (beside == Beside::early) f.call(TORTURE_CALL(MPI_Comm_idup), from, CommRef{object(id, 4)}, Req{object(id, 4)});
    std::vector<int> locals{object(id, 0)};
    if (by_group) {
      f.call(TORTURE_CALL(MPI_Comm_group), from, GrpRef{object(id, 0)});
      f.call(TORTURE_CALL(MPI_Group_incl), Grp{object(id, 0)}, size(side), Ints{&sides[side]}, GrpRef{object(id, 1)});
      f.call(TORTURE_CALL(MPI_Comm_create_group), from, Grp{object(id, 1)}, id, CommRef{locals[0]});
      f.call(TORTURE_CALL(MPI_Group_free), GrpRef{object(id, 0)});
      f.call(TORTURE_CALL(MPI_Group_free), GrpRef{object(id, 1)});
    } else {
      f.call(TORTURE_CALL(MPI_Comm_split), from, side, me, CommRef{locals[0]});
    }
    for (int n = 0; n < more[side]; ++n) {
      locals.push_back(object(id, 5 + n));
      f.call(TORTURE_CALL(MPI_Comm_dup), Comm{locals[0]}, CommRef{locals.back()});
    }
    if (late) std::swap(locals.front(), locals.back());
    const auto free_but = [&](std::size_t kept) {
      for (; locals.size() > kept; locals.pop_back()) f.call(TORTURE_CALL(MPI_Comm_free), CommRef{locals.back()});
    };
    if (late) free_but(1);
    if (beside == Beside::late) {  // of a context that may be between those of the two local ones
      f.call(TORTURE_CALL(MPI_Comm_dup), from, CommRef{object(id, 9)});
      f.call(TORTURE_CALL(MPI_Comm_idup), Comm{object(id, 9)}, CommRef{object(id, 4)}, Req{object(id, 4)});
    }
    f.call(TORTURE_CALL(MPI_Intercomm_create), Comm{locals[0]}, 0, from, sides[other][0], id + 1,
           CommRef{object(id, 1)});
    free_but(0);
    f.does(TORTURE_CALL(expect_inter), id, Comm{object(id, 1)}, size(side), size(other), rank_of(me, side));
    f.call(TORTURE_CALL(MPI_Intercomm_merge), Comm{object(id, 1)}, (side == 1) == high ? 1 : 0, CommRef{object(id, 2)});
    f.does(TORTURE_CALL(expect_size), id, Comm{object(id, 2)}, merged.size(), merged.rank_of(world));
    if (dup) f.call(TORTURE_CALL(MPI_Comm_dup), Comm{object(id, 1)}, CommRef{object(id, 3)});
    if (beside != Beside::none) {
      f.does(TORTURE_CALL(complete), id, me % 6, Req{object(id, 4)}, Stat{object(id, 4)});
      f.call(TORTURE_CALL(MPI_Comm_free), CommRef{object(id, 4)});
      if (beside == Beside::late) f.call(TORTURE_CALL(MPI_Comm_free), CommRef{object(id, 9)});
    }
    begin(f, 0, me);
  }

  void middle(Face& f, int world, int at) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    end(f, at, me);
    begin(f, at + 1, me);
  }

  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    end(f, middles, me);
    f.call(TORTURE_CALL(MPI_Comm_free), CommRef{object(id, 2)});
    f.call(TORTURE_CALL(MPI_Comm_free), CommRef{object(id, 1)});
    if (dup) f.call(TORTURE_CALL(MPI_Comm_free), CommRef{object(id, 3)});
  }

  /// Words that a rank of `side` sends and receives.
  int sent(const Use& u, int side) const {
    if (u.kind == Kind::barrier) return 0;
    if (u.kind == Kind::blocks) return u.words * size(0) * size(1);
    return u.kind == Kind::alltoall || u.kind == Kind::scatter ? u.words * size(1 - side) : u.words;
  }
  int received(const Use& u, int side) const {
    if (u.kind == Kind::barrier) return 0;
    if (u.kind == Kind::blocks) return u.words * size(1 - side);
    return u.kind == Kind::alltoall || u.kind == Kind::gather || u.kind == Kind::allgather ? u.words * size(1 - side)
                                                                                           : u.words;
  }
  bool rooted(const Use& u) const {
    return u.kind == Kind::bcast || u.kind == Kind::reduce || u.kind == Kind::gather || u.kind == Kind::scatter;
  }
  bool to_root(const Use& u) const { return u.kind == Kind::reduce || u.kind == Kind::gather; }
  bool is_root(const Use& u, int side, int rank) const { return side == u.root_side && rank == u.root; }
  bool paired(int rank) const { return rank < std::min(size(0), size(1)); }
  bool sends(const Use& u, int side, int rank) const {
    if (u.kind == Kind::exchange) return paired(rank);
    return !rooted(u) || (to_root(u) ? side != u.root_side : is_root(u, side, rank));
  }
  bool receives(const Use& u, int side, int rank) const {
    if (u.kind == Kind::exchange) return paired(rank);
    return !rooted(u) || (to_root(u) ? is_root(u, side, rank) : side != u.root_side);
  }

  void begin(Face& f, int part, int me) const {
    const Use& u = uses[static_cast<std::size_t>(part)];
    const int side = side_of(me), rank = rank_of(me, side);
    const Buf out{object(id, 0)}, in{object(id, 1)};
    const int out_words = sends(u, side, rank) ? sent(u, side) : 0;
    f.does(TORTURE_CALL(make), BufRef{out.index}, out_words);
    f.does(TORTURE_CALL(make), BufRef{in.index}, receives(u, side, rank) ? received(u, side) : 0);
    f.does(TORTURE_CALL(fill), out, Layout{-1}, 1, 1, out_words, Key{key_of(side, rank)}, first(part));
    // What a member of the root's side says of the root: that it is it, or that another is.
    if (side == u.root_side && rank == u.root)
      invoke(f, u, rank, TORTURE_NAMED(MPI_ROOT), side);
    else if (side == u.root_side)
      invoke(f, u, rank, TORTURE_NAMED(MPI_PROC_NULL), side);
    else
      invoke(f, u, rank, u.root, side);
  }

  template <class Root>
  void invoke(Face& f, const Use& u, int rank, Root root, int side) const {
    const Buf out{object(id, 0)}, in{object(id, 1)};
    const Type t{-1};
    const Comm c = inter();
    const Req r{object(id, 0)};
    const auto sum = TORTURE_NAMED(MPI_SUM);
    const int n = u.words;
    switch (u.kind) {
      case Kind::exchange:
        if (paired(rank))
          f.call(TORTURE_COUNTED(MPI_Sendrecv), out, n, t, rank, id + 1, in, n, t, rank, id + 1, c,
                 Stat{object(id, 1)});
        break;
      case Kind::barrier:
        call_form(f, u.form, r, TORTURE_FORMS(Barrier, barrier), c);
        break;
      case Kind::bcast:
        call_form(f, u.form, r, TORTURE_COUNTED_FORMS(Bcast, bcast), side == u.root_side ? out : in, n, t, root, c);
        break;
      case Kind::reduce:
        call_form(f, u.form, r, TORTURE_COUNTED_FORMS(Reduce, reduce), out, in, n, t, sum, root, c);
        break;
      case Kind::allreduce:
        call_form(f, u.form, r, TORTURE_COUNTED_FORMS(Allreduce, allreduce), out, in, n, t, sum, c);
        break;
      case Kind::gather:
        call_form(f, u.form, r, TORTURE_COUNTED_FORMS(Gather, gather), out, n, t, in, n, t, root, c);
        break;
      case Kind::scatter:
        call_form(f, u.form, r, TORTURE_COUNTED_FORMS(Scatter, scatter), out, n, t, in, n, t, root, c);
        break;
      case Kind::allgather:
        call_form(f, u.form, r, TORTURE_COUNTED_FORMS(Allgather, allgather), out, n, t, in, n, t, c);
        break;
      case Kind::alltoall:
        call_form(f, u.form, r, TORTURE_COUNTED_FORMS(Alltoall, alltoall), out, n, t, in, n, t, c);
        break;
      default:
        call_form(f, u.form, r, TORTURE_COUNTED_FORMS(Reduce_scatter_block, reduce_scatter_block), out, in,
                  received(u, side), t, sum, c);
    }
  }

  void end(Face& f, int part, int me) const {
    const Use& u = uses[static_cast<std::size_t>(part)];
    const int side = side_of(me), rank = rank_of(me, side), other = 1 - side;
    const Buf out{object(id, 0)}, in{object(id, 1)};
    if (u.kind != Kind::exchange) complete_form(f, u.form, u.way, Req{object(id, 0)}, Stat{object(id, 0)});
    const int out_words = sends(u, side, rank) ? sent(u, side) : 0;
    f.does(TORTURE_CALL(expect), id, out, Layout{-1}, 1, 1, out_words, Key{key_of(side, rank)}, 1, first(part));
    const auto is = [&](int at, int words, int from, int members, int skipped) {
      f.does(TORTURE_CALL(expect), id, Buf{in.index, at}, Layout{-1}, 1, 1, words, Key{key_of(other, from)}, members,
             first(part) + skipped);
    };
    if (receives(u, side, rank)) {
      switch (u.kind) {
        case Kind::barrier:
          break;
        case Kind::exchange:
          is(0, u.words, rank, 1, 0);
          break;
        case Kind::bcast:
          is(0, u.words, u.root, 1, 0);
          break;
        case Kind::scatter:
          is(0, u.words, u.root, 1, rank * u.words);
          break;
        case Kind::reduce:
        case Kind::allreduce:
          is(0, u.words, 0, size(other), 0);
          break;
        case Kind::gather:
        case Kind::allgather:
          for (int i = 0; i < size(other); ++i) is(i * u.words, u.words, i, 1, 0);
          break;
        case Kind::alltoall:
          for (int i = 0; i < size(other); ++i) is(i * u.words, u.words, i, 1, rank * u.words);
          break;
        default:
          is(0, received(u, side), 0, size(other), rank * received(u, side));
      }
    }
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{out.index}, out_words);
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{in.index}, receives(u, side, rank) ? received(u, side) : 0);
  }
};

Use draw_use(Chance& chance, const Inter& step) {
  Use use;
  use.kind = static_cast<Kind>(chance.below(static_cast<int>(Kind::count)));
  use.form = static_cast<Form>(chance.below(static_cast<int>(Form::count)));
  use.words = draw_words(chance) % (step.group.size() > 9 ? 50 : use.kind == Kind::blocks ? 1000 : 20000);
  use.way = chance.below(6);
  use.root_side = chance.below(2);
  use.root = chance.below(step.size(use.root_side));
  return use;
}

}  // namespace

std::unique_ptr<Step> draw_inter(Chance& chance, const Group& group, int id) {
  if (group.size() < 2) return draw_comm(chance, group, id);
  auto step = std::make_unique<Inter>();
  step->what = "inter-communicator";
  step->group = group;
  step->makes = true;
  step->holds = true;
  step->halves = chance.one_in(2);
  const int cut = 1 + chance.below(group.size() - 1);
  for (int r = 0; r < group.size(); ++r) step->sides[step->halves ? (r < cut ? 0 : 1) : r % 2].push_back(r);
  step->high = chance.one_in(2);
  step->dup = chance.one_in(3);
  step->beside = static_cast<Inter::Beside>(chance.below(3));
  step->by_group = chance.one_in(3);
  if (chance.one_in(2)) step->more[chance.below(2)] = 1 + chance.below(3);
  step->late = chance.one_in(2);
  step->merged.comm = object(id, 2);
  step->merged.maker = id;
  // Those that say they are high come second.
  for (int side : {step->high ? 0 : 1, step->high ? 1 : 0})
    for (int r : step->sides[side]) step->merged.members.push_back(group.members[static_cast<std::size_t>(r)]);
  step->middles = chance.below(4);
  for (int part = 0; part <= step->middles; ++part) step->uses.push_back(draw_use(chance, *step));
  return step;
}

}  // namespace torture
