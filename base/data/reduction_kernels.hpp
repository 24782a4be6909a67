// SPDX-License-Identifier: BSD-3-Clause
// The loops behind reduce(). Included by one .cpp per instruction set, which may define RMQ_KERNEL_TARGET before, the
// attribute that compiles the loops for that set; the unnamed namespace keeps their instantiations apart. (A pragma
// would not do: GCC forgets it in instantiations of templates.) Private to base/.
//
// Which operation exists for which type follows from two short lists at the end: types with the groups of operations
// they support, and operations with the group they belong to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/data/reduction_table.hpp"

#ifndef RMQ_KERNEL_TARGET
#define RMQ_KERNEL_TARGET
#endif

// GCC 12's -O2 vectorises only loops of constant length. Asked for by name, since the whole of -O3 quadruples the code.
#if defined(__GNUC__) && !defined(__clang__)
#define RMQ_KERNEL RMQ_KERNEL_TARGET __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic")))
#define RMQ_INDEPENDENT _Pragma("GCC ivdep")
#else
#define RMQ_KERNEL RMQ_KERNEL_TARGET
#define RMQ_INDEPENDENT
#endif

namespace rmq::reduction_detail {
namespace {

template <class T>
struct Complex {
  T re, im;
};

/// A C struct { value; index; }: sizeof includes its padding.
template <class V, class I>
struct Pair {
  V value;
  I index;
};

/// Users' buffers need not be aligned, and hold whatever type they were declared with.
template <class T>
struct __attribute__((packed, may_alias)) Unaligned {
  T value;
};

template <class Op, class T>
RMQ_KERNEL void kernel(const void* in_bytes, void* inout_bytes, std::size_t count) {
  static_assert(sizeof(Unaligned<T>) == sizeof(T));
  const auto* in = static_cast<const Unaligned<T>*>(in_bytes);
  auto* inout = static_cast<Unaligned<T>*>(inout_bytes);
  RMQ_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) inout[i].value = Op::apply(T{in[i].value}, T{inout[i].value});
}

/// Integers wrap around: computed unsigned, and at least as wide as int, which narrower ones are promoted to.
template <class T, bool = std::is_integral_v<T>>
struct Wrapping {
  using type = std::common_type_t<unsigned, std::make_unsigned_t<T>>;
};
template <class T>
struct Wrapping<T, false> {
  using type = T;
};
template <class T>
using wrapping_t = typename Wrapping<T>::type;

struct Sum {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return static_cast<T>(static_cast<wrapping_t<T>>(a) + static_cast<wrapping_t<T>>(b));
  }
  template <class T>
  [[gnu::always_inline]] static Complex<T> apply(Complex<T> a, Complex<T> b) {
    return {a.re + b.re, a.im + b.im};
  }
};
struct Prod {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return static_cast<T>(static_cast<wrapping_t<T>>(a) * static_cast<wrapping_t<T>>(b));
  }
  template <class T>
  [[gnu::always_inline]] static Complex<T> apply(Complex<T> a, Complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};
// a is `in`. When the two do not compare (NaN) or are equal (-0 and 0), `in` wins, as in MPICH.
struct Max {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return b > a ? b : a;
  }
};
struct Min {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return b < a ? b : a;
  }
};
/// inout[i] += scale * in[i].
template <class T>
RMQ_KERNEL void scaled_kernel(const void* scale_bytes, const void* in_bytes, void* inout_bytes, std::size_t count) {
  const T scale = static_cast<const Unaligned<T>*>(scale_bytes)->value;
  const auto* in = static_cast<const Unaligned<T>*>(in_bytes);
  auto* inout = static_cast<Unaligned<T>*>(inout_bytes);
  RMQ_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i)
    inout[i].value = Sum::apply(Prod::apply(scale, T{in[i].value}), T{inout[i].value});
}

