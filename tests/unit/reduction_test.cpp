// SPDX-License-Identifier: BSD-3-Clause
// reduce() against plain scalar code written per operation, for every defined pair of operation and type, at lengths
// around the vector blocks and at unaligned addresses.
#include "base/data/reduction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/data/reduction_table.hpp"

namespace rmq {
namespace {

template <class V, class I>
struct Located {
  V value;
  I index;
};

/// The naive reduction: `in op inout`, or nothing when the standard does not define it.
template <class T>
std::optional<T> scalar(ReduceOp op, T in, T inout, bool logic, bool bits, bool sums) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = unsigned __int128;
    if (sums && op == ReduceOp::sum) return static_cast<T>(static_cast<Wide>(in) + static_cast<Wide>(inout));
    if (sums && op == ReduceOp::prod) return static_cast<T>(static_cast<Wide>(in) * static_cast<Wide>(inout));
    if (bits && op == ReduceOp::band) return static_cast<T>(in & inout);
    if (bits && op == ReduceOp::bor) return static_cast<T>(in | inout);
    if (bits && op == ReduceOp::bxor) return static_cast<T>(in ^ inout);
  } else {
    if (sums && op == ReduceOp::sum) return in + inout;
    if (sums && op == ReduceOp::prod) return in * inout;
  }
  if (sums && op == ReduceOp::max) return in > inout ? in : inout;
  if (sums && op == ReduceOp::min) return in < inout ? in : inout;
  if (logic && op == ReduceOp::land) return static_cast<T>(in != T{} && inout != T{});
  if (logic && op == ReduceOp::lor) return static_cast<T>(in != T{} || inout != T{});
  if (logic && op == ReduceOp::lxor) return static_cast<T>((in != T{}) != (inout != T{}));
  return std::nullopt;
}

template <class T>
std::optional<std::complex<T>> scalar(ReduceOp op, std::complex<T> in, std::complex<T> inout, bool, bool, bool) {
  if (op == ReduceOp::sum) return in + inout;
  if (op == ReduceOp::prod) {
    return std::complex<T>{in.real() * inout.real() - in.imag() * inout.imag(),
                           in.real() * inout.imag() + in.imag() * inout.real()};
  }
  return std::nullopt;
}

template <class V, class I>
std::optional<Located<V, I>> scalar(ReduceOp op, Located<V, I> in, Located<V, I> inout, bool, bool, bool) {
  if (op != ReduceOp::maxloc && op != ReduceOp::minloc) return std::nullopt;
  if (in.value == inout.value) return Located<V, I>{in.value, std::min(in.index, inout.index)};
  return (in.value > inout.value) == (op == ReduceOp::maxloc) ? in : inout;
}

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
template <class V, class I>
bool same(const Located<V, I>& a, const Located<V, I>& b) {
  return a.value == b.value && a.index == b.index;
}

class Random {
 public:
  template <class T>
  void fill(T& to) {
    if constexpr (std::is_integral_v<T>) {
      // Full range, and often 0 or an equal neighbour.
      to = percent() < 30 ? static_cast<T>(percent() % 3) : static_cast<T>(engine_());
    } else {
      to = static_cast<T>(static_cast<int>(percent()) - 50) / 4;
      if (percent() < 20) to = 0;
    }
  }
  template <class T>
  void fill(std::complex<T>& to) {
    T re, im;
    fill(re);
    fill(im);
    to = {re, im};
  }
  template <class V, class I>
  void fill(Located<V, I>& to) {
    to.value = static_cast<V>(percent() % 4);
    to.index = static_cast<I>(percent() % 5);
  }

 private:
  std::uint64_t percent() { return engine_() % 100; }
  std::mt19937_64 engine_{42};
};

