// SPDX-License-Identifier: BSD-3-Clause
// Collectives with pieces of different sizes and gaps between them, also between neighbours of a graph.
#include <algorithm>

#include "forms.hpp"
#include "plan.hpp"

namespace torture {
namespace {

enum class Kind {
  gatherv,
  scatterv,
  allgatherv,
  alltoallv,
  alltoallw,
  reduce_scatter,
  neighbours,  // from here on between neighbours
  neighboursv,
  neighboursw,
  neighbours_gather,
  neighbours_gatherv,
  count
};
const char* const names[] = {"gatherv",
                             "scatterv",
                             "allgatherv",
                             "alltoallv",
                             "alltoallw",
                             "reduce_scatter",
                             "neighbor_alltoall",
                             "neighbor_alltoallv",
                             "neighbor_alltoallw",
                             "neighbor_allgather",
                             "neighbor_allgatherv"};

/// The pieces of a rank's buffer: words each, and where they begin.
struct Pieces {
  std::vector<int> counts, at, bytes;
  std::vector<MPI_Count> large_counts;
  std::vector<MPI_Aint> large_at, large_bytes;
  int all = 0;

  void add(int words, int gap) {
    counts.push_back(words);
    at.push_back(all);
    bytes.push_back(4 * all);
    large_counts.push_back(words);
    large_at.push_back(all);
    large_bytes.push_back(4L * all);
    all += words + gap;
  }
};

struct Vectors : Step {
  Group group;
  Kind kind = Kind::gatherv;
  Form form = Form::blocking;
  int root = 0, words = 0, salt = 0, gap = 0, way = 0;
  std::vector<int> offsets;  // of a rank's neighbours
  std::vector<Pieces> out, in;
  std::vector<std::vector<int>> sources, targets;

  bool graph() const { return kind >= Kind::neighbours; }
  /// Of equal pieces without gaps.
  bool even() const { return kind == Kind::neighbours || kind == Kind::neighbours_gather; }
  /// A rank has one piece for all its neighbours.
  bool gathers() const { return kind == Kind::neighbours_gather || kind == Kind::neighbours_gatherv; }
  bool has_types() const { return kind == Kind::alltoallw || kind == Kind::neighboursw; }
  int piece(int from, int to) const { return even() ? words : (from + 2 * to + salt) % 3 * words / 2; }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static int first(int to) { return 100003 * to; }

  void lay_out() {
    const int p = group.size();
    for (int me = 0; me < p; ++me) {
      Pieces mine, theirs;
      std::vector<int> from, to;
      for (int d : offsets) {
        from.push_back((me + p - d) % p);
        to.push_back((me + d) % p);
      }
      for (int r : graph() ? to : all())
        if (!gathers() || mine.counts.empty()) mine.add(sent(me, r), out_gap());
      for (int r : graph() ? from : all()) theirs.add(received(r, me), out_gap());
      out.push_back(mine);
      in.push_back(theirs);
      sources.push_back(from);
      targets.push_back(to);
    }
  }
  std::vector<int> all() const {
    std::vector<int> list;
    for (int r = 0; r < group.size(); ++r) list.push_back(r);
    return list;
  }
  int out_gap() const { return kind == Kind::reduce_scatter || even() ? 0 : gap; }
  /// Words of `me` that belong to `r`.
  int sent(int me, int r) const {
    if (kind == Kind::gatherv) return r == root ? piece(me, root) : 0;
    if (kind == Kind::scatterv) return me == root ? piece(root, r) : 0;
    if (kind == Kind::allgatherv) return r == 0 ? piece(me, 0) : 0;
    if (kind == Kind::reduce_scatter) return piece(0, r);
    if (gathers()) return piece(me, 0);
    return piece(me, r);
  }
  int received(int r, int me) const {
    if (kind == Kind::gatherv) return me == root ? piece(r, root) : 0;
    if (kind == Kind::scatterv) return r == root ? piece(root, me) : 0;
    if (kind == Kind::allgatherv || gathers()) return piece(r, 0);
    if (kind == Kind::reduce_scatter) return r == 0 ? piece(0, me) : 0;
    return piece(r, me);
  }
  /// To whom the words that a piece contains are said to go.
  int addressed(int to) const { return kind == Kind::allgatherv || gathers() ? 0 : to; }

