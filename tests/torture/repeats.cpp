// SPDX-License-Identifier: BSD-3-Clause
// Persistent messages, started again and again, partitioned ones, and messages and receives that are cancelled.
#include <algorithm>
#include <numeric>

#include "plan.hpp"

namespace torture {
namespace {

constexpr Type kWord{-1};

/// A message whose requests are made once at both ends, and started again and again: each part of the step is a round.
struct Rounds : Step {
  Group group;
  int from = 0, to = 0, words = 0, way = 0;

  Req sending() const { return {object(id, 0)}; }
  Req receiving() const { return {object(id, 1)}; }

  virtual void init(Face& f, int me) const = 0;
  virtual void begin(Face& f, int round, int me) const = 0;
  virtual void end(Face& f, int round, int me) const = 0;

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    init(f, me);
    begin(f, 0, me);
  }
  void middle(Face& f, int world, int at) const override {
    const int me = group.rank_of(world);
    end(f, at, me);
    begin(f, at + 1, me);
  }
  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    end(f, middles, me);
    if (me == to) {
      f.call(TORTURE_CALL(MPI_Request_free), receiving());
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 1)}, words);
    }
    if (me == from) {
      f.call(TORTURE_CALL(MPI_Request_free), sending());
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 0)}, words);
    }
  }
};

/// A message with a persistent request at both ends.
struct Repeat : Rounds {
  int mode = 0;

  void init(Face& f, int me) const override {
    const Comm c{group.comm};
    const Buf out{object(id, 0)};
    if (me == to) {
      f.does(TORTURE_CALL(make), BufRef{object(id, 1)}, words);
      f.call(TORTURE_COUNTED(MPI_Recv_init), Buf{object(id, 1)}, words, kWord, from, id + 1, c, receiving());
    }
    if (me != from) return;
    f.does(TORTURE_CALL(make), BufRef{out.index}, words);
    if (mode == 0) f.call(TORTURE_COUNTED(MPI_Send_init), out, words, kWord, to, id + 1, c, sending());
    if (mode == 1) f.call(TORTURE_COUNTED(MPI_Ssend_init), out, words, kWord, to, id + 1, c, sending());
    if (mode == 2) f.call(TORTURE_COUNTED(MPI_Bsend_init), out, words, kWord, to, id + 1, c, sending());
  }
  void begin(Face& f, int round, int me) const override {
    if (me == to) f.call(TORTURE_CALL(MPI_Startall), 1, receiving());
    if (me != from) return;
    f.does(TORTURE_CALL(fill), Buf{object(id, 0)}, Layout{-1}, 1, 1, words, Key{key + static_cast<unsigned>(round)}, 0);
    f.call(TORTURE_CALL(MPI_Start), sending());
  }
  void end(Face& f, int round, int me) const override {
    const Key is{key + static_cast<unsigned>(round)};
    const Stat status{object(id, 0)};
    if (me == to) {
      f.does(TORTURE_CALL(complete), id, way, receiving(), status);
      f.does(TORTURE_CALL(expect_count), id, status, from, id + 1, words);
      f.does(TORTURE_CALL(expect), id, Buf{object(id, 1)}, Layout{-1}, 1, 1, words, is, 1, 0);
    }
    if (me != from) return;
    f.does(TORTURE_CALL(complete), id, (way + 1) % 6, sending(), Stat{object(id, 1)});
    f.does(TORTURE_CALL(expect), id, Buf{object(id, 0)}, Layout{-1}, 1, 1, words, is, 1, 0);
  }
};

#if MPI_VERSION >= 4
/// A partitioned message; the two sides may have different numbers of partitions.
struct Partitioned : Rounds {
  int out_parts = 1, in_parts = 1;
  int readies = 0;                         // one by one, a range, a list
  int early = 0;                           // partitions ready in the part of the step that starts the round
  int asked = -1;                          // partition that the receiver looks for before it waits
  std::vector<int> order;                  // of the sender's partitions
  std::vector<int> first_ones, last_ones;  // of the list

