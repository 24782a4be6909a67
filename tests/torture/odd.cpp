// SPDX-License-Identifier: BSD-3-Clause
// Messages of structures with fields of several types at any byte, also packed, in this machine's or in the external
// representation.
#include "plan.hpp"

namespace torture {
namespace {

struct Field {
  int type = 0;  // char, short, int, double
  int count = 0;
};
constexpr int kBytes[] = {1, 2, 4, 8};

enum class Way { typed, packed, external, count };

struct Odd : Step {
  Group group;
  std::vector<Field> fields;
  std::vector<int> counts;
  std::vector<long> here, there;  // bytes from the begin of the buffer, at the sender and the receiver
  int repeats = 1, from = 0, to = 0;
  long extents[2] = {0, 0};
  Way sent = Way::typed, received = Way::typed;

  int field_bytes(std::size_t i) const { return fields[i].count * kBytes[fields[i].type]; }
  int bytes() const {
    int all = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) all += field_bytes(i);
    return all * repeats;
  }
  int words(int side) const { return static_cast<int>((extents[side] * repeats + 3) / 4 + 2); }
  Type type(int side) const { return {object(id, side)}; }

  void make_type(Face& f, int side) const {
    const TypesRef list{object(id, 0)};
    f.does(TORTURE_CALL(word_types), list, static_cast<int>(fields.size()));
    for (std::size_t i = 0; i < fields.size(); ++i)
      f.does(TORTURE_CALL(set_type), list, static_cast<int>(i), fields[i].type);
    const TypeRef made{object(id, 3)};
    f.call(TORTURE_CALL(MPI_Type_create_struct), static_cast<int>(fields.size()), Ints{&counts},
           Longs{side == 0 ? &here : &there}, Types{object(id, 0)}, made);
    f.call(TORTURE_COUNTED(MPI_Type_create_resized), Type{made.index}, Size{0}, Size{extents[side]},
           TypeRef{type(side).index});
    f.call(TORTURE_CALL(MPI_Type_free), made);
    f.call(TORTURE_CALL(MPI_Type_commit), TypeRef{type(side).index});
    f.does(TORTURE_CALL(drop_types), list);
  }

  /// Each field of each element: where it lies, how long it is, and at which byte of the message.
  template <class Use>
  void each_field(int side, Use use) const {
    int first = 0;
    for (int r = 0; r < repeats; ++r)
      for (std::size_t i = 0; i < fields.size(); ++i) {
        const long at = (side == 0 ? here : there)[i] + r * extents[side];
        use(BufByte{object(id, side), static_cast<int>(at)}, field_bytes(i), first);
        first += field_bytes(i);
      }
  }

  void send(Face& f) const {
    const Comm c{group.comm};
    const Req r{object(id, 0)};
    const BufRef packed{object(id, 2)};
    const Buf in{object(id, 0)};
    if (sent != Way::typed) {
      f.does(TORTURE_CALL(make), packed, words_of_packed());
      f.does(TORTURE_CALL(make), BufRef{object(id, 4)}, 1);  // how many bytes it takes
    }
    if (sent == Way::typed) {
      f.call(TORTURE_COUNTED(MPI_Isend), in, repeats, type(0), to, id + 1, c, r);
      return;
    }
    const Buf to_pack{packed.index}, size{object(id, 4)};
    if (sent == Way::packed) {
      f.does(TORTURE_CALL(pack), id, in, repeats, type(0), to_pack, words_of_packed(), c, size);
      f.does(TORTURE_CALL(send_packed), id, to_pack, size, TORTURE_NAMED(MPI_PACKED), to, id + 1, c, r);
    } else {
      f.does(TORTURE_CALL(pack_external), id, in, repeats, type(0), to_pack, words_of_packed(), bytes(), size);
      f.does(TORTURE_CALL(send_packed), id, to_pack, size, TORTURE_NAMED(MPI_BYTE), to, id + 1, c, r);
    }
  }
  int words_of_packed() const { return 2 * bytes() + 64; }