  void fill_out(Face& f, int me) const {
    const Pieces& mine = out[index(me)];
    for (std::size_t i = 0; i < mine.counts.size(); ++i)
      if (mine.counts[i] > 0)
        f.does(TORTURE_CALL(fill), Buf{object(id, 0), mine.at[i]}, Layout{-1}, 1, 1, mine.counts[i],
               Key{key + static_cast<unsigned>(me)}, first(addressed(partner(targets, me, i))));
  }
  int partner(const std::vector<std::vector<int>>& list, int me, std::size_t i) const {
    return graph() ? list[index(me)][i] : static_cast<int>(i);
  }

  template <class... A>
  void calls(Face& f, const A&... a) const {
    call_form(f, form, Req{object(id, 0)}, a...);
  }
  void invoke(Face& f, int me) const {
    const Pieces& o = out[index(me)];
    const Pieces& i = in[index(me)];
    const Counts oc{&o.counts, &o.large_counts}, ic{&i.counts, &i.large_counts};
    const Displs oa{&o.at, &o.large_at}, ia{&i.at, &i.large_at};
    const Buf from{object(id, 0)}, to{object(id, 1)};
    const Type t{-1};
    const Comm c{graph() ? object(id, 0) : group.comm};
    // What a rank sends to the root, or receives from it, is one piece.
    const auto mine = [&](const Pieces& pieces, int r) { return pieces.counts[index(r)]; };
    const Buf own_out{from.index, kind == Kind::gatherv ? o.at[index(root)] : 0};
    switch (kind) {
      case Kind::gatherv:
        calls(f, TORTURE_COUNTED_FORMS(Gatherv, gatherv), own_out, mine(o, root), t, to, ic, ia, t, root, c);
        break;
      case Kind::scatterv:
        calls(f, TORTURE_COUNTED_FORMS(Scatterv, scatterv), from, oc, oa, t, Buf{to.index, i.at[index(root)]},
              mine(i, root), t, root, c);
        break;
      case Kind::allgatherv:
        calls(f, TORTURE_COUNTED_FORMS(Allgatherv, allgatherv), from, mine(o, 0), t, to, ic, ia, t, c);
        break;
      case Kind::alltoallv:
        calls(f, TORTURE_COUNTED_FORMS(Alltoallv, alltoallv), from, oc, oa, t, to, ic, ia, t, c);
        break;
      case Kind::alltoallw:
        calls(f, TORTURE_COUNTED_FORMS(Alltoallw, alltoallw), from, oc, Displs{&o.bytes, &o.large_bytes},
              Types{object(id, 0)}, to, ic, Displs{&i.bytes, &i.large_bytes}, Types{object(id, 0)}, c);
        break;
      case Kind::reduce_scatter:
        calls(f, TORTURE_COUNTED_FORMS(Reduce_scatter, reduce_scatter), from, to, oc, t, TORTURE_NAMED(MPI_SUM), c);
        break;
      case Kind::neighbours:
        calls(f, TORTURE_COUNTED_FORMS(Neighbor_alltoall, neighbor_alltoall), from, words, t, to, words, t, c);
        break;
      case Kind::neighbours_gather:
        calls(f, TORTURE_COUNTED_FORMS(Neighbor_allgather, neighbor_allgather), from, words, t, to, words, t, c);
        break;
      case Kind::neighbours_gatherv:
        calls(f, TORTURE_COUNTED_FORMS(Neighbor_allgatherv, neighbor_allgatherv), from, o.counts[0], t, to, ic, ia, t,
              c);
        break;
      case Kind::neighboursw:
        calls(f, TORTURE_COUNTED_FORMS(Neighbor_alltoallw, neighbor_alltoallw), from, oc, Longs{&o.large_bytes},
              Types{object(id, 0)}, to, ic, Longs{&i.large_bytes}, Types{object(id, 0)}, c);
        break;
      default:
        calls(f, TORTURE_COUNTED_FORMS(Neighbor_alltoallv, neighbor_alltoallv), from, oc, oa, t, to, ic, ia, t, c);
    }
  }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    const auto degree = static_cast<int>(offsets.size());
    if (graph())
      f.call(TORTURE_CALL(MPI_Dist_graph_create_adjacent), Comm{group.comm}, degree, Ints{&sources[index(me)]},
             TORTURE_NAMED(MPI_UNWEIGHTED), degree, Ints{&targets[index(me)]}, TORTURE_NAMED(MPI_UNWEIGHTED),
             TORTURE_NAMED(MPI_INFO_NULL), 0, CommRef{object(id, 0)});
    if (has_types()) f.does(TORTURE_CALL(word_types), TypesRef{object(id, 0)}, group.size());
    f.does(TORTURE_CALL(make), BufRef{object(id, 0)}, out[index(me)].all);
    f.does(TORTURE_CALL(make), BufRef{object(id, 1)}, in[index(me)].all);
    fill_out(f, me);
    invoke(f, me);
  }

  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    complete_form(f, form, way, Req{object(id, 0)}, Stat{object(id, 0)});
    const Pieces& o = out[index(me)];
    const Pieces& i = in[index(me)];
    for (std::size_t n = 0; n < o.counts.size(); ++n)
      if (o.counts[n] > 0)
        f.does(TORTURE_CALL(expect), id, Buf{object(id, 0), o.at[n]}, Layout{-1}, 1, 1, o.counts[n],
               Key{key + static_cast<unsigned>(me)}, 1, first(addressed(partner(targets, me, n))));
    for (std::size_t n = 0; n < i.counts.size(); ++n)
      if (i.counts[n] > 0)
        f.does(TORTURE_CALL(expect), id, Buf{object(id, 1), i.at[n]}, Layout{-1}, 1, 1, i.counts[n],
               Key{key + static_cast<unsigned>(partner(sources, me, n))},
               kind == Kind::reduce_scatter ? group.size() : 1, first(addressed(me)));
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 0)}, o.all);
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 1)}, i.all);
    if (has_types()) f.does(TORTURE_CALL(drop_types), TypesRef{object(id, 0)});
    if (graph()) f.call(TORTURE_CALL(MPI_Comm_free), CommRef{object(id, 0)});
  }
};

