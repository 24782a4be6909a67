// SPDX-License-Identifier: BSD-3-Clause
// The operations of a random program: what is drawn, and what the oracle makes of it.
#include <algorithm>
#include <array>
#include <cstring>

#include "rma/program.hpp"

namespace rmq::testing {
namespace {

using What = RmaOp::What;

constexpr std::size_t kTypesKept = 4;

RmaTypeRef row(Basic element, std::size_t size, std::size_t count, std::size_t spread) {
  auto type = std::make_shared<RmaType>();
  type->element = element;
  type->size = size;
  type->count = static_cast<int>(count);
  if (spread > 1) {  // every second place
    type->make = RmaType::Make::vector;
    type->count = 1;
    type->blocks = static_cast<int>(count);
    type->length = 1;
    type->stride = static_cast<std::int64_t>(spread * size);
  }
  for (std::size_t i = 0; i < count; ++i) type->elements.push_back(static_cast<std::int64_t>(i * spread * size));
  return type;
}

bool is_integer(Basic element) {
  return element != Basic::f64 && element != Basic::f32 && element != Basic::i32_i32;
}

}  // namespace

void RmaPart::issue(std::unique_ptr<RmaOp> op) {
  expect_none(face_.issue(*op), "an operation");
  pending_.push_back(std::move(op));
}

void RmaPart::count(int target) {
  const auto c = chance_.below(RmaPlan::kCounters);
  const auto by = static_cast<std::int64_t>(chance_.between(1, 9));
  auto op = std::make_unique<RmaOp>();
  op->what = std::array{What::accumulate, What::get_accumulate, What::fetch_and_op}[chance_.below(3)];
  op->op = ReduceOp::sum;
  op->target = target;
  op->offset = plan_.counters() + static_cast<std::int64_t>(c) * 8;
  op->type = op->origin_type = row(Basic::i64, 8, 1, 1);
  op->origin.resize(8);
  std::memcpy(op->origin.data(), &by, 8);
  op->result.resize(8);
  model_.counters[static_cast<std::size_t>(target)][c] += by;
  issue(std::move(op));
}

RmaTypeRef RmaPart::draw_type() {
  struct Kind {
    Basic element;
    std::size_t size;
  };
  static constexpr std::array<Kind, 8> kKinds = {{{Basic::i32, 4},
                                                  {Basic::i64, 8},
                                                  {Basic::u8, 1},
                                                  {Basic::i16, 2},
                                                  {Basic::f64, 8},
                                                  {Basic::u64, 8},
                                                  {Basic::f32, 4},
                                                  {Basic::i32_i32, 8}}};
  if (!types_.empty() && chance_.in(250)) return types_[chance_.below(types_.size())];
  auto type = std::make_shared<RmaType>();
  const Kind kind = kKinds[chance_.below(kKinds.size())];
  type->element = kind.element;
  type->size = kind.size;
  const auto e = static_cast<std::int64_t>(kind.size);
  std::vector<std::int64_t> at;  // of one
  std::int64_t extent = e;
  switch (chance_.below(4)) {
    case 0: {  // a vector, repeated
      type->make = RmaType::Make::vector;
      type->blocks = static_cast<int>(chance_.between(1, 5));
      type->length = static_cast<int>(chance_.between(1, 4));
      type->stride = (type->length + static_cast<std::int64_t>(chance_.below(4))) * e;
      type->count = static_cast<int>(chance_.between(1, 3));
      for (int b = 0; b < type->blocks; ++b)
        for (int i = 0; i < type->length; ++i) at.push_back(b * type->stride + i * e);
      extent = at.back() + e;
      break;
    }
    case 1: {  // blocks wherever
      type->make = RmaType::Make::indexed;
      std::int64_t next = 0;
      for (std::uint64_t b = chance_.between(1, 6); b > 0; --b) {
        next += static_cast<std::int64_t>(chance_.below(3)) * e;
        type->lengths.push_back(static_cast<int>(chance_.between(1, 3)));
        type->places.push_back(next);
        for (int i = 0; i < type->lengths.back(); ++i) at.push_back(next + i * e);
        next += type->lengths.back() * e;
      }
      type->extent = extent = next + static_cast<std::int64_t>(chance_.below(2)) * e;
      type->count = static_cast<int>(chance_.between(1, 3));
      break;
    }
    default: {
      const auto most = std::max<std::uint64_t>(static_cast<std::uint64_t>(plan_.area) / kind.size, 1);
      type->count = static_cast<int>(chance_.between(1, chance_.in(200) ? most : std::min<std::uint64_t>(most, 20)));
      at.push_back(0);
    }
  }
  for (int i = 0; i < type->count; ++i)
    for (const std::int64_t a : at) type->elements.push_back(i * extent + a);
  if (types_.size() < kTypesKept)
    types_.push_back(type);
  else
    types_[chance_.below(kTypesKept)] = type;
  return type;
}

bool RmaPart::clear_of(int target, Touched t, bool may_flush) {
  auto& list = touched_[static_cast<std::size_t>(target)];
  const bool conflict = std::any_of(list.begin(), list.end(), [&](const Touched& o) {
    return o.from < t.to && t.from < o.to && (o.what != t.what || t.what == 1);
  });
  if (conflict) {
    if (!may_flush) return false;
    expect_none(face_.flush(target), "flush");
    list.clear();
  }
  list.push_back(t);
  return true;
}

/// A get of anybody's area, which nobody changes at this time.
void RmaPart::look(int target) {
  auto op = std::make_unique<RmaOp>();
  op->target = target;
  op->offset = plan_.area * static_cast<std::int64_t>(chance_.below(static_cast<std::uint64_t>(plan_.ranks)));
  op->type = row(Basic::u8, 1, static_cast<std::size_t>(plan_.area), 1);
  op->what = What::get;
  draw_elements(*op);
  apply(*op);
  issue(std::move(op));
}

void RmaPart::one(int target, bool may_flush) {
  auto op = std::make_unique<RmaOp>();
  op->target = target;
  op->type = draw_type();
  const RmaType& type = *op->type;
  if (type.end() > plan_.area) return;
  const auto room = static_cast<std::uint64_t>((plan_.area - type.end()) / 8);
  op->offset = plan_.area * me_ + static_cast<std::int64_t>(chance_.below(room + 1)) * 8;
  if (op->offset % plan_.unit != 0) return;
  op->what = static_cast<What>(chance_.below(plan_.flavor == rma::Flavor::shared && may_flush ? 7 : 6));
  const bool single = op->what == What::fetch_and_op || op->what == What::compare_and_swap;
  if (single && (type.make != RmaType::Make::plain || type.count != 1)) return;
  if (op->what == What::compare_and_swap && !is_integer(type.element)) return;
  const int touches = op->what == What::get ? 0 : op->what == What::put ? 1 : 2 + static_cast<int>(type.element);
  if (op->what == What::store) {  // by this process itself, between flushes
    expect_none(face_.flush(target), "flush");
    touched_[static_cast<std::size_t>(target)].clear();
  } else if (!clear_of(target, {op->offset, op->offset + type.end(), touches}, may_flush)) {
    return;
  }
  draw_elements(*op);
  op->asks = !single && op->what != What::store && may_flush && chance_.in(250);
  const bool waits = op->asks && chance_.in(500);
  apply(*op);
  RmaOp& issued = *op;
  issue(std::move(op));
  if (!waits) return;
  expect_none(face_.finish(issued), "finish");
  issued.asks = false;
  judge(issued);
}

/// The origin's data: packed, spread over every second element, or laid out as at the target.
void RmaPart::draw_elements(RmaOp& op) {
  const RmaType& type = *op.type;
  const bool plain = op.what == What::fetch_and_op || op.what == What::compare_and_swap || op.what == What::store;
  const std::size_t n = type.elements.size(), size = type.size;
  if (!plain && chance_.in(200))
    op.origin_type = op.type;
  else
    op.origin_type = row(type.element, size, n, !plain && chance_.in(300) ? 2 : 1);
  op.origin.resize(static_cast<std::size_t>(op.origin_type->end()));
  op.result.resize(op.origin.size());
  for (const std::int64_t at : op.origin_type->elements) {
    const auto x = static_cast<int>(chance_.below(100));
    const auto store = [&](auto value) { std::memcpy(op.origin.data() + at, &value, std::min(sizeof value, size)); };
    if (type.element == Basic::f64)
      store(static_cast<double>(x));
    else if (type.element == Basic::f32)
      store(static_cast<float>(x));
    else if (type.element == Basic::i32_i32)
      store(std::array<int, 2>{x, static_cast<int>(chance_.below(5))});
    else
      store(static_cast<std::int64_t>(x));
  }
  if (op.what == What::accumulate || op.what == What::get_accumulate || op.what == What::fetch_and_op)
    op.op = draw_reduction(type.element);
  if (op.what == What::accumulate && op.op == ReduceOp::no_op) op.op = ReduceOp::replace;  // MPI forbids it there
  if (op.what != What::compare_and_swap) return;
  op.compare.resize(size);  // mostly what is there
  std::memcpy(op.compare.data(), model_.areas[static_cast<std::size_t>(op.target)].data() + op.offset, size);
  if (chance_.in(300)) op.compare[0] ^= std::byte{1};
}

ReduceOp RmaPart::draw_reduction(Basic element) {
  if (element == Basic::i32_i32)
    return chance_.pick({ReduceOp::maxloc, ReduceOp::minloc, ReduceOp::replace, ReduceOp::no_op});
  if (is_integer(element))
    return chance_.pick(
        {ReduceOp::sum, ReduceOp::max, ReduceOp::bxor, ReduceOp::band, ReduceOp::replace, ReduceOp::no_op});
  return chance_.pick({ReduceOp::sum, ReduceOp::min, ReduceOp::prod, ReduceOp::replace, ReduceOp::no_op});
}

/// The oracle.
void RmaPart::apply(RmaOp& op) {
  std::byte* const area = model_.areas[static_cast<std::size_t>(op.target)].data() + op.offset;
  const std::size_t size = op.type->size;
  const bool fetches = op.what != What::put && op.what != What::accumulate && op.what != What::store;
  op.expected = op.result;
  for (std::size_t i = 0; i < op.type->elements.size(); ++i) {
    std::byte* const at = area + op.type->elements[i];
    const std::int64_t mine = op.origin_type->elements[i];
    const std::byte* const from = op.origin.data() + mine;
    if (fetches) std::memcpy(op.expected.data() + mine, at, size);
    switch (op.what) {
      case What::get:
        break;
      case What::put:
      case What::store:
        std::memcpy(at, from, size);
        break;
      case What::compare_and_swap:
        if (std::memcmp(at, op.compare.data(), size) == 0) std::memcpy(at, from, size);
        break;
      default:
        reduce(op.op, op.type->element, from, at, 1);
    }
  }
}

}  // namespace rmq::testing