// & and | rather than && and ||: no branch. Compared with 0, any nonzero value is true.
struct And {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return static_cast<T>((a != T{0}) & (b != T{0}));
  }
};
struct Or {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return static_cast<T>((a != T{0}) | (b != T{0}));
  }
};
struct Xor {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return static_cast<T>((a != T{0}) != (b != T{0}));
  }
};
struct BitAnd {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
// Of equal values the one with the lower index.
struct MaxLoc {
  template <class V, class I>
  [[gnu::always_inline]] static Pair<V, I> apply(Pair<V, I> a, Pair<V, I> b) {
    if (a.value == b.value) return {b.value, a.index < b.index ? a.index : b.index};
    return a.value > b.value ? a : b;
  }
};
struct MinLoc {
  template <class V, class I>
  [[gnu::always_inline]] static Pair<V, I> apply(Pair<V, I> a, Pair<V, I> b) {
    if (a.value == b.value) return {b.value, a.index < b.index ? a.index : b.index};
    return a.value < b.value ? a : b;
  }
};

enum Groups : unsigned { sums = 1, order = 2, logic = 4, bits = 8, location = 16, integral = 15 };

template <Basic kType, class T, unsigned kGroups>
struct TypeRow {
  using type = T;
  static constexpr Basic basic = kType;
  static constexpr unsigned groups = kGroups;
};
template <ReduceOp kOp, class Kernel, unsigned kGroup>
struct OpRow {
  using type = Kernel;
  static constexpr ReduceOp op = kOp;
  static constexpr unsigned group = kGroup;
};
template <class... Row>
struct Rows {};

// MPI-4.0 section 6.9.2. Logical operations on floating-point numbers are MPICH's extension.
using Types =
    Rows<TypeRow<Basic::i8, std::int8_t, integral>, TypeRow<Basic::u8, std::uint8_t, integral>,
         TypeRow<Basic::i16, std::int16_t, integral>, TypeRow<Basic::u16, std::uint16_t, integral>,
         TypeRow<Basic::i32, std::int32_t, integral>, TypeRow<Basic::u32, std::uint32_t, integral>,
         TypeRow<Basic::i64, std::int64_t, integral>, TypeRow<Basic::u64, std::uint64_t, integral>,
         TypeRow<Basic::f32, float, sums | order | logic>, TypeRow<Basic::f64, double, sums | order | logic>,
         TypeRow<Basic::f80, long double, sums | order | logic>, TypeRow<Basic::c32, Complex<float>, sums>,
         TypeRow<Basic::c64, Complex<double>, sums>, TypeRow<Basic::c80, Complex<long double>, sums>,
         TypeRow<Basic::boolean, std::uint8_t, logic>, TypeRow<Basic::logical, std::int32_t, logic>,
         TypeRow<Basic::byte, std::uint8_t, bits>, TypeRow<Basic::f32_i32, Pair<float, int>, location>,
         TypeRow<Basic::f64_i32, Pair<double, int>, location>,
         TypeRow<Basic::i64_i32, Pair<std::int64_t, int>, location>,
         TypeRow<Basic::i16_i32, Pair<std::int16_t, int>, location>, TypeRow<Basic::i32_i32, Pair<int, int>, location>,
         TypeRow<Basic::f80_i32, Pair<long double, int>, location>,
         TypeRow<Basic::f32_f32, Pair<float, float>, location>, TypeRow<Basic::f64_f64, Pair<double, double>, location>,
         TypeRow<Basic::f128, __float128, sums | order>, TypeRow<Basic::c128, Complex<__float128>, sums>>;

using Ops = Rows<OpRow<ReduceOp::sum, Sum, sums>, OpRow<ReduceOp::prod, Prod, sums>, OpRow<ReduceOp::max, Max, order>,
                 OpRow<ReduceOp::min, Min, order>, OpRow<ReduceOp::land, And, logic>, OpRow<ReduceOp::lor, Or, logic>,
                 OpRow<ReduceOp::lxor, Xor, logic>, OpRow<ReduceOp::band, BitAnd, bits>,
                 OpRow<ReduceOp::bor, BitOr, bits>, OpRow<ReduceOp::bxor, BitXor, bits>,
                 OpRow<ReduceOp::maxloc, MaxLoc, location>, OpRow<ReduceOp::minloc, MinLoc, location>>;

template <class Type, class Op>
constexpr void fill(KernelTable& table) {
  if constexpr ((Type::groups & Op::group) != 0) {
    table.kernels[static_cast<std::size_t>(Op::op)][static_cast<std::size_t>(Type::basic)] =
        &kernel<typename Op::type, typename Type::type>;
  }
}
constexpr bool can_scale(Basic type) {
  return type == Basic::i32 || type == Basic::i64 || type == Basic::f32 || type == Basic::f64 || type == Basic::c32 ||
         type == Basic::c64;
}
template <class Type, class... Op>
constexpr void fill_type(KernelTable& table, Rows<Op...>) {
  table.sizes[static_cast<std::size_t>(Type::basic)] = sizeof(typename Type::type);
  if constexpr (can_scale(Type::basic))
    table.scaled[static_cast<std::size_t>(Type::basic)] = &scaled_kernel<typename Type::type>;
  (fill<Type, Op>(table), ...);
}
template <class... Type>
constexpr KernelTable make_table(Rows<Type...>) {
  KernelTable table;
  (fill_type<Type>(table, Ops{}), ...);
  return table;
}

}  // namespace
}  // namespace rmq::reduction_detail
