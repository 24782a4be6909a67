// SPDX-License-Identifier: BSD-3-Clause
#include "shape.hpp"

#include <algorithm>

namespace torture {

Shape::Shape(Chance& chance) {
  switch (chance.below(5)) {
    case 4:
      add_runs(chance);
      break;
    case 0:
      add(chance, chance.of({1, 2, 3, 4, 6}), chance.of({1, 2}));
      break;
    case 1:
      add(chance, chance.of({1, 3}), chance.of({1, 2, 4}));
      break;
    default:
      add(chance, chance.of({1, 2}), chance.of({1, 3}));
      add(chance, chance.of({1, 2}), 1);
  }
}

Shape::Shape(Chance& chance, int words) {
  add(chance, 1, words);
}

void Shape::place(const std::vector<int>& starts, const std::vector<int>& blocks) {
  const std::vector<int> inner = layout_;
  const int extent = ub_ - lb_, lb = lb_, ub = ub_;
  layout_.clear();
  lb_ = 1 << 30, ub_ = -(1 << 30);
  for (std::size_t i = 0; i < starts.size(); ++i)
    for (int j = 0; j < blocks[i]; ++j) {
      const int base = (starts[i] + j) * extent;
      for (int at : inner) layout_.push_back(base + at);
      lb_ = std::min(lb_, base + lb);
      ub_ = std::max(ub_, base + ub);
    }
}

void Shape::add(Chance& chance, int count, int block) {
  Level level;
  level.kind = static_cast<Kind>(chance.below(2));
  level.count = count;
  level.block = block;
  std::vector<int> starts;
  const long extent = 4L * (ub_ - lb_);
  if (level.kind == Kind::vector) {
    level.stride = (block + chance.below(4)) * (chance.one_in(3) ? -1 : 1);
    for (int i = 0; i < count; ++i) starts.push_back(i * level.stride);
  } else {
    int at = chance.below(5) - 2;
    for (int i = 0; i < count; ++i) {
      starts.push_back(at);
      at += block + chance.below(3);
    }
    if (chance.one_in(2)) std::reverse(starts.begin(), starts.end());
    level.at = starts;
    if (chance.one_in(2)) {
      level.kind = Kind::blocks_of;
      level.blocks.assign(static_cast<std::size_t>(count), block);
    }
  }
  if (chance.one_in(5)) starts = array_part(chance, level);
  place(starts, std::vector<int>(static_cast<std::size_t>(count), block));
  if (level.kind == Kind::subarray || level.kind == Kind::darray) {  // its extent is that of the whole array
    const int words = static_cast<int>(extent / 4);
    lb_ = 0, ub_ = level.sizes[0] * level.sizes[1] * words;
  }
  vary(chance, level, extent);
  levels_.push_back(level);
  finish(chance);
}

void Shape::add_runs(Chance& chance) {
  Level level;
  level.kind = Kind::blocks_of;
  level.count = 8 + chance.below(6);
  int left = chance.of({16, 24, 48}), at = chance.below(5) - 2;
  for (int more = level.count - 1; more >= 0; --more) {
    const int block = more == 0 ? left : 1 + chance.below(std::min(4, left - more));
    level.at.push_back(at);
    level.blocks.push_back(block);
    left -= block;
    at += block + chance.below(3);
  }
  if (chance.one_in(2))
    std::reverse(level.at.begin(), level.at.end()), std::reverse(level.blocks.begin(), level.blocks.end());
  place(level.at, level.blocks);
  vary(chance, level, 4);
  levels_.push_back(level);
  finish(chance);
}

/// What may follow a level, and where the data lies now.
void Shape::finish(Chance& chance) {
  if (chance.one_in(3)) {
    Level resized;
    resized.kind = Kind::resized;
    resized.lb = lb_ - chance.below(2);
    resized.ub = ub_ + chance.below(3);
    lb_ = resized.lb, ub_ = resized.ub;
    levels_.push_back(resized);
  }
  if (chance.one_in(6)) levels_.emplace_back().kind = Kind::dup;
  low_ = *std::min_element(layout_.begin(), layout_.end());
  high_ = *std::max_element(layout_.begin(), layout_.end()) + 1;
}

/// The level's rows as a part of an array of two dimensions.
std::vector<int> Shape::array_part(Chance& chance, Level& level) {
  level.parts = {level.count, level.block};
  if (chance.one_in(2)) {
    spread(chance, level);
  } else {
    level.kind = Kind::subarray;
    level.begin = {chance.below(2), chance.below(3)};
    level.sizes = {level.begin[0] + level.count + chance.below(2), level.begin[1] + level.block + chance.below(2)};
  }
  std::vector<int> starts;
  for (int row = 0; row < level.count; ++row)
    starts.push_back((level.begin[0] + row) * level.sizes[1] + level.begin[1]);
  return starts;
}

/// The part as that of one process among those that an array is spread over in equal blocks.
void Shape::spread(Chance& chance, Level& level) {
  level.kind = Kind::darray;
  for (const int part : level.parts) {
    const int at = chance.below(3), processes = at + 1 + chance.below(2);
    level.begin.push_back(at * part);
    level.sizes.push_back(processes * part);
    level.over.push_back(processes);
    level.place = level.place * processes + at;
  }
}

/// Another constructor that makes the same of it.
void Shape::vary(Chance& chance, Level& level, long extent) {
  if (chance.one_in(2)) return;
  if (level.kind == Kind::vector) {
    if (level.stride == level.block || level.count == 1) {
      level.kind = Kind::contiguous;
    } else {
      level.kind = Kind::hvector;
      level.bytes = {level.stride * extent};
    }
    return;
  }
  for (int at : level.at) level.bytes.push_back(at * extent);
  if (level.kind == Kind::indexed) level.kind = Kind::hblock;
  if (level.kind == Kind::blocks_of) level.kind = chance.one_in(2) ? Kind::hindexed : Kind::structure;
}

void Shape::call(Face& face, const Level& level, Type from, TypeRef to, int id, int n) const {
  switch (level.kind) {
    case Kind::contiguous:
      face.call(TORTURE_COUNTED(MPI_Type_contiguous), level.count * level.block, from, to);
      break;
    case Kind::hvector:
      face.call(TORTURE_COUNTED(MPI_Type_create_hvector), level.count, level.block, Size{level.bytes[0]}, from, to);
      break;
    case Kind::hblock:
      face.call(TORTURE_CALL(MPI_Type_create_hindexed_block), level.count, level.block, Longs{&level.bytes}, from, to);
      break;
    case Kind::hindexed:
      face.call(TORTURE_CALL(MPI_Type_create_hindexed), level.count, Ints{&level.blocks}, Longs{&level.bytes}, from,
                to);
      break;
    case Kind::structure:
      face.does(TORTURE_CALL(same_types), TypesRef{object(id, n)}, level.count, from);
      face.call(TORTURE_CALL(MPI_Type_create_struct), level.count, Ints{&level.blocks}, Longs{&level.bytes},
                Types{object(id, n)}, to);
      face.does(TORTURE_CALL(drop_types), TypesRef{object(id, n)});
      break;
    case Kind::subarray:
      face.call(TORTURE_CALL(MPI_Type_create_subarray), 2, Ints{&level.sizes}, Ints{&level.parts}, Ints{&level.begin},
                TORTURE_NAMED(MPI_ORDER_C), from, to);
      break;
    case Kind::darray:
      face.does(TORTURE_CALL(part_of_array), id, level.over[0] * level.over[1], level.place, Ints{&level.sizes},
                Ints{&level.parts}, Ints{&level.over}, from, to);
      break;
    case Kind::dup:
      face.call(TORTURE_CALL(MPI_Type_dup), from, to);
      break;
    case Kind::vector:
      face.call(TORTURE_COUNTED(MPI_Type_vector), level.count, level.block, level.stride, from, to);
      break;
    case Kind::indexed:
      face.call(TORTURE_CALL(MPI_Type_create_indexed_block), level.count, level.block, Ints{&level.at}, from, to);
      break;
    case Kind::blocks_of:
      face.call(TORTURE_CALL(MPI_Type_indexed), level.count, Ints{&level.blocks}, Ints{&level.at}, from, to);
      break;
    case Kind::resized:
      face.call(TORTURE_COUNTED(MPI_Type_create_resized), from, 4 * level.lb, 4 * (level.ub - level.lb), to);
  }
}

void Shape::make(Face& face, int id, int n) const {
  if (plain()) return;
  // The levels take the two objects in turn, so that the last one is n + 1.
  Type from{-1};
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const int to = object(id, n + ((levels_.size() - i) % 2 == 1 ? 1 : 0));
    call(face, levels_[i], from, TypeRef{to}, id, n);
    if (from.index >= 0) face.call(TORTURE_CALL(MPI_Type_free), TypeRef{from.index});
    from = Type{to};
  }
  face.call(TORTURE_CALL(MPI_Type_commit), TypeRef{from.index});
  face.define(Layout{from.index}, layout_);
}

void Shape::free(Face& face, int id, int n) const {
  if (!plain()) face.call(TORTURE_CALL(MPI_Type_free), TypeRef{object(id, n + 1)});
}

}  // namespace torture