enum class Reduces { reduce, allreduce, scan, exscan, local, count };

/// Reductions by an operation that does not commute, or to the place of the least or greatest.
struct Reduction : Step {
  Group group;
  Reduces kind = Reduces::reduce;
  Form form = Form::blocking;
  int root = 0, pairs = 0, way = 0;
  int operation = 0;  // of the user, least, greatest

  bool receives(int me) const { return kind == Reduces::reduce ? me == root : kind == Reduces::exscan ? me > 0 : true; }
  /// How many ranks, from rank 0 on, make the result at `me`.
  int members(int me) const {
    return kind == Reduces::scan ? me + 1 : kind == Reduces::exscan ? me : kind == Reduces::local ? 2 : group.size();
  }

  template <class Op, class T>
  void invoke(Face& f, Op op, T type) const {
    const Buf out{object(id, 0)}, in{object(id, 1)};
    const Comm c{group.comm};
    const Req r{object(id, 0)};
    if (kind == Reduces::reduce)
      call_form(f, form, r, TORTURE_COUNTED_FORMS(Reduce, reduce), out, in, pairs, type, op, root, c);
    else if (kind == Reduces::allreduce)
      call_form(f, form, r, TORTURE_COUNTED_FORMS(Allreduce, allreduce), out, in, pairs, type, op, c);
    else if (kind == Reduces::scan)
      call_form(f, form, r, TORTURE_COUNTED_FORMS(Scan, scan), out, in, pairs, type, op, c);
    else if (kind == Reduces::exscan)
      call_form(f, form, r, TORTURE_COUNTED_FORMS(Exscan, exscan), out, in, pairs, type, op, c);
    else
      f.call(TORTURE_COUNTED(MPI_Reduce_local), out, in, pairs, type, op);
  }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    const Buf out{object(id, 0)}, in{object(id, 1)};
    f.does(TORTURE_CALL(make), BufRef{out.index}, 2 * pairs);
    f.does(TORTURE_CALL(make), BufRef{in.index}, 2 * pairs);
    const int from = kind == Reduces::local ? 0 : me;
    f.does(TORTURE_CALL(fill_pairs), out, pairs, Key{key}, from, operation);
    if (kind == Reduces::local) f.does(TORTURE_CALL(fill_pairs), in, pairs, Key{key}, 1, operation);
    if (operation == 0) {
      f.call(TORTURE_COUNTED(MPI_Type_contiguous), 2, Type{-1}, TypeRef{object(id, 0)});
      f.call(TORTURE_CALL(MPI_Type_commit), TypeRef{object(id, 0)});
      f.call(TORTURE_CALL(MPI_Op_create), TORTURE_NAMED(compose), 0, OpRef{object(id, 0)});
      invoke(f, OpIn{object(id, 0)}, Type{object(id, 0)});
    } else if (operation == 1) {
      invoke(f, TORTURE_NAMED(MPI_MINLOC), TORTURE_NAMED(MPI_2INT));
    } else {
      invoke(f, TORTURE_NAMED(MPI_MAXLOC), TORTURE_NAMED(MPI_2INT));
    }
  }

  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0) return;
    const Buf in{object(id, 1)};
    if (kind != Reduces::local) complete_form(f, form, way, Req{object(id, 0)}, Stat{object(id, 0)});
    f.does(TORTURE_CALL(expect_pairs), id, Buf{object(id, 0)}, pairs, Key{key}, kind == Reduces::local ? 0 : me, 1,
           operation);
    if (receives(me)) f.does(TORTURE_CALL(expect_pairs), id, in, pairs, Key{key}, 0, members(me), operation);
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 0)}, 2 * pairs);
    // MPI_Exscan leaves what it likes at rank 0.
    if (kind == Reduces::exscan && me == 0)
      f.does(TORTURE_CALL(drop), BufRef{in.index});
    else
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{in.index}, 2 * pairs);
    if (operation != 0) return;
    f.call(TORTURE_CALL(MPI_Op_free), OpRef{object(id, 0)});
    f.call(TORTURE_CALL(MPI_Type_free), TypeRef{object(id, 0)});
  }
};

}  // namespace

