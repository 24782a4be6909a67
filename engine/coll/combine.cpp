// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/combine.hpp"

namespace rmq::mpi::coll {
namespace {

// Largest vector to join. Longer ones do not arrive in one packet and would be staged.
constexpr std::uint64_t kJoinMax = 4096;

enum class Arithmetic : std::uint8_t { exact, rounded, rounded_pairs, unknown };

Arithmetic arithmetic_of(Basic type) {
  switch (type) {
    case Basic::i8:
    case Basic::u8:
    case Basic::i16:
    case Basic::u16:
    case Basic::i32:
    case Basic::u32:
    case Basic::i64:
    case Basic::u64:
    case Basic::boolean:
    case Basic::logical:
    case Basic::byte:
    case Basic::i16_i32:
    case Basic::i32_i32:
    case Basic::i64_i32:
      return Arithmetic::exact;
    case Basic::f32:
    case Basic::f64:
    case Basic::f80:
    case Basic::c32:
    case Basic::c64:
    case Basic::c80:
    case Basic::f128:
    case Basic::c128:
      return Arithmetic::rounded;
    case Basic::f32_i32:
    case Basic::f64_i32:
    case Basic::f80_i32:
    case Basic::f32_f32:
    case Basic::f64_f64:
      return Arithmetic::rounded_pairs;
    default:
      return Arithmetic::unknown;
  }
}

}  // namespace

Order order_of(const Reduction& r) {
  if (r.op.builtin == ReduceOp::none) return {false, false};
  switch (arithmetic_of(r.type.basic)) {
    case Arithmetic::exact:
      return {true, true};
    case Arithmetic::rounded: {
      const ReduceOp op = r.op.builtin;
      const bool logical = op == ReduceOp::land || op == ReduceOp::lor || op == ReduceOp::lxor;
      return {logical || op == ReduceOp::sum || op == ReduceOp::prod, logical};
    }
    default:
      return {false, false};
  }
}

bool may_join(const Reduction& r) {
  return r.op.builtin != ReduceOp::none && r.type.dense && r.type.size == basic_size(r.type.basic) &&
         bytes_of(r) <= kJoinMax && r.device.config().dest_ops;
}

}  // namespace rmq::mpi::coll
