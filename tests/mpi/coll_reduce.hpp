// SPDX-License-Identifier: BSD-3-Clause
// Reduce, Allreduce, Reduce_scatter, Reduce_scatter_block, Scan, Exscan. Each kind of operand comes as a class that
// gives operand i of a rank and combines two; every rank computes what must come out.
#pragma once

#include <cmath>
#include <limits>

#include "coll_test.hpp"

namespace coll_test {

/// A predefined type and operation on it.
template <class T>
struct Plain {
  using Value = T;
  MPI_Datatype type;
  MPI_Op op;
  const char* name;
  T (*function)(T, T);
  T operand(int rank, long i) const { return static_cast<T>((rank * 7 + i * 3) % 5 + 1); }
  T combine(const T& a, const T& b) const { return function(a, b); }
  bool equal(const T& a, const T& b) const { return a == b; }
  static void prepare(T&) {}
};

/// MPI_MINLOC or MPI_MAXLOC.
template <class V, class Pair>
struct Located {
  using Value = Pair;
  MPI_Datatype type;
  MPI_Op op;
  const char* name;
  bool max;
  Pair operand(int rank, long i) const {
    Pair p{};
    p.value = static_cast<V>((rank + i) % 3);
    p.index = rank * 10 + static_cast<int>(i % 7);
    return p;
  }
  Pair combine(const Pair& a, const Pair& b) const {
    if (a.value == b.value) return a.index < b.index ? a : b;
    return (a.value < b.value) == max ? b : a;
  }
  bool equal(const Pair& a, const Pair& b) const { return a.value == b.value && a.index == b.index; }
  static void prepare(Pair&) {}
};
struct IntInt {
  int value, index;
};
struct DoubleInt {
  double value;
  int index;
};
struct ShortInt {
  short value;
  int index;
};
struct LongInt {
  long value;
  int index;
};

/// 2x2 matrices modulo a prime under multiplication, which does not commute, in a type with gaps and a lower bound.
struct Matrix {
  std::uint32_t gap0, a, b, gap1, c, d;
};
constexpr std::uint32_t kPrime = 10007;
constexpr std::uint32_t kGap = 0x5a5a5a5a;
inline Matrix multiply(const Matrix& x, const Matrix& y) {
  return {kGap, (x.a * y.a + x.b * y.c) % kPrime, (x.a * y.b + x.b * y.d) % kPrime,
          kGap, (x.c * y.a + x.d * y.c) % kPrime, (x.c * y.b + x.d * y.d) % kPrime};
}
inline MPI_Datatype expected_type = MPI_DATATYPE_NULL;
inline void multiply_matrices(void* in, void* inout, int* count, MPI_Datatype* type) {
  check(*type == expected_type, "user function got another datatype");
  auto* x = static_cast<Matrix*>(in);
  auto* y = static_cast<Matrix*>(inout);
  for (int i = 0; i < *count; ++i) {
    const std::uint32_t gap0 = y[i].gap0, gap1 = y[i].gap1;
    y[i] = multiply(x[i], y[i]);
    y[i].gap0 = gap0, y[i].gap1 = gap1;
  }
}
struct Matrices {
  using Value = Matrix;
  MPI_Datatype type;
  MPI_Op op;
  const char* name;
  Matrix operand(int rank, long i) const {
    const auto r = static_cast<std::uint32_t>(rank), k = static_cast<std::uint32_t>(i);
    return {kGap, 1 + r, 2 + k % 11, kGap, 3 + r * k % 13, 5};
  }
  Matrix combine(const Matrix& a, const Matrix& b) const { return multiply(a, b); }
  bool equal(const Matrix& a, const Matrix& b) const {
    return a.a == b.a && a.b == b.b && a.c == b.c && a.d == b.d && b.gap0 == kGap && b.gap1 == kGap;
  }
  static void prepare(Matrix& m) { m.gap0 = m.gap1 = kGap; }
};

template <class Kind>
class ReduceSuite {
 public:
  using Value = typename Kind::Value;
  ReduceSuite(MPI_Comm comm, const Kind& kind, int count, int root)
      : comm_(comm), kind_(kind), count_(count), root_(root) {
    MPI_Comm_rank(comm, &me_);
    MPI_Comm_size(comm, &p_);
    root_ %= p_;
  }