  void init(Face& f, int me) const override {
    const auto null = TORTURE_NAMED(MPI_INFO_NULL);
    if (me == to) {
      f.does(TORTURE_CALL(make), BufRef{object(id, 1)}, words);
      f.call(TORTURE_CALL(MPI_Precv_init), Buf{object(id, 1)}, in_parts, Count{words / in_parts}, kWord, from, id + 1,
             Comm{group.comm}, null, receiving());
    }
    if (me == from) {
      f.does(TORTURE_CALL(make), BufRef{object(id, 0)}, words);
      f.call(TORTURE_CALL(MPI_Psend_init), Buf{object(id, 0)}, out_parts, Count{words / out_parts}, kWord, to, id + 1,
             Comm{group.comm}, null, sending());
    }
  }
  void begin(Face& f, int round, int me) const override {
    if (me == to) f.call(TORTURE_CALL(MPI_Start), receiving());
    if (me != from) return;
    f.call(TORTURE_CALL(MPI_Start), sending());
    ready(f, round, 0, early);
  }
  /// The sender's partitions, in its order, from one to another.
  void ready(Face& f, int round, int first, int last) const {
    const int n = words / out_parts;
    for (int i = first; i < last; ++i) {
      const int part = order[static_cast<std::size_t>(i)];
      f.does(TORTURE_CALL(fill), Buf{object(id, 0), part * n}, Layout{-1}, 1, 1, n,
             Key{key + static_cast<unsigned>(round)}, part * n);
      if (readies == 0) f.call(TORTURE_CALL(MPI_Pready), part, ReqIn{sending().index});
    }
    if (last == first || readies == 0) return;
    const std::vector<int>& list = early > 0 && first == 0 ? first_ones : last_ones;
    if (readies == 1)
      f.call(TORTURE_CALL(MPI_Pready_range), order[static_cast<std::size_t>(first)],
             order[static_cast<std::size_t>(last - 1)], ReqIn{sending().index});
    else
      f.call(TORTURE_CALL(MPI_Pready_list), last - first, Ints{&list}, ReqIn{sending().index});
  }
  void end(Face& f, int round, int me) const override {
    const Key is{key + static_cast<unsigned>(round)};
    if (me == from) ready(f, round, early, out_parts);
    if (me == to) {
      if (asked >= 0) {
        const int n = words / in_parts;
        f.does(TORTURE_CALL(await_partition), id, ReqIn{receiving().index}, asked);
        f.does(TORTURE_CALL(expect), id, Buf{object(id, 1), asked * n}, Layout{-1}, 1, 1, n, is, 1, asked * n);
        f.does(TORTURE_CALL(fill), Buf{object(id, 1), asked * n}, Layout{-1}, 1, 1, n, is, asked * n);
      }
      f.does(TORTURE_CALL(complete), id, way, receiving(), Stat{object(id, 0)});
      f.does(TORTURE_CALL(expect), id, Buf{object(id, 1)}, Layout{-1}, 1, 1, words, is, 1, 0);
    }
    if (me == from) {
      f.does(TORTURE_CALL(complete), id, (way + 1) % 6, sending(), Stat{object(id, 1)});
      f.does(TORTURE_CALL(expect), id, Buf{object(id, 0)}, Layout{-1}, 1, 1, words, is, 1, 0);
    }
  }
};
#endif

enum class What { receive_in_vain, send, receive, count };

