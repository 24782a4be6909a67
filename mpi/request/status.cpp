// SPDX-License-Identifier: BSD-3-Clause
// Chapters 3.2.5, 3.8 and 13.3: what statuses tell, and their forms in Fortran.
#include "engine/object/status.hpp"

#include <fmt/format.h>

#include <climits>
#include <cstdint>
#include <cstring>
#include <limits>

#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

const MPI_Status& status_arg(const MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) fail_call(MPI_ERR_ARG, "argument status is MPI_STATUS_IGNORE");
  return *out(status, "status");
}

/// Whole elements of the type; MPI_UNDEFINED when the message ends inside of one.
MPI_Count whole_elements(const MPI_Status& status, const Datatype& type) {
  const std::uint64_t bytes = status_bytes(status);
  if (type.size == 0) return bytes == 0 ? 0 : MPI_UNDEFINED;
  return bytes % type.size == 0 ? static_cast<MPI_Count>(bytes / type.size) : MPI_UNDEFINED;
}

/// A count that does not fit is MPI_UNDEFINED, as the standard has it.
template <class Count>
void store(Count* count, MPI_Count value) {
  *out(count, "count") = value > std::numeric_limits<Count>::max() ? MPI_UNDEFINED : static_cast<Count>(value);
}

template <class Count>
int get_count(const MPI_Status* status, MPI_Datatype datatype, Count* count, Function function) {
  return enter([&] { store(count, whole_elements(status_arg(status), type_arg(datatype))); }, function);
}

template <class Count>
int get_elements(const MPI_Status* status, MPI_Datatype datatype, Count* count, Function function) {
  return enter(
      [&] {
        const auto bytes = static_cast<MPI_Count>(status_bytes(status_arg(status)));
        store(count, elements_in(type_arg(datatype), bytes));
      },
      function);
}

/// Predefined elements that lie wholly in the first `bytes` packed bytes of repeated elements of the type.
std::uint64_t elements_before(const Layout& layout, std::uint64_t bytes) {
  auto elements = layout.basic_elements_in(bytes);
  while (!elements) elements = layout.basic_elements_in(--bytes);  // inside of one, which has a few bytes
  return *elements;
}

/// The packed bytes of the first `elements` predefined elements, which may differ in size.
std::uint64_t bytes_of_elements(const Layout& layout, std::uint64_t elements) {
  const std::uint64_t each = layout.basic_elements();
  if (each == 0) return 0;
  std::uint64_t low = 0, high = layout.size();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (elements_before(layout, middle) < elements % each) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  std::uint64_t whole = 0;
  if (__builtin_mul_overflow(elements / each, layout.size(), &whole) || whole > INT64_MAX - low) {
    fail_call(MPI_ERR_COUNT, fmt::format("argument count is {}: so many elements have too many bytes", elements));
  }
  return whole + low;
}

int set_elements(MPI_Status* status, MPI_Datatype datatype, MPI_Count count, Function function) {
  return enter(
      [&] {
        status_arg(status);
        const auto elements = static_cast<std::uint64_t>(count_arg(count));
        const Datatype& type = type_arg(datatype);
        const std::uint64_t bytes = bytes_of_elements(*type.layout, elements);
        const int source = status->MPI_SOURCE, tag = status->MPI_TAG;
        set_status(status, source, tag, bytes, status_cancelled(*status));
      },
      function);
}

/// Both forms are the same five words.
template <class To, class From>
int convert(To* to, const From* from, Function function) {
  return enter_always(
      [&] {
        if (!from || !to) fail_call(MPI_ERR_ARG, "a status is a null pointer");
        std::memcpy(to, from, sizeof(MPI_Status));
      },
      function);
}

}  // namespace

RMQ_MPI(int, Get_count, (const MPI_Status* status, MPI_Datatype datatype, int* count)) {
  return get_count(status, datatype, count, __func__);
}
RMQ_MPI(int, Get_count_c, (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count)) {
  return get_count(status, datatype, count, __func__);
}
RMQ_MPI(int, Get_elements, (const MPI_Status* status, MPI_Datatype datatype, int* count)) {
  return get_elements(status, datatype, count, __func__);
}
RMQ_MPI(int, Get_elements_c, (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count)) {
  return get_elements(status, datatype, count, __func__);
}
RMQ_MPI(int, Get_elements_x, (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count)) {
  return get_elements(status, datatype, count, __func__);
}
RMQ_MPI(int, Status_set_elements, (MPI_Status * status, MPI_Datatype datatype, int count)) {
  return set_elements(status, datatype, count, __func__);
}
RMQ_MPI(int, Status_set_elements_x, (MPI_Status * status, MPI_Datatype datatype, MPI_Count count)) {
  return set_elements(status, datatype, count, __func__);
}
RMQ_MPI(int, Status_set_elements_c, (MPI_Status * status, MPI_Datatype datatype, MPI_Count count)) {
  return set_elements(status, datatype, count, __func__);
}

RMQ_MPI(int, Status_set_cancelled, (MPI_Status * status, int flag)) {
  return enter([&] {
    status_arg(status);
    status->count_hi_and_cancelled = (status->count_hi_and_cancelled & ~1) | (flag ? 1 : 0);
  });
}

RMQ_MPI(int, Test_cancelled, (const MPI_Status* status, int* flag)) {
  return enter([&] { *out(flag, "flag") = status_cancelled(status_arg(status)); });
}

RMQ_MPI(int, Status_get_source, (const MPI_Status* status, int* source)) {
  return enter_always([&] { *out(source, "source") = status_arg(status).MPI_SOURCE; });
}
RMQ_MPI(int, Status_get_tag, (const MPI_Status* status, int* tag)) {
  return enter_always([&] { *out(tag, "tag") = status_arg(status).MPI_TAG; });
}
RMQ_MPI(int, Status_get_error, (const MPI_Status* status, int* error)) {
  return enter_always([&] { *out(error, "error") = status_arg(status).MPI_ERROR; });
}
RMQ_MPI(int, Status_set_source, (MPI_Status * status, int source)) {
  return enter_always([&] { status_arg(status), status->MPI_SOURCE = source; });
}
RMQ_MPI(int, Status_set_tag, (MPI_Status * status, int tag)) {
  return enter_always([&] { status_arg(status), status->MPI_TAG = tag; });
}
RMQ_MPI(int, Status_set_error, (MPI_Status * status, int error)) {
  return enter_always([&] { status_arg(status), status->MPI_ERROR = error; });
}

RMQ_MPI(int, Status_c2f, (const MPI_Status* c_status, MPI_Fint* f_status)) {
  return convert(f_status, c_status, __func__);
}
RMQ_MPI(int, Status_f2c, (const MPI_Fint* f_status, MPI_Status* c_status)) {
  return convert(c_status, f_status, __func__);
}
RMQ_MPI(int, Status_f082c, (const MPI_F08_status* f08_status, MPI_Status* c_status)) {
  return convert(c_status, f08_status, __func__);
}
RMQ_MPI(int, Status_c2f08, (const MPI_Status* c_status, MPI_F08_status* f08_status)) {
  return convert(f08_status, c_status, __func__);
}
RMQ_MPI(int, Status_f082f, (const MPI_F08_status* f08_status, MPI_Fint* f_status)) {
  return convert(f_status, f08_status, __func__);
}
RMQ_MPI(int, Status_f2f08, (const MPI_Fint* f_status, MPI_F08_status* f08_status)) {
  return convert(f08_status, f_status, __func__);
}

}  // namespace rmq::mpi
