// SPDX-License-Identifier: BSD-3-Clause
#include "coll/data.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rmq::testing {
namespace {

constexpr std::uint8_t kPattern = 0xe7;
constexpr long kMargin = 64;

const mpi::Datatype& builtin(MPI_Datatype handle) {
  static const bool made = (mpi::init_builtin_types(mpi::runtime()), true);
  static_cast<void>(made);
  return *mpi::find_datatype(handle);
}

std::vector<long> run(long from, long n) {
  std::vector<long> all;
  for (long i = 0; i < n; ++i) all.push_back(from + i);
  return all;
}

CollType predefined(const char* name, MPI_Datatype handle) {
  const mpi::Datatype& t = builtin(handle);
  CollType made{name, {}, run(0, static_cast<long>(t.size))};
  made.type.handle = t.handle;
  made.type.layout = t.layout;
  made.type.basic = t.basic;
  made.type.size = t.size;
  made.type.dense = t.dense;
  made.type.committed = made.type.predefined = true;
  return made;
}

CollType derived(const char* name, LayoutRef layout, std::vector<long> offsets) {
  CollType made{name, {}, std::move(offsets)};
  made.type.size = layout->size();
  made.type.dense = layout->is_dense();
  made.type.layout = std::move(layout);
  made.type.committed = true;
  return made;
}

/// `n` words of four bytes at these places, as elements of this extent.
CollType words(const char* name, const std::vector<std::int64_t>& places, std::int64_t lb, std::int64_t extent) {
  const std::vector<std::uint64_t> ones(places.size(), 1);
  std::vector<long> offsets;
  for (const std::int64_t at : places) {
    for (long k = 0; k < 4; ++k) offsets.push_back(at + k);
  }
  return derived(name, Layout::resized(*Layout::hindexed(ones, places, *Layout::basic(Basic::u32, 4)), lb, extent),
                 std::move(offsets));
}

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store(std::uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
void number(int member, long element, std::uint8_t* value) {
  store(value, static_cast<T>((member * 7 + element * 3) % 23 + 1));
}
template <class T>
void plus(const std::uint8_t* left, const std::uint8_t* right, std::uint8_t* result) {
  store(result, static_cast<T>(load<T>(left) + load<T>(right)));
}
void most(const std::uint8_t* left, const std::uint8_t* right, std::uint8_t* result) {
  store(result, std::max(load<double>(left), load<double>(right)));
}

struct Located {
  std::int32_t value, index;
};
void located(int member, long element, std::uint8_t* value) {
  store(value, Located{static_cast<std::int32_t>((member + element) % 3), member});
}
void lowest(const std::uint8_t* left, const std::uint8_t* right, std::uint8_t* result) {
  const auto a = load<Located>(left), b = load<Located>(right);
  store(result, a.value < b.value || (a.value == b.value && a.index < b.index) ? a : b);
}

// 2x2 matrices modulo a prime: associative, but not commutative.
struct Matrix {
  std::uint32_t a, b, c, d;
};
void matrix(int member, long element, std::uint8_t* value) {
  const auto m = static_cast<std::uint32_t>(member), e = static_cast<std::uint32_t>(element);
  store(value, Matrix{1 + m, 2 + e % 11, 3 + m * e % 13, 5});
}
void multiply(const std::uint8_t* left, const std::uint8_t* right, std::uint8_t* result) {
  constexpr std::uint32_t kPrime = 10007;
  const auto x = load<Matrix>(left), y = load<Matrix>(right);
  store(result, Matrix{(x.a * y.a + x.b * y.c) % kPrime, (x.a * y.b + x.b * y.d) % kPrime,
                       (x.c * y.a + x.d * y.c) % kPrime, (x.c * y.b + x.d * y.d) % kPrime});
}
const std::vector<std::int64_t> kMatrixPlaces{4, 8, 16, 20};

/// The operation as a program's function: elements of 32 bytes with the matrix at kMatrixPlaces.
void multiply_user(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    auto* const x = static_cast<std::uint8_t*>(in) + 32 * i;
    auto* const y = static_cast<std::uint8_t*>(inout) + 32 * i;
    std::uint8_t left[16], right[16];
    for (std::size_t k = 0; k < 4; ++k) {
      std::memcpy(left + 4 * k, x + kMatrixPlaces[k], 4), std::memcpy(right + 4 * k, y + kMatrixPlaces[k], 4);
    }
    multiply(left, right, right);
    for (std::size_t k = 0; k < 4; ++k) std::memcpy(y + kMatrixPlaces[k], right + 4 * k, 4);
  }
}
void add_user(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    auto* const at = static_cast<std::uint8_t*>(inout) + 8 * i;
    plus<std::int64_t>(static_cast<std::uint8_t*>(in) + 8 * i, at, at);
  }
}

