// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point: one message with any mode and form on either side; many to one by wildcard; a ring of sendrecv.
#include "plan.hpp"
#include "shape.hpp"

namespace torture {
namespace {

int tag_of(int id) {
  return id + 1;
}  // no other message of the program has it
int ready_tag(int id) {
  return id + 1001;
}

/// One side's buffer and datatype.
struct Side {
  Shape shape;
  int count = 0;  // elements
  int n = 0;      // first of its two objects

  Buf buffer(int id) const { return {object(id, n), shape.origin()}; }
  int room() const { return shape.words(count); }
};

enum class Mode { standard, synchronous, buffered, ready, count };

struct Message : Step {
  Group group;
  int from = 0, to = 0, words = 0;
  Mode mode = Mode::standard;
  int sends = 0;                      // blocking, non-blocking, persistent
  int receives = 0;                   // blocking, non-blocking, persistent, or after a probe: matched, plain, polled
  int send_way = 0, receive_way = 0;  // of content.hpp's complete()
  bool any = false;                   // wildcard for source
  int pause = 0;
  Side send, receive;

  /// Whether a receive waits for the message.
  bool posts() const { return receives == 1 || receives == 2; }

  /// One send in a form of a mode.
  template <class C, class... A>
  void post(Face& f, const C& function, const A&... more) const {
    f.call(function, send.buffer(id), send.count, send.shape.type(id, 0), to, tag_of(id), Comm{group.comm}, more...);
  }
  void post_send(Face& f) const {
    const Req request{object(id, 0)};
    switch (static_cast<int>(mode) * 3 + sends) {
      case 0:
        post(f, TORTURE_COUNTED(MPI_Send));
        break;
      case 1:
        post(f, TORTURE_COUNTED(MPI_Isend), request);
        break;
      case 2:
        post(f, TORTURE_COUNTED(MPI_Send_init), request);
        break;
      case 3:
        post(f, TORTURE_COUNTED(MPI_Ssend));
        break;
      case 4:
        post(f, TORTURE_COUNTED(MPI_Issend), request);
        break;
      case 5:
        post(f, TORTURE_COUNTED(MPI_Ssend_init), request);
        break;
      case 6:
        post(f, TORTURE_COUNTED(MPI_Bsend));
        break;
      case 7:
        post(f, TORTURE_COUNTED(MPI_Ibsend), request);
        break;
      case 8:
        post(f, TORTURE_COUNTED(MPI_Bsend_init), request);
        break;
      case 9:
        post(f, TORTURE_COUNTED(MPI_Rsend));
        break;
      case 10:
        post(f, TORTURE_COUNTED(MPI_Irsend), request);
        break;
      default:
        post(f, TORTURE_COUNTED(MPI_Rsend_init), request);
    }
    if (sends == 2) f.call(TORTURE_CALL(MPI_Start), request);
  }