std::unique_ptr<Step> draw_vectors(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Vectors>();
  step->group = group;
  step->kind = static_cast<Kind>(chance.below(static_cast<int>(Kind::count)));
  step->what = names[static_cast<int>(step->kind)];
  step->form = static_cast<Form>(chance.below(static_cast<int>(Form::count)));
  step->holds = true;
  step->root = chance.below(group.size());
  step->words = draw_words(chance) % (group.size() > 9 ? 50 : 10000);
  step->salt = chance.below(3);
  step->gap = chance.below(3);
  step->way = chance.below(6);
  for (int d = chance.below(group.size()); d < group.size() && step->offsets.size() < 5; d += 1 + chance.below(3))
    step->offsets.push_back(d);
  step->lay_out();
  return step;
}

std::unique_ptr<Step> draw_reduction(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Reduction>();
  step->what = "reduction of pairs";
  step->group = group;
  step->kind = static_cast<Reduces>(chance.below(static_cast<int>(Reduces::count)));
  step->form = static_cast<Form>(chance.below(static_cast<int>(Form::count)));
  step->holds = true;
  step->root = chance.below(group.size());
  step->pairs = draw_words(chance) % (group.size() > 9 ? 100 : 5000);
  step->way = chance.below(6);
  step->operation = chance.below(3);
  return step;
}

}  // namespace torture