/// Every operation on one type; `logic`, `bits` and `sums` (with max and min) say which groups should be defined.
template <class T>
void check(Basic type, bool sums, bool logic, bool bits) {
  EXPECT_EQ(basic_size(type), sizeof(T));
  Random random;
  for (int number = 1; number <= 12; ++number) {
    const auto op = static_cast<ReduceOp>(number);
    SCOPED_TRACE("operation " + std::to_string(number) + ", type " + std::to_string(static_cast<int>(type)));
    const bool defined = scalar(op, T{}, T{}, logic, bits, sums).has_value();
    ASSERT_EQ(reduce_defined(op, type), defined);
    if (!defined) continue;
    for (const std::size_t count : {0, 1, 3, 7, 31, 32, 63, 64, 65, 127, 129, 513, 1000}) {
      for (const std::size_t shift : {0, 1, 5}) {
        std::vector<T> in(count), inout(count);
        for (T& value : in) random.fill(value);
        for (T& value : inout) random.fill(value);
        const std::size_t bytes = count * sizeof(T);
        std::vector<std::byte> left(bytes + 16), right(bytes + 16, std::byte{0x5a});
        if (bytes != 0) {
          std::memcpy(left.data() + shift, in.data(), bytes);
          std::memcpy(right.data() + 2 * shift, inout.data(), bytes);
        }
        reduce(op, type, left.data() + shift, right.data() + 2 * shift, count);
        for (std::size_t i = 0; i < count; ++i) {
          T got;
          std::memcpy(&got, right.data() + 2 * shift + i * sizeof(T), sizeof(T));
          ASSERT_TRUE(same(got, *scalar(op, in[i], inout[i], logic, bits, sums))) << "element " << i << " of " << count;
        }
        for (std::size_t i = 0; i < 2 * shift; ++i) ASSERT_EQ(right[i], std::byte{0x5a});
        for (std::size_t i = bytes + 2 * shift; i < right.size(); ++i) ASSERT_EQ(right[i], std::byte{0x5a});
      }
    }
  }
}

TEST(ReductionTest, integers) {
  check<std::int8_t>(Basic::i8, true, true, true);
  check<std::uint8_t>(Basic::u8, true, true, true);
  check<std::int16_t>(Basic::i16, true, true, true);
  check<std::uint16_t>(Basic::u16, true, true, true);
  check<std::int32_t>(Basic::i32, true, true, true);
  check<std::uint32_t>(Basic::u32, true, true, true);
  check<std::int64_t>(Basic::i64, true, true, true);
  check<std::uint64_t>(Basic::u64, true, true, true);
}

TEST(ReductionTest, truth_values_and_bytes) {
  check<std::uint8_t>(Basic::boolean, false, true, false);
  check<std::int32_t>(Basic::logical, false, true, false);
  check<std::uint8_t>(Basic::byte, false, false, true);
}

TEST(ReductionTest, floating_point_and_complex) {
  check<float>(Basic::f32, true, true, false);
  check<double>(Basic::f64, true, true, false);
  check<long double>(Basic::f80, true, true, false);
  check<std::complex<float>>(Basic::c32, true, false, false);
  check<std::complex<double>>(Basic::c64, true, false, false);
  check<std::complex<long double>>(Basic::c80, true, false, false);
}

TEST(ReductionTest, values_with_a_location) {
  check<Located<float, int>>(Basic::f32_i32, false, false, false);
  check<Located<double, int>>(Basic::f64_i32, false, false, false);
  check<Located<std::int64_t, int>>(Basic::i64_i32, false, false, false);
  check<Located<std::int16_t, int>>(Basic::i16_i32, false, false, false);
  check<Located<int, int>>(Basic::i32_i32, false, false, false);
  check<Located<long double, int>>(Basic::f80_i32, false, false, false);
  check<Located<float, float>>(Basic::f32_f32, false, false, false);
  check<Located<double, double>>(Basic::f64_f64, false, false, false);
}

/// inout + scale * in, as two reductions do it.
template <class T>
void check_scaled(Basic type) {
  Random random;
  for (const std::size_t count : {0, 1, 3, 31, 32, 65, 1000}) {
    T scale;
    random.fill(scale);
    std::vector<T> in(count), inout(count), expected(count, scale);
    for (T& value : in) random.fill(value);
    for (T& value : inout) random.fill(value);
    reduce(ReduceOp::prod, type, in.data(), expected.data(), count);
    reduce(ReduceOp::sum, type, inout.data(), expected.data(), count);
    std::vector<std::byte> left(count * sizeof(T) + 1), right(count * sizeof(T) + 3, std::byte{0x5a});
    if (count > 0) std::memcpy(left.data() + 1, in.data(), count * sizeof(T));
    if (count > 0) std::memcpy(right.data() + 2, inout.data(), count * sizeof(T));
    reduce_scaled(type, &scale, left.data() + 1, right.data() + 2, count);
    for (std::size_t i = 0; i < count; ++i) {
      T got;
      std::memcpy(&got, right.data() + 2 + i * sizeof(T), sizeof(T));
      ASSERT_TRUE(same(got, expected[i])) << "element " << i << " of " << count;
    }
    EXPECT_EQ(right.back(), std::byte{0x5a});
  }
}