  void post_receive(Face& f) const {
    const Req request{object(id, 1)};
    const Stat status{object(id, 0)};
    const Buf b = receive.buffer(id);
    const Type t = receive.shape.type(id, 2);
    const Comm c{group.comm};
    const int tag = tag_of(id);
    const Source source{any ? -1 : from};
    const int n = receive.count;
    switch (receives) {
      case 0:
        f.call(TORTURE_COUNTED(MPI_Recv), b, n, t, source, tag, c, status);
        break;
      case 1:
        f.call(TORTURE_COUNTED(MPI_Irecv), b, n, t, source, tag, c, request);
        break;
      case 2:
        f.call(TORTURE_COUNTED(MPI_Recv_init), b, n, t, source, tag, c, request);
        f.call(TORTURE_CALL(MPI_Start), request);
        break;
      case 3:
        f.call(TORTURE_CALL(MPI_Mprobe), source, tag, c, Handle{object(id, 0)}, status);
        f.does(TORTURE_CALL(expect_count), id, status, from, tag, words);
        f.call(TORTURE_COUNTED(MPI_Mrecv), b, n, t, Handle{object(id, 0)}, status);
        break;
      case 5:
        f.does(TORTURE_CALL(poll_message), id, source, tag, c, Handle{object(id, 0)}, status);
        f.does(TORTURE_CALL(expect_count), id, status, from, tag, words);
        f.call(TORTURE_COUNTED(MPI_Imrecv), b, n, t, Handle{object(id, 0)}, request);
        break;
      default:
        f.call(TORTURE_CALL(MPI_Probe), source, tag, c, status);
        f.does(TORTURE_CALL(expect_count), id, status, from, tag, words);
        f.call(TORTURE_COUNTED(MPI_Recv), b, n, t, source, tag, c, status);
    }
  }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me == from) {
      send.shape.make(f, id, 0);
      f.does(TORTURE_CALL(make), BufRef{object(id, 0)}, send.room());
      f.does(TORTURE_CALL(fill), send.buffer(id), send.shape.layout(id, 0), send.shape.size(), send.shape.extent(),
             words, Key{key}, 0);
      if (pause > 0) f.does(TORTURE_CALL(compute), pause);
    }
    if (me == to) {
      receive.shape.make(f, id, 2);
      f.does(TORTURE_CALL(make), BufRef{object(id, 2)}, receive.room());
    }
    const bool receive_first = (from == to && posts()) || mode == Mode::ready;
    if (me == to && receive_first) post_receive(f);
    if (mode == Mode::ready && from != to) {  // the sender has to know that there is a receive
      if (me == to)
        f.call(TORTURE_COUNTED(MPI_Send), Buf{object(id, 2)}, 0, Type{-1}, from, ready_tag(id), Comm{group.comm});
      if (me == from)
        f.call(TORTURE_COUNTED(MPI_Recv), Buf{object(id, 0)}, 0, Type{-1}, to, ready_tag(id), Comm{group.comm},
               Stat{object(id, 2)});
    }
    if (me == from) post_send(f);
    if (me == to && !receive_first) post_receive(f);
    if (me == from) send.shape.free(f, id, 0);
    if (me == to) receive.shape.free(f, id, 2);
  }

  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    const Stat status{object(id, 0)}, sent{object(id, 1)};
    const Req r{object(id, 1)}, s{object(id, 0)};
    if (me == to) {
      if (posts() || receives == 5) f.does(TORTURE_CALL(complete), id, receive_way, r, status);
      if (receives == 2) f.call(TORTURE_CALL(MPI_Request_free), r);
      f.does(TORTURE_CALL(expect_count), id, status, from, tag_of(id), words);
      f.does(TORTURE_CALL(expect), id, receive.buffer(id), receive.shape.layout(id, 2), receive.shape.size(),
             receive.shape.extent(), words, Key{key}, 1, 0);
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 2)}, receive.room());
    }
    if (me == from) {
      if (sends != 0) f.does(TORTURE_CALL(complete), id, send_way, s, sent);
      if (sends == 2) f.call(TORTURE_CALL(MPI_Request_free), s);
      f.does(TORTURE_CALL(expect), id, send.buffer(id), send.shape.layout(id, 0), send.shape.size(),
             send.shape.extent(), words, Key{key}, 1, 0);
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 0)}, send.room());
    }
  }
};

/// Every other rank sends to one, which takes the messages from anybody.
struct Many : Step {
  Group group;
  int root = 0, words = 0, way = 0;
  bool probes = false;

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0 || me == root) return;
    f.does(TORTURE_CALL(make), BufRef{object(id, 0)}, words);
    f.does(TORTURE_CALL(fill), Buf{object(id, 0)}, Layout{-1}, 1, 1, words, Key{key + static_cast<unsigned>(me)}, 0);
    f.call(TORTURE_COUNTED(MPI_Isend), Buf{object(id, 0)}, words, Type{-1}, root, tag_of(id), Comm{group.comm},
           Req{object(id, 0)});
  }
  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    const Buf b{object(id, 0)};
    const Stat status{object(id, 0)};
    if (me == root) {
      for (int i = 1; i < group.size(); ++i) {
        f.does(TORTURE_CALL(make), BufRef{b.index}, words);
        if (probes) f.call(TORTURE_CALL(MPI_Probe), Source{-1}, tag_of(id), Comm{group.comm}, status);
        f.call(TORTURE_COUNTED(MPI_Recv), b, words, Type{-1}, Source{-1}, tag_of(id), Comm{group.comm}, status);
        f.does(TORTURE_CALL(expect_from), id, b, status, words, Key{key});
        f.does(TORTURE_CALL(expect_no_more), id, BufRef{b.index}, words);
      }
    } else if (me >= 0) {
      f.does(TORTURE_CALL(complete), id, way, Req{object(id, 0)}, status);
      f.does(TORTURE_CALL(expect), id, b, Layout{-1}, 1, 1, words, Key{key + static_cast<unsigned>(me)}, 1, 0);
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{b.index}, words);
    }
  }
};

struct Ring : Step {
  Group group;
  int words = 0, shift = 0;
  bool replaces = false, background = false;

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world), p = group.size();
    if (me < 0) return;
    const int to = (me + shift) % p, from = (me + p - shift) % p;
    const Buf b{object(id, 0)}, in{object(id, replaces ? 0 : 1)};
    const Stat status{object(id, 0)};
    const unsigned mine = key + static_cast<unsigned>(me);
    f.does(TORTURE_CALL(make), BufRef{b.index}, words);
    f.does(TORTURE_CALL(fill), b, Layout{-1}, 1, 1, words, Key{mine}, 0);