/// A receive without a message, a message that the sender takes back, or a receive cancelled beside its message.
struct Cancel : Step {
  Group group;
  What cancelled = What::send;
  int from = 0, to = 0, words = 0;
  bool another = false;  // message with the same tag before the one that is taken back …
  bool behind = false;   // … or behind it
  int tag() const { return id + 1; }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    const Comm c{group.comm};
    if (me == to) f.does(TORTURE_CALL(make), BufRef{object(id, 1)}, words);
    if (me == to && cancelled != What::send)
      f.call(TORTURE_COUNTED(MPI_Irecv), Buf{object(id, 1)}, words, kWord, from, tag(), c, Req{object(id, 1)});
    if (me != from || cancelled == What::receive_in_vain) return;
    f.does(TORTURE_CALL(make), BufRef{object(id, 0)}, words);
    f.does(TORTURE_CALL(fill), Buf{object(id, 0)}, Layout{-1}, 1, 1, words, Key{key}, 0);
    if (another) {
      f.does(TORTURE_CALL(make), BufRef{object(id, 2)}, words);
      f.does(TORTURE_CALL(fill), Buf{object(id, 2)}, Layout{-1}, 1, 1, words, Key{key + 1}, 0);
      if (!behind) send_another(f);
    }
    f.call(TORTURE_COUNTED(MPI_Isend), Buf{object(id, 0)}, words, kWord, to, tag(), c, Req{object(id, 0)});
    if (behind) send_another(f);
  }
  void send_another(Face& f) const {
    f.call(TORTURE_COUNTED(MPI_Isend), Buf{object(id, 2)}, words, kWord, to, tag(), Comm{group.comm},
           Req{object(id, 2)});
  }
  void receive_another(Face& f, const Buf& in) const {
    f.call(TORTURE_COUNTED(MPI_Recv), in, words, kWord, from, tag(), Comm{group.comm}, Stat{object(id, 2)});
    f.does(TORTURE_CALL(expect), id, in, Layout{-1}, 1, 1, words, Key{key + 1}, 1, 0);
  }
  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    const Comm c{group.comm};
    const Stat status{object(id, 0)};
    const Buf in{object(id, 1)};
    if (me == from && cancelled == What::send)
      f.does(TORTURE_CALL(cancel_send), id, Req{object(id, 0)}, Stat{object(id, 1)}, to, tag() + 1000, c);
    if (me == to && another && !behind) receive_another(f, in);
    if (me == to) {
      if (cancelled == What::receive_in_vain) {
        f.call(TORTURE_CALL(MPI_Cancel), Req{object(id, 1)});
        f.call(TORTURE_CALL(MPI_Wait), Req{object(id, 1)}, status);
        f.does(TORTURE_CALL(expect_cancelled), id, status);
      } else if (cancelled == What::send) {
        f.does(TORTURE_CALL(receive_what_was_sent), id, in, words, from, tag(), c, Key{key}, behind ? 1 : 0);
        if (behind) receive_another(f, in);
      } else {
        f.does(TORTURE_CALL(cancel_receive), id, Req{object(id, 1)}, status, in, words, from, tag(), c);
        f.does(TORTURE_CALL(expect), id, in, Layout{-1}, 1, 1, words, Key{key}, 1, 0);
      }
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{in.index}, words);
    }
    if (me == from && another) {
      f.does(TORTURE_CALL(complete), id, 0, Req{object(id, 2)}, Stat{object(id, 1)});
      f.does(TORTURE_CALL(drop), BufRef{object(id, 2)});
    }
    if (me != from || cancelled == What::receive_in_vain) return;
    if (cancelled == What::receive) f.does(TORTURE_CALL(complete), id, 0, Req{object(id, 0)}, Stat{object(id, 1)});
    f.does(TORTURE_CALL(expect), id, Buf{object(id, 0)}, Layout{-1}, 1, 1, words, Key{key}, 1, 0);
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 0)}, words);
  }
};

}  // namespace

std::unique_ptr<Step> draw_repeat(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Repeat>();
  step->what = "persistent message";
  step->group = group;
  step->holds = true;
  step->from = chance.below(group.size());
  step->to = chance.below(group.size());
  step->words = draw_words(chance) % 16384;
  step->mode = chance.below(3);
  step->way = chance.below(6);
  step->middles = chance.below(4);
  if (step->mode == 2) step->buffered = (step->middles + 1) * (4 * step->words + 512);
  return step;
}

std::unique_ptr<Step> draw_partitioned(Chance& chance, const Group& group, [[maybe_unused]] int id) {
#if MPI_VERSION >= 4
  auto step = std::make_unique<Partitioned>();
  step->what = "partitioned message";
  step->group = group;
  step->holds = true;
  step->from = chance.below(group.size());
  step->to = chance.below(group.size());
  step->out_parts = chance.of({1, 2, 3, 4, 8, 12});
  step->in_parts = chance.of({1, 2, 3, 4, 8, 12});
  step->words = draw_words(chance) / 24 * 24;
  step->way = chance.below(6);
  step->middles = chance.below(4);
  step->readies = chance.below(3);
  step->early = chance.below(step->out_parts + 1);
  if (chance.one_in(2)) step->asked = chance.below(step->in_parts);
  step->order.resize(static_cast<std::size_t>(step->out_parts));
  std::iota(step->order.begin(), step->order.end(), 0);
  if (step->readies != 1)
    for (int i = step->out_parts - 1; i > 0; --i)
      std::swap(step->order[static_cast<std::size_t>(i)], step->order[static_cast<std::size_t>(chance.below(i + 1))]);
  step->first_ones.assign(step->order.begin(), step->order.begin() + step->early);
  step->last_ones.assign(step->order.begin() + step->early, step->order.end());
  return step;
#else
  return draw_repeat(chance, group, id);
#endif
}

std::unique_ptr<Step> draw_cancel(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Cancel>();
  step->what = "cancelled message";
  step->group = group;
  step->holds = true;
  step->cancelled = static_cast<What>(chance.below(static_cast<int>(What::count)));
  step->from = chance.below(group.size());
  step->to = chance.below(group.size());
  if (step->cancelled == What::send && step->from == step->to) step->cancelled = What::receive_in_vain;
  step->words = draw_words(chance);
  step->another = step->cancelled == What::send && chance.one_in(2);
  step->behind = step->another && chance.one_in(2);
  return step;
}

}  // namespace torture