  void run() {
    for (const bool in_place : {false, true}) {
      reduce(in_place);
      allreduce(in_place);
      scan(in_place);
      exscan(in_place);
      reduce_scatter_block(in_place);
      reduce_scatter(in_place);
    }
  }

 private:
  std::vector<Value> operands(long n) const {
    std::vector<Value> v(static_cast<std::size_t>(n) + 1);
    for (long i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = kind_.operand(me_, i);
    Kind::prepare(v.back());
    return v;
  }
  /// Combination of the operands i of ranks [0, ranks).
  Value result(int ranks, long i) const {
    Value v = kind_.operand(0, i);
    for (int rank = 1; rank < ranks; ++rank) v = kind_.combine(v, kind_.operand(rank, i));
    return v;
  }
  std::vector<Value> room(long n) const {
    std::vector<Value> v(static_cast<std::size_t>(n) + 1);
    for (Value& x : v) Kind::prepare(x);
    return v;
  }
  void verify(const std::vector<Value>& got, long n, int ranks, long first) {
    for (long i = 0; i < n; ++i) {
      if (!kind_.equal(result(ranks, first + i), got[static_cast<std::size_t>(i)])) {
        check(false, ("element " + std::to_string(i)).c_str());
        return;
      }
    }
  }
  void name(const char* what, bool in_place) {
    context = std::string(what) + (in_place ? " in place of " : " of ") + std::to_string(count_) + " " + kind_.name +
              " on " + std::to_string(p_) + " ranks, root " + std::to_string(root_);
  }

  void reduce(bool in_place) {
    name("Reduce", in_place);
    std::vector<Value> in = operands(count_), out = room(count_);
    const bool root = me_ == root_;
    if (root && in_place) std::swap(in, out);
    MPI_Reduce(root && in_place ? MPI_IN_PLACE : in.data(), root ? out.data() : nullptr, count_, kind_.type, kind_.op,
               root_, comm_);
    if (root) verify(out, count_, p_, 0);
  }
  void allreduce(bool in_place) {
    name("Allreduce", in_place);
    std::vector<Value> in = operands(count_), out = in_place ? in : room(count_);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : in.data(), out.data(), count_, kind_.type, kind_.op, comm_);
    verify(out, count_, p_, 0);
  }
  void scan(bool in_place) {
    name("Scan", in_place);
    std::vector<Value> in = operands(count_), out = in_place ? in : room(count_);
    MPI_Scan(in_place ? MPI_IN_PLACE : in.data(), out.data(), count_, kind_.type, kind_.op, comm_);
    verify(out, count_, me_ + 1, 0);
  }
  void exscan(bool in_place) {
    name("Exscan", in_place);
    std::vector<Value> in = operands(count_), out = in_place ? in : room(count_);
    MPI_Exscan(in_place ? MPI_IN_PLACE : in.data(), out.data(), count_, kind_.type, kind_.op, comm_);
    if (me_ > 0) verify(out, count_, me_, 0);
  }
  void reduce_scatter_block(bool in_place) {
    name("Reduce_scatter_block", in_place);
    const long all = long{p_} * count_;
    std::vector<Value> in = operands(all), out = in_place ? in : room(count_);
    MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : in.data(), out.data(), count_, kind_.type, kind_.op, comm_);
    verify(out, count_, p_, long{me_} * count_);
  }
  void reduce_scatter(bool in_place) {
    name("Reduce_scatter", in_place);
    std::vector<int> counts;
    long all = 0, mine = 0;
    for (int i = 0; i < p_; ++i) {
      counts.push_back((i % 3) * count_ / 2 + (i == p_ - 1 ? 1 : 0));
      if (i == me_) mine = all;
      all += counts.back();
    }
    const long n = counts[static_cast<std::size_t>(me_)];
    std::vector<Value> in = operands(all), out = in_place ? in : room(n);
    MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : in.data(), out.data(), counts.data(), kind_.type, kind_.op, comm_);
    verify(out, n, p_, mine);
  }

  MPI_Comm comm_;
  const Kind& kind_;
  int count_;
  int root_;
  int me_ = 0, p_ = 0;
};