#if MPI_VERSION >= 4
    if (background && !f.old()) {
      const Req request{object(id, 0)};
      if (replaces) {
        f.call(TORTURE_COUNTED(MPI_Isendrecv_replace), b, words, Type{-1}, to, tag_of(id), from, tag_of(id),
               Comm{group.comm}, request);
      } else {
        f.does(TORTURE_CALL(make), BufRef{in.index}, words);
        f.call(TORTURE_COUNTED(MPI_Isendrecv), b, words, Type{-1}, to, tag_of(id), in, words, Type{-1}, from,
               tag_of(id), Comm{group.comm}, request);
      }
      return;
    }
#endif
    if (replaces) {
      f.call(TORTURE_COUNTED(MPI_Sendrecv_replace), b, words, Type{-1}, to, tag_of(id), from, tag_of(id),
             Comm{group.comm}, status);
    } else {
      f.does(TORTURE_CALL(make), BufRef{in.index}, words);
      f.call(TORTURE_COUNTED(MPI_Sendrecv), b, words, Type{-1}, to, tag_of(id), in, words, Type{-1}, from, tag_of(id),
             Comm{group.comm}, status);
    }
    check(f, me);
  }
  void check(Face& f, int me) const {
    const int p = group.size(), from = (me + p - shift) % p;
    const Buf b{object(id, 0)}, in{object(id, replaces ? 0 : 1)};
    if (!replaces) {
      f.does(TORTURE_CALL(expect), id, b, Layout{-1}, 1, 1, words, Key{key + static_cast<unsigned>(me)}, 1, 0);
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{b.index}, words);
    }
    f.does(TORTURE_CALL(expect_count), id, Stat{object(id, 0)}, from, tag_of(id), words);
    f.does(TORTURE_CALL(expect), id, in, Layout{-1}, 1, 1, words, Key{key + static_cast<unsigned>(from)}, 1, 0);
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{in.index}, words);
  }
  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me < 0 || !background || f.old()) return;
    f.does(TORTURE_CALL(complete), id, me % 6, Req{object(id, 0)}, Stat{object(id, 0)});
    check(f, me);
  }
};

Side draw_side(Chance& chance, int words, int n) {
  Side side;
  side.n = n;
  constexpr int kMostInOne = 4096;  // words of one element: a printed program lists where each lies
  if (words > 0 && words <= kMostInOne && chance.one_in(6))
    side.shape = Shape(chance, words);
  else if (words % 48 == 0 && chance.one_in(2))
    side.shape = Shape(chance);
  side.count = words / side.shape.size();
  return side;
}

}  // namespace

std::unique_ptr<Step> draw_message(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Message>();
  step->what = "message";
  step->group = group;
  step->from = chance.below(group.size());
  step->to = chance.below(group.size());
  step->words = draw_words(chance);
  if (chance.one_in(2)) step->words -= step->words % 48;
  step->mode = static_cast<Mode>(chance.below(static_cast<int>(Mode::count)));
  step->sends = chance.below(3);
  step->receives = chance.below(6);
  if (step->mode == Mode::ready && !step->posts()) step->receives = 1 + chance.below(2);
  if (step->mode == Mode::buffered) {
    step->words %= 16384;
    step->buffered = 4 * step->words + 512;
  }
  // A blocking call would wait for itself.
  if (step->from == step->to && !step->posts()) step->sends = 1 + chance.below(2);
  step->holds = step->sends == 2 || step->receives == 2 || step->mode == Mode::ready;
  step->any = chance.one_in(4);
  step->send_way = chance.below(6);
  step->receive_way = chance.below(6);
  step->pause = chance.one_in(4) ? chance.below(100000) : 0;
  step->send = draw_side(chance, step->words, 0);
  step->receive = draw_side(chance, step->words, 2);
  return step;
}

std::unique_ptr<Step> draw_many(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Many>();
  step->what = "many to one";
  step->group = group;
  step->holds = true;
  step->root = chance.below(group.size());
  step->words = draw_words(chance) % 20000;
  step->way = chance.below(6);
  step->probes = chance.one_in(2);
  return step;
}

std::unique_ptr<Step> draw_ring(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Ring>();
  step->what = "ring";
  step->group = group;
  step->words = draw_words(chance);
  step->shift = chance.below(group.size());
  step->replaces = chance.one_in(2);
  step->background = chance.one_in(3);
  return step;
}

}  // namespace torture
