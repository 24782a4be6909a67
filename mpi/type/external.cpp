// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/type/external.hpp"

#include <array>
#include <cstring>
#include <limits>

#include "mpi/type/make.hpp"

namespace rmq::mpi {
namespace {

/// How one number is represented.
enum class Form : std::uint8_t {
  bytes,  // as it is, one byte
  swap2,  // the same bits, big-endian
  swap4,
  swap8,
  swap16,
  signed_long,  // 8 bytes here, 4 there
  unsigned_long,
  wide_char,  // 4 bytes here, 2 there
  extended,   // x87 long double here, binary128 there
};

/// A predefined type: `times` numbers of one form, then perhaps one int (a value with its location).
struct Shape {
  Form form = Form::bytes;
  std::uint8_t times = 1;
  bool location = false;
};

constexpr std::size_t external_size(Form form) {
  constexpr std::uint8_t sizes[] = {1, 2, 4, 8, 16, 4, 4, 2, 16};
  return sizes[static_cast<std::size_t>(form)];
}
constexpr std::size_t external_size(const Shape& shape) {
  return external_size(shape.form) * shape.times + (shape.location ? external_size(Form::swap4) : 0);
}

Shape shape_of(const Datatype& type) {
  switch (type.handle) {
    case MPI_LONG:
      return {Form::signed_long};
    case MPI_UNSIGNED_LONG:
      return {Form::unsigned_long};
    case MPI_LONG_INT:
      return {Form::signed_long, 1, true};
    case MPI_WCHAR:
      return {Form::wide_char};
    case MPIX_C_FLOAT16:
      return {Form::swap2};
    default:
      break;
  }
  switch (type.basic) {
    case Basic::i16:
    case Basic::u16:
      return {Form::swap2};
    case Basic::i32:
    case Basic::u32:
    case Basic::f32:
    case Basic::logical:
      return {Form::swap4};
    case Basic::i64:
    case Basic::u64:
    case Basic::f64:
      return {Form::swap8};
    case Basic::f80:
      return {Form::extended};
    case Basic::c32:
    case Basic::f32_f32:
    case Basic::i32_i32:
      return {Form::swap4, 2};
    case Basic::c64:
    case Basic::f64_f64:
      return {Form::swap8, 2};
    case Basic::c80:
      return {Form::extended, 2};
    case Basic::i16_i32:
      return {Form::swap2, 1, true};
    case Basic::f32_i32:
      return {Form::swap4, 1, true};
    case Basic::f64_i32:
      return {Form::swap8, 1, true};
    case Basic::f80_i32:
      return {Form::extended, 1, true};
    case Basic::f128:
      return {Form::swap16};
    case Basic::c128:
      return {Form::swap16, 2};
    default:
      return {};
  }
}

// ---- numbers ----

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store(std::byte* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

std::uint16_t swapped(std::uint16_t v) {
  return __builtin_bswap16(v);
}
std::uint32_t swapped(std::uint32_t v) {
  return __builtin_bswap32(v);
}
std::uint64_t swapped(std::uint64_t v) {
  return __builtin_bswap64(v);
}
std::array<std::uint64_t, 2> swapped(const std::array<std::uint64_t, 2>& v) {
  return {swapped(v[1]), swapped(v[0])};
}

template <class T>
void swap_all(std::byte* to, const std::byte* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) store(to + i * sizeof(T), swapped(load<T>(from + i * sizeof(T))));
}
using Bits128 = std::array<std::uint64_t, 2>;

/// What needs nothing but another byte order goes the same way in both directions.
bool swap_form(Form form, std::byte* to, const std::byte* from, std::size_t n) {
  switch (form) {
    case Form::bytes:
      std::memcpy(to, from, n);
      return true;
    case Form::swap2:
      swap_all<std::uint16_t>(to, from, n);
      return true;
    case Form::swap4:
      swap_all<std::uint32_t>(to, from, n);
      return true;
    case Form::swap8:
      swap_all<std::uint64_t>(to, from, n);
      return true;
    case Form::swap16:
      swap_all<Bits128>(to, from, n);
      return true;
    default:
      return false;
  }
}

template <class Native, class External, class Bits>
void narrow(std::byte* to, const std::byte* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = load<Native>(from + i * sizeof(Native));
    if (value < std::numeric_limits<External>::min() || value > std::numeric_limits<External>::max()) {
      fail_call(MPI_ERR_CONVERSION, std::to_string(value) + " does not fit the " + std::to_string(sizeof(External)) +
                                        " bytes that external32 has for this type");
    }
    store(to + i * sizeof(External), swapped(static_cast<Bits>(value)));
  }
}

template <class Native, class External, class Bits>
void widen(std::byte* to, const std::byte* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    store(to + i * sizeof(Native),
          static_cast<Native>(static_cast<External>(swapped(load<Bits>(from + i * sizeof(Bits))))));
  }
}