/// The result of a sum that is rounded, and of a maximum that has to choose between 0, -0 and NaN: the same bits
/// everywhere.
inline void same_bits(MPI_Comm comm, int count) {
  int me, p;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &p);
  const auto n = static_cast<std::size_t>(count);
  for (const MPI_Op op : {MPI_SUM, MPI_MAX}) {
    context = std::string("bits of an Allreduce of ") + std::to_string(count) + " on " + std::to_string(p) + " ranks";
    std::vector<double> in(n), out(n);
    for (std::size_t i = 0; i < n; ++i) {
      in[i] = 1.0 / (static_cast<double>(me) + 3.0 + static_cast<double>(i % 17));
      if (op == MPI_MAX && i % 3 != 0) in[i] = (static_cast<std::size_t>(me) + i) % 2 ? 0.0 : -0.0;
      if (op == MPI_MAX && i % 7 == 1 && me == 1) in[i] = std::numeric_limits<double>::quiet_NaN();
    }
    MPI_Allreduce(in.data(), out.data(), count, MPI_DOUBLE, op, comm);
    std::vector<double> first = out;
    for (int other = 1; me == 0 && other < p; ++other) MPI_Send(first.data(), count, MPI_DOUBLE, other, 0, comm);
    if (me != 0) MPI_Recv(first.data(), count, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE);
    check(n == 0 || std::memcmp(first.data(), out.data(), n * sizeof(double)) == 0,
          op == MPI_SUM ? "sum differs" : "max differs");
  }
}

inline void reduce_suite(const std::vector<int>& counts) {
  MPI_Datatype words, matrix;
  const int lengths[4] = {1, 1, 1, 1};
  const MPI_Aint places[4] = {4, 8, 16, 20};
  MPI_Type_create_hindexed(4, lengths, places, MPI_UINT32_T, &words);
  MPI_Type_create_resized(words, 0, sizeof(Matrix), &matrix);
  MPI_Type_commit(&matrix);
  MPI_Type_free(&words);
  expected_type = matrix;
  MPI_Op product;
  MPI_Op_create(multiply_matrices, 0, &product);

  for_each_comm([&](MPI_Comm comm) {
    int root = 0;
    const auto test = [&](const auto& kind) {
      for (const int count : counts) ReduceSuite(comm, kind, count, root++).run();
    };
    test(Matrices{matrix, product, "matrices"});
    test(Plain<int>{MPI_INT, MPI_SUM, "int sums", [](int a, int b) { return a + b; }});
    test(Plain<double>{MPI_DOUBLE, MPI_SUM, "double sums", [](double a, double b) { return a + b; }});
    test(Plain<double>{MPI_DOUBLE, MPI_MIN, "double minima", [](double a, double b) { return b < a ? b : a; }});
    test(Plain<long>{MPI_LONG, MPI_PROD, "long products", [](long a, long b) { return a * b; }});
    test(Plain<unsigned char>{MPI_BYTE, MPI_BXOR, "byte xors",
                              [](unsigned char a, unsigned char b) { return static_cast<unsigned char>(a ^ b); }});
    test(Plain<short>{MPI_SHORT, MPI_MAX, "short maxima", [](short a, short b) { return a < b ? b : a; }});
    test(Plain<int>{MPI_INT, MPI_LXOR, "logical xors", [](int a, int b) { return static_cast<int>(!a != !b); }});
    test(Located<int, IntInt>{MPI_2INT, MPI_MINLOC, "int minlocs", false});
    test(Located<double, DoubleInt>{MPI_DOUBLE_INT, MPI_MAXLOC, "double maxlocs", true});
    test(Located<short, ShortInt>{MPI_SHORT_INT, MPI_MINLOC, "short minlocs", false});
    test(Located<long, LongInt>{MPI_LONG_INT, MPI_MAXLOC, "long maxlocs", true});
    for (const int count : counts) same_bits(comm, count);
  });
  MPI_Op_free(&product);
  MPI_Type_free(&matrix);
}

}  // namespace coll_test