mpi::Op predefined_op(ReduceOp op) {
  return {0, 1, op, nullptr, true};
}
mpi::Op user_op(MPI_User_function* function, bool commutes) {
  return {0, 1, ReduceOp::none, function, commutes};
}

}  // namespace

const std::vector<CollType>& moved_types() {
  static const std::vector<CollType> all = [] {
    std::vector<CollType> t;
    t.push_back(predefined("bytes", MPI_BYTE));
    t.push_back(predefined("doubles", MPI_DOUBLE));
    t.push_back(words("words with gaps", {0, 12}, 0, 16));
    t.push_back(words("words around a negative bound", {-8, 4}, -8, 20));
    t.push_back(words("words backwards", {8, 4}, 0, 12));
    t.push_back(derived("nothings", Layout::contiguous(0, *Layout::basic(Basic::u32, 4)), {}));
    return t;
  }();
  return all;
}

const std::vector<CollOp>& reductions() {
  static const CollType ints = predefined("ints", MPI_INT), doubles = predefined("doubles", MPI_DOUBLE),
                        pairs = predefined("pairs", MPI_2INT), longs = predefined("longs", MPI_INT64_T),
                        matrices = words("matrices", kMatrixPlaces, 0, 32);
  static const std::vector<CollOp> all{
      {"sums of ints", &ints, predefined_op(ReduceOp::sum), plus<std::int32_t>, number<std::int32_t>},
      {"sums of doubles", &doubles, predefined_op(ReduceOp::sum), plus<double>, number<double>},
      {"maxima of doubles", &doubles, predefined_op(ReduceOp::max), most, number<double>},
      {"minlocs", &pairs, predefined_op(ReduceOp::minloc), lowest, located},
      {"products of matrices", &matrices, user_op(multiply_user, false), multiply, matrix},
      {"user's sums of longs", &longs, user_op(add_user, true), plus<std::int64_t>, number<std::int64_t>},
  };
  return all;
}

Area::Area(const CollType& type, long count) : type_(&type) {
  const Layout& l = *type.type.layout;
  const long low = std::min<long>(0, l.true_lb()), high = std::max<long>(0, l.true_lb() + l.true_extent());
  const long n = type.size() == 0 ? 0 : std::max<long>(count, 1) - 1;
  origin_ = kMargin - low;
  bytes_.assign(static_cast<std::size_t>(origin_ + n * l.extent() + high + kMargin), kPattern);
  known_ = bytes_;
}

void Area::write(Bytes& to, long first, const std::uint8_t* packed, long count) const {
  const std::size_t size = type_->size();
  for (long i = 0; i < count && size > 0; ++i) {
    const long base = origin_ + (first + i) * type_->extent();
    for (std::size_t k = 0; k < size; ++k) {
      to[static_cast<std::size_t>(base + type_->offsets[k])] = packed[static_cast<std::size_t>(i) * size + k];
    }
  }
}

void Area::ignore(long first, long count) {
  for (long i = 0; i < count; ++i) {
    for (const long k : type_->offsets) {
      ignored_.push_back(static_cast<std::size_t>(origin_ + (first + i) * type_->extent() + k));
    }
  }
}

std::string Area::fault() const {
  Bytes known = known_;
  for (const std::size_t at : ignored_) known[at] = bytes_[at];
  if (bytes_ == known) return {};
  const auto at = std::mismatch(bytes_.begin(), bytes_.end(), known.begin()).first - bytes_.begin();
  return "byte " + std::to_string(at - origin_) + " is wrong";
}

}  // namespace rmq::testing