/// `n` numbers.
void encode(Form form, std::byte* to, const std::byte* from, std::size_t n) {
  if (swap_form(form, to, from, n)) return;
  switch (form) {
    case Form::signed_long:
      return narrow<std::int64_t, std::int32_t, std::uint32_t>(to, from, n);
    case Form::unsigned_long:
      return narrow<std::uint64_t, std::uint32_t, std::uint32_t>(to, from, n);
    case Form::wide_char:
      return narrow<std::uint32_t, std::uint16_t, std::uint16_t>(to, from, n);
    default:
      for (std::size_t i = 0; i < n; ++i) {
        const __float128 value = load<long double>(from + 16 * i);
        store(to + 16 * i, swapped(load<Bits128>(reinterpret_cast<const std::byte*>(&value))));
      }
  }
}

void decode(Form form, std::byte* to, const std::byte* from, std::size_t n) {
  if (swap_form(form, to, from, n)) return;
  switch (form) {
    case Form::signed_long:
      return widen<std::int64_t, std::int32_t, std::uint32_t>(to, from, n);
    case Form::unsigned_long:
      return widen<std::uint64_t, std::uint32_t, std::uint32_t>(to, from, n);
    case Form::wide_char:
      return widen<std::uint32_t, std::uint16_t, std::uint16_t>(to, from, n);
    default:
      for (std::size_t i = 0; i < n; ++i) {
        const Bits128 bits = swapped(load<Bits128>(from + 16 * i));
        store(to + 16 * i, static_cast<long double>(load<__float128>(reinterpret_cast<const std::byte*>(&bits))));
      }
  }
}

/// `n` elements of a predefined type, both sides without gaps.
using Converter = void (*)(Form, std::byte*, const std::byte*, std::size_t);
void convert(Converter one, const Shape& shape, std::byte* to, std::size_t to_size, const std::byte* from,
             std::size_t from_size, std::size_t n) {
  if (!shape.location) return one(shape.form, to, from, n * shape.times);
  for (std::size_t i = 0; i < n; ++i) {
    one(shape.form, to + i * to_size, from + i * from_size, 1);
    one(Form::swap4, to + (i + 1) * to_size - 4, from + (i + 1) * from_size - 4, 1);
  }
}

// ---- type maps ----

std::uint64_t blocklength(const Datatype& structure, std::size_t i) {
  const auto& counts = has_large_counts(structure) ? structure.contents.addresses : structure.contents.integers;
  return static_cast<std::uint64_t>(counts[1 + i]);
}

/// Calls visit(predefined type, how many) for the data of `count` elements in type-map order.
template <class Visit>
void for_each_run(const Datatype* type, std::uint64_t count, Visit& visit) {
  while (combiner_of(*type) != MPI_COMBINER_STRUCT) {
    if (type->size == 0 || count == 0) return;
    if (type->contents.types.empty()) return visit(*type, count);
    const Datatype* const of = type->contents.types[0];  // whatever its places, the data is so many of these
    count *= type->size / of->size;
    type = of;
  }
  for (std::uint64_t n = 0; n < count; ++n) {
    for (std::size_t i = 0; i < type->contents.types.size(); ++i) {
      for_each_run(type->contents.types[i], blocklength(*type, i), visit);
    }
  }
}

constexpr std::size_t kStage = 4096;  // bytes in native form that are converted at a time

}  // namespace

std::uint64_t external_bytes(const Datatype& type, MPI_Count count) {
  std::uint64_t one = 0;
  auto add = [&](const Datatype& of, std::uint64_t n) { one += n * external_size(shape_of(of)); };
  for_each_run(&type, 1, add);
  return one * static_cast<std::uint64_t>(count);
}

void pack_external(std::byte* to, const Datatype& type, const void* from, MPI_Count count) {
  const DataView view = view_of(type, const_cast<void*>(from), count);
  std::uint64_t offset = 0;
  auto pack_run = [&](const Datatype& of, std::uint64_t n) {
    std::array<std::byte, kStage> stage;
    const Shape shape = shape_of(of);
    const std::size_t size = external_size(shape);
    while (n > 0) {
      const std::size_t now = std::min<std::uint64_t>(n, kStage / of.size);
      rmq::pack(stage.data(), view, offset, now * of.size);
      convert(encode, shape, to, size, stage.data(), of.size, now);
      offset += now * of.size;
      to += now * size;
      n -= now;
    }
  };
  for_each_run(&type, static_cast<std::uint64_t>(count), pack_run);
}

void unpack_external(const Datatype& type, void* to, MPI_Count count, const std::byte* from) {
  const DataView view = view_of(type, to, count);
  std::uint64_t offset = 0;
  auto unpack_run = [&](const Datatype& of, std::uint64_t n) {
    std::array<std::byte, kStage> stage;
    const Shape shape = shape_of(of);
    const std::size_t size = external_size(shape);
    while (n > 0) {
      const std::size_t now = std::min<std::uint64_t>(n, kStage / of.size);
      convert(decode, shape, stage.data(), of.size, from, size, now);
      rmq::unpack(view, offset, stage.data(), now * of.size);
      offset += now * of.size;
      from += now * size;
      n -= now;
    }
  };
  for_each_run(&type, static_cast<std::uint64_t>(count), unpack_run);
}

}  // namespace rmq::mpi
