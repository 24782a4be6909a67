// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// MPI_Reduce_local with every predefined operation on every kind of type, and which pairs are refused.
#include <mpi.h>

#include <array>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace {

int errors = 0;
void check(bool good, const std::string& what) {
  if (!good) std::printf("%s\n", what.c_str()), ++errors;
}

struct Named {
  MPI_Op op;
  const char* name;
};
const Named kArithmetic[] = {{MPI_SUM, "sum"}, {MPI_PROD, "prod"}, {MPI_MAX, "max"}, {MPI_MIN, "min"}};
const Named kLogical[] = {{MPI_LAND, "land"}, {MPI_LOR, "lor"}, {MPI_LXOR, "lxor"}};
const Named kBitwise[] = {{MPI_BAND, "band"}, {MPI_BOR, "bor"}, {MPI_BXOR, "bxor"}};

template <class T>
T expected(MPI_Op op, T a, T b) {
  if (op == MPI_SUM) return static_cast<T>(a + b);
  if (op == MPI_PROD) return static_cast<T>(a * b);
  if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>> &&
                !std::is_same_v<T, std::complex<long double>>) {
    if (op == MPI_MAX) return a > b ? a : b;
    if (op == MPI_MIN) return a < b ? a : b;
    if (op == MPI_LAND) return static_cast<T>(a && b);
    if (op == MPI_LOR) return static_cast<T>(a || b);
    if (op == MPI_LXOR) return static_cast<T>(!a != !b);
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == MPI_BAND) return static_cast<T>(a & b);
    if (op == MPI_BOR) return static_cast<T>(a | b);
    if (op == MPI_BXOR) return static_cast<T>(a ^ b);
  }
  return a;
}

/// 37 elements (a full vector and a rest), from a buffer that is not aligned.
template <class T>
void reduces(MPI_Datatype type, const char* name, const Named& op) {
  constexpr int n = 37;
  std::vector<char> raw(sizeof(T) * n + 1), raw_result(sizeof(T) * n + 1);
  std::array<T, n> in, inout, result;
  for (int i = 0; i < n; ++i) {
    in[static_cast<std::size_t>(i)] = static_cast<T>(i % 4);
    inout[static_cast<std::size_t>(i)] = static_cast<T>(i % 7);
  }
  std::memcpy(raw.data() + 1, in.data(), sizeof(T) * n);
  std::memcpy(raw_result.data() + 1, inout.data(), sizeof(T) * n);
  const int code = MPI_Reduce_local(raw.data() + 1, raw_result.data() + 1, n, type, op.op);
  std::memcpy(result.data(), raw_result.data() + 1, sizeof(T) * n);
  bool good = code == MPI_SUCCESS;
  for (std::size_t i = 0; i < n; ++i) good = good && result[i] == expected<T>(op.op, in[i], inout[i]);
  check(good, std::string(op.name) + " of " + name);
}

bool refused(MPI_Datatype type, MPI_Op op) {
  char in[64] = {}, inout[64] = {};
  int error_class = MPI_SUCCESS;
  MPI_Error_class(MPI_Reduce_local(in, inout, 1, type, op), &error_class);
  return error_class == MPI_ERR_OP;
}

template <class T>
void integer(MPI_Datatype type, const char* name) {
  for (const Named& op : kArithmetic) reduces<T>(type, name, op);
  for (const Named& op : kLogical) reduces<T>(type, name, op);
  for (const Named& op : kBitwise) reduces<T>(type, name, op);
  check(refused(type, MPI_MAXLOC), std::string("maxloc of ") + name + " is not refused");
}

template <class T>
void real(MPI_Datatype type, const char* name) {
  for (const Named& op : kArithmetic) reduces<T>(type, name, op);
  for (const Named& op : kBitwise)
    check(refused(type, op.op), std::string(op.name) + " of " + name + " is not refused");
}

template <class T>
void complex(MPI_Datatype type, const char* name) {
  reduces<T>(type, name, kArithmetic[0]);
  reduces<T>(type, name, kArithmetic[1]);
  check(refused(type, MPI_MAX), std::string("max of ") + name + " is not refused");
  check(refused(type, MPI_BAND), std::string("band of ") + name + " is not refused");
}

template <class T>
void logical(MPI_Datatype type, const char* name) {
  for (const Named& op : kLogical) reduces<T>(type, name, op);
  for (const Named& op : kArithmetic) check(refused(type, op.op), std::string(op.name) + " of " + name);
}

