// Point-to-point: one message with any mode and form on either side; many to one by wildcard; a ring of sendrecv.
#include "plan.hpp"
#include "shape.hpp"

namespace torture {
namespace {

int tag_of(int id) {
  return id + 1;
}  // no other message of the program has it

/// One side's buffer and datatype.
struct Side {
  Shape shape;
  int count = 0;  // elements
  int n = 0;      // first of its two objects

  Buf buffer(int id) const { return {object(id, n), shape.origin()}; }
  int room() const { return shape.words(count); }
};

struct Message : Step {
  Group group;
  int from = 0, to = 0, words = 0;
  int mode = 0;                       // standard, synchronous
  int sends = 0;                      // blocking, non-blocking, persistent
  int receives = 0;                   // blocking, non-blocking, persistent, matched probe, probe
  int send_way = 0, receive_way = 0;  // of content.hpp's complete()
  bool any = false;                   // wildcard for source
  int pause = 0;
  Side send, receive;

  void post_send(Face& f) const {
    const Req request{object(id, 0)};
    const Buf b = send.buffer(id);
    const Type t = send.shape.type(id, 0);
    const Comm c{group.comm};
    const int tag = tag_of(id);
    switch (sends * 2 + mode) {
      case 0:
        f.call(TORTURE_CALL(MPI_Send), b, send.count, t, to, tag, c);
        break;
      case 1:
        f.call(TORTURE_CALL(MPI_Ssend), b, send.count, t, to, tag, c);
        break;
      case 2:
        f.call(TORTURE_CALL(MPI_Isend), b, send.count, t, to, tag, c, request);
        break;
      case 3:
        f.call(TORTURE_CALL(MPI_Issend), b, send.count, t, to, tag, c, request);
        break;
      case 4:
        f.call(TORTURE_CALL(MPI_Send_init), b, send.count, t, to, tag, c, request);
        break;
      default:
        f.call(TORTURE_CALL(MPI_Ssend_init), b, send.count, t, to, tag, c, request);
        break;
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
        f.call(TORTURE_CALL(MPI_Recv), b, n, t, source, tag, c, status);
        break;
      case 1:
        f.call(TORTURE_CALL(MPI_Irecv), b, n, t, source, tag, c, request);
        break;
      case 2:
        f.call(TORTURE_CALL(MPI_Recv_init), b, n, t, source, tag, c, request);
        f.call(TORTURE_CALL(MPI_Start), request);
        break;
      case 3:
        f.call(TORTURE_CALL(MPI_Mprobe), source, tag, c, Handle{object(id, 0)}, status);
        f.does(TORTURE_CALL(expect_count), id, status, from, tag, words);
        f.call(TORTURE_CALL(MPI_Mrecv), b, n, t, Handle{object(id, 0)}, status);
        break;
      default:
        f.call(TORTURE_CALL(MPI_Probe), source, tag, c, status);
        f.does(TORTURE_CALL(expect_count), id, status, from, tag, words);
        f.call(TORTURE_CALL(MPI_Recv), b, n, t, source, tag, c, status);
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
    const bool receive_first = from == to && (receives == 1 || receives == 2);
    if (me == to && receive_first) post_receive(f);
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
      if (receives == 1 || receives == 2) f.does(TORTURE_CALL(complete), id, receive_way, r, status);
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
    f.call(TORTURE_CALL(MPI_Isend), Buf{object(id, 0)}, words, Type{-1}, root, tag_of(id), Comm{group.comm},
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
        f.call(TORTURE_CALL(MPI_Recv), b, words, Type{-1}, Source{-1}, tag_of(id), Comm{group.comm}, status);
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
  bool replaces = false;

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world), p = group.size();
    if (me < 0) return;
    const int to = (me + shift) % p, from = (me + p - shift) % p;
    const Buf b{object(id, 0)}, in{object(id, replaces ? 0 : 1)};
    const Stat status{object(id, 0)};
    const unsigned mine = key + static_cast<unsigned>(me), theirs = key + static_cast<unsigned>(from);
    f.does(TORTURE_CALL(make), BufRef{b.index}, words);
    f.does(TORTURE_CALL(fill), b, Layout{-1}, 1, 1, words, Key{mine}, 0);
    if (replaces) {
      f.call(TORTURE_CALL(MPI_Sendrecv_replace), b, words, Type{-1}, to, tag_of(id), from, tag_of(id), Comm{group.comm},
             status);
    } else {
      f.does(TORTURE_CALL(make), BufRef{in.index}, words);
      f.call(TORTURE_CALL(MPI_Sendrecv), b, words, Type{-1}, to, tag_of(id), in, words, Type{-1}, from, tag_of(id),
             Comm{group.comm}, status);
      f.does(TORTURE_CALL(expect), id, b, Layout{-1}, 1, 1, words, Key{mine}, 1, 0);
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{b.index}, words);
    }
    f.does(TORTURE_CALL(expect_count), id, status, from, tag_of(id), words);
    f.does(TORTURE_CALL(expect), id, in, Layout{-1}, 1, 1, words, Key{theirs}, 1, 0);
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{in.index}, words);
  }
  void finish(Face&, int) const override {}
};

Side draw_side(Chance& chance, int words, int n) {
  Side side;
  side.n = n;
  if (words % 48 == 0 && chance.one_in(2)) side.shape = Shape(chance);
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
  step->mode = chance.below(2);
  step->sends = chance.below(3);
  step->receives = chance.below(5);
  if (step->from == step->to) {  // a blocking call would wait for itself
    if (step->receives == 0 || step->receives >= 3) step->sends = 1 + chance.below(2);
  }
  step->holds = step->sends == 2 || step->receives == 2;
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
  return step;
}

}  // namespace torture