  void receive(Face& f) const {
    const Comm c{group.comm};
    const Buf out{object(id, 1)}, packed{object(id, 3)};
    const Stat status{object(id, 0)};
    if (received == Way::typed) {
      f.call(TORTURE_COUNTED(MPI_Recv), out, repeats, type(1), from, id + 1, c, status);
      return;
    }
    f.does(TORTURE_CALL(make), BufRef{packed.index}, words_of_packed());
    const int room = 4 * words_of_packed();
    if (received == Way::packed)
      f.call(TORTURE_COUNTED(MPI_Recv), packed, room, TORTURE_NAMED(MPI_PACKED), from, id + 1, c, status);
    else
      f.call(TORTURE_COUNTED(MPI_Recv), packed, room, TORTURE_NAMED(MPI_BYTE), from, id + 1, c, status);
    if (received == Way::packed)
      f.does(TORTURE_CALL(unpack), id, packed, status, out, repeats, type(1), c);
    else
      f.does(TORTURE_CALL(unpack_external), id, packed, bytes(), out, repeats, type(1));
    f.does(TORTURE_CALL(drop), BufRef{packed.index});
  }

  void start(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me == to) {
      make_type(f, 1);
      f.does(TORTURE_CALL(make), BufRef{object(id, 1)}, words(1));
    }
    if (me != from) return;
    make_type(f, 0);
    f.does(TORTURE_CALL(make), BufRef{object(id, 0)}, words(0));
    each_field(0,
               [&](BufByte at, int size, int first) { f.does(TORTURE_CALL(fill_bytes), at, size, Key{key}, first); });
    send(f);
    f.call(TORTURE_CALL(MPI_Type_free), TypeRef{type(0).index});
  }

  void finish(Face& f, int world) const override {
    const int me = group.rank_of(world);
    if (me == to) {
      receive(f);
      f.call(TORTURE_CALL(MPI_Type_free), TypeRef{type(1).index});
      each_field(1, [&](BufByte at, int size, int first) {
        f.does(TORTURE_CALL(expect_bytes), id, at, size, Key{key}, first);
      });
      f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 1)}, words(1));
    }
    if (me != from) return;
    f.does(TORTURE_CALL(complete), id, 0, Req{object(id, 0)}, Stat{object(id, 1)});
    each_field(
        0, [&](BufByte at, int size, int first) { f.does(TORTURE_CALL(expect_bytes), id, at, size, Key{key}, first); });
    f.does(TORTURE_CALL(expect_no_more), id, BufRef{object(id, 0)}, words(0));
    if (sent == Way::typed) return;
    f.does(TORTURE_CALL(drop), BufRef{object(id, 2)});
    f.does(TORTURE_CALL(drop), BufRef{object(id, 4)});
  }
};

/// Places for the fields with gaps of any size between them; the extent that follows.
long place(Chance& chance, const Odd& step, std::vector<long>& at) {
  long next = chance.below(5);
  for (std::size_t i = 0; i < step.fields.size(); ++i) {
    at.push_back(next);
    next += step.field_bytes(i) + chance.below(4);
  }
  return next + chance.below(3);
}

}  // namespace

std::unique_ptr<Step> draw_odd(Chance& chance, const Group& group, int) {
  auto step = std::make_unique<Odd>();
  step->what = "structure";
  step->holds = true;
  step->group = group;
  step->from = chance.below(group.size());
  step->to = chance.below(group.size());
  step->repeats = chance.of({1, 1, 2, 7, 40});
  for (int n = 1 + chance.below(5); n > 0; --n)
    step->fields.push_back({chance.below(4), chance.one_in(8) ? chance.below(500) : chance.below(9)});
  for (const Field& field : step->fields) step->counts.push_back(field.count);
  step->extents[0] = place(chance, *step, step->here);
  step->extents[1] = place(chance, *step, step->there);
  step->sent = static_cast<Way>(chance.below(static_cast<int>(Way::count)));
  // Packed data may be received by its types, and typed data as packed; the external form is of bytes on both sides.
  step->received = step->sent == Way::external ? Way::external : chance.one_in(2) ? Way::typed : Way::packed;
  return step;
}

}  // namespace torture