template <class Value, class Index = int>
void locations(MPI_Datatype type, const char* name) {
  struct Pair {
    Value value;
    Index index;
  };
  const Pair in[] = {{Value(5), Index(3)}, {Value(2), Index(3)}, {Value(4), Index(3)}, {Value(4), Index(1)}};
  const Pair other[] = {{Value(3), Index(9)}, {Value(7), Index(9)}, {Value(4), Index(2)}, {Value(4), Index(9)}};
  const Index largest[] = {Index(3), Index(9), Index(2), Index(1)}, least[] = {Index(9), Index(3), Index(2), Index(1)};
  Pair max[4], min[4];
  std::memcpy(max, other, sizeof max);
  std::memcpy(min, other, sizeof min);
  bool good = MPI_Reduce_local(in, max, 4, type, MPI_MAXLOC) == MPI_SUCCESS &&
              MPI_Reduce_local(in, min, 4, type, MPI_MINLOC) == MPI_SUCCESS;
  for (int i = 0; i < 4; ++i) {
    good = good && max[i].index == largest[i] && min[i].index == least[i] &&
           max[i].value == (in[i].value > other[i].value ? in[i].value : other[i].value);
  }
  check(good, std::string("locations of ") + name);
  check(refused(type, MPI_SUM), std::string("sum of ") + name + " is not refused");
}

}  // namespace

#define ALL(kind, T, type) kind<T>(type, #type)

int main() {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  ALL(integer, char, MPI_CHAR);
  ALL(integer, signed char, MPI_SIGNED_CHAR);
  ALL(integer, unsigned char, MPI_UNSIGNED_CHAR);
  ALL(integer, short, MPI_SHORT);
  ALL(integer, unsigned short, MPI_UNSIGNED_SHORT);
  ALL(integer, int, MPI_INT);
  ALL(integer, unsigned, MPI_UNSIGNED);
  ALL(integer, long, MPI_LONG);
  ALL(integer, unsigned long, MPI_UNSIGNED_LONG);
  ALL(integer, long long, MPI_LONG_LONG);
  ALL(integer, unsigned long long, MPI_UNSIGNED_LONG_LONG);
  ALL(integer, std::int8_t, MPI_INT8_T);
  ALL(integer, std::uint16_t, MPI_UINT16_T);
  ALL(integer, std::int32_t, MPI_INT32_T);
  ALL(integer, std::uint64_t, MPI_UINT64_T);
  ALL(integer, MPI_Aint, MPI_AINT);
  ALL(integer, MPI_Offset, MPI_OFFSET);
  ALL(integer, MPI_Count, MPI_COUNT);
  ALL(integer, int, MPI_INTEGER);
  ALL(integer, std::int64_t, MPI_INTEGER8);
  ALL(real, float, MPI_FLOAT);
  ALL(real, double, MPI_DOUBLE);
  ALL(real, long double, MPI_LONG_DOUBLE);
  ALL(real, float, MPI_REAL);
  ALL(real, double, MPI_DOUBLE_PRECISION);
  ALL(complex, std::complex<float>, MPI_C_FLOAT_COMPLEX);
  ALL(complex, std::complex<double>, MPI_C_DOUBLE_COMPLEX);
  ALL(complex, std::complex<long double>, MPI_C_LONG_DOUBLE_COMPLEX);
  ALL(complex, std::complex<double>, MPI_CXX_DOUBLE_COMPLEX);
  ALL(complex, std::complex<float>, MPI_COMPLEX);
  ALL(logical, bool, MPI_C_BOOL);
  ALL(logical, bool, MPI_CXX_BOOL);
  ALL(logical, int, MPI_LOGICAL);
  for (const Named& op : kBitwise) reduces<unsigned char>(MPI_BYTE, "MPI_BYTE", op);
  check(refused(MPI_BYTE, MPI_SUM), "sum of bytes is not refused");
  ALL(locations, float, MPI_FLOAT_INT);
  ALL(locations, double, MPI_DOUBLE_INT);
  ALL(locations, long, MPI_LONG_INT);
  ALL(locations, short, MPI_SHORT_INT);
  ALL(locations, int, MPI_2INT);
  ALL(locations, long double, MPI_LONG_DOUBLE_INT);
  locations<float, float>(MPI_2REAL, "MPI_2REAL");
  locations<double, double>(MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION");
  locations<int, int>(MPI_2INTEGER, "MPI_2INTEGER");
  check(refused(MPI_PACKED, MPI_SUM), "sum of packed data is not refused");
  check(refused(MPI_INT, MPI_REPLACE), "replace is not for reductions");
#ifdef RMQ  // MPICH takes REAL*16 for long double
  ALL(real, __float128, MPI_REAL16);
#endif
  MPI_Finalize();
  return errors != 0;
}
