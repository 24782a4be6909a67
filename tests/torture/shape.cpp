#include "shape.hpp"

#include <algorithm>

namespace torture {

Shape::Shape(Chance& chance) {
  switch (chance.below(4)) {
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

void Shape::place(const std::vector<int>& starts, int block) {
  const std::vector<int> inner = layout_;
  const int extent = ub_ - lb_, lb = lb_, ub = ub_;
  layout_.clear();
  lb_ = 1 << 30, ub_ = -(1 << 30);
  for (int start : starts)
    for (int j = 0; j < block; ++j) {
      const int base = (start + j) * extent;
      for (int at : inner) layout_.push_back(base + at);
      lb_ = std::min(lb_, base + lb);
      ub_ = std::max(ub_, base + ub);
    }
}

void Shape::add(Chance& chance, int count, int block) {
  Level level{static_cast<Kind>(chance.below(2)), count, block, 1, {}, {}};
  std::vector<int> starts;
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
  place(starts, block);
  levels_.push_back(level);
  if (chance.one_in(3)) {
    Level resized{Kind::resized, 1, 1, 1, {}, {}, lb_ - chance.below(2), ub_ + chance.below(3)};
    lb_ = resized.lb, ub_ = resized.ub;
    levels_.push_back(resized);
  }
  low_ = *std::min_element(layout_.begin(), layout_.end());
  high_ = *std::max_element(layout_.begin(), layout_.end()) + 1;
}

void Shape::call(Face& face, const Level& level, Type from, TypeRef to) const {
  switch (level.kind) {
    case Kind::vector:
      face.call(TORTURE_CALL(MPI_Type_vector), level.count, level.block, level.stride, from, to);
      break;
    case Kind::indexed:
      face.call(TORTURE_CALL(MPI_Type_create_indexed_block), level.count, level.block, Ints{&level.at}, from, to);
      break;
    case Kind::blocks_of:
      face.call(TORTURE_CALL(MPI_Type_indexed), level.count, Ints{&level.blocks}, Ints{&level.at}, from, to);
      break;
    case Kind::resized:
      face.call(TORTURE_CALL(MPI_Type_create_resized), from, 4 * level.lb, 4 * (level.ub - level.lb), to);
  }
}

void Shape::make(Face& face, int id, int n) const {
  if (plain()) return;
  // The levels take the two objects in turn, so that the last one is n + 1.
  Type from{-1};
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const int to = object(id, n + ((levels_.size() - i) % 2 == 1 ? 1 : 0));
    call(face, levels_[i], from, TypeRef{to});
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