TEST(ReductionTest, scaled_sums_are_a_product_and_a_sum) {
  check_scaled<std::int32_t>(Basic::i32);
  check_scaled<std::int64_t>(Basic::i64);
  check_scaled<float>(Basic::f32);
  check_scaled<double>(Basic::f64);
  check_scaled<std::complex<float>>(Basic::c32);
  check_scaled<std::complex<double>>(Basic::c64);
}

TEST(ReductionTest, replace_and_no_op_work_for_every_type) {
  for (int number = 0; number <= 30; ++number) {
    const auto type = static_cast<Basic>(number);
    ASSERT_TRUE(reduce_defined(ReduceOp::replace, type) && reduce_defined(ReduceOp::no_op, type));
    std::vector<std::byte> in(256, std::byte{1}), inout(256, std::byte{2});
    reduce(ReduceOp::no_op, type, in.data(), inout.data(), 3);
    EXPECT_EQ(inout[0], std::byte{2});
    reduce(ReduceOp::replace, type, in.data(), inout.data(), 3);
    const std::size_t size = basic_size(type) == 0 ? 3 : 3 * basic_size(type);
    EXPECT_EQ(inout[size - 1], std::byte{1});
    EXPECT_EQ(inout[size], std::byte{2});
  }
}

TEST(ReductionTest, nothing_is_defined_for_types_without_arithmetic) {
  for (const Basic type :
       {Basic::none, Basic::character, Basic::packed, static_cast<Basic>(19), static_cast<Basic>(99)}) {
    for (int op = 0; op <= 12; ++op) EXPECT_FALSE(reduce_defined(static_cast<ReduceOp>(op), type));
  }
  EXPECT_FALSE(reduce_defined(static_cast<ReduceOp>(200), Basic::f64));
}

TEST(ReductionTest, every_instruction_set_gives_the_same_bits) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "missing here: AVX2";
  const auto& baseline = reduction_detail::baseline_kernels;
  const auto& avx2 = reduction_detail::avx2_kernels;
  Random random;
  for (std::size_t op = 0; op < reduction_detail::kOps; ++op) {
    for (std::size_t type = 0; type < reduction_detail::kTypes; ++type) {
      ASSERT_EQ(baseline.kernels[op][type] == nullptr, avx2.kernels[op][type] == nullptr);
      const auto packed = basic_packed_size(static_cast<Basic>(type));
      if (baseline.kernels[op][type] == nullptr || packed != baseline.sizes[type]) continue;  // padding may differ
      // Small nonzero numbers in every representation: bytes of float values, so no NaN arises by accident.
      std::vector<float> in(4096), first(4096);
      for (float& value : in) random.fill(value);
      for (float& value : first) random.fill(value);
      std::vector<float> second = first;
      const std::size_t count = 4 * 1001 / baseline.sizes[type];
      baseline.kernels[op][type](in.data(), first.data(), count);
      avx2.kernels[op][type](in.data(), second.data(), count);
      EXPECT_EQ(std::memcmp(first.data(), second.data(), 4 * 4096), 0) << "operation " << op << ", type " << type;
    }
  }
}

TEST(ReductionTest, not_a_number_behaves_as_in_mpich) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double in[3] = {nan, 1, nan};
  double sum[3] = {1, nan, nan};
  reduce(ReduceOp::sum, Basic::f64, in, sum, 3);
  EXPECT_TRUE(std::isnan(sum[0]) && std::isnan(sum[1]));
  double largest[3] = {1, nan, nan};
  reduce(ReduceOp::max, Basic::f64, in, largest, 3);
  EXPECT_TRUE(std::isnan(largest[0]));
  EXPECT_EQ(largest[1], 1);
  const double zero = 0.0;
  double minus = -0.0;
  reduce(ReduceOp::min, Basic::f64, &zero, &minus, 1);
  EXPECT_FALSE(std::signbit(minus));
}

}  // namespace
}  // namespace rmq
