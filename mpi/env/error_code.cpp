// SPDX-License-Identifier: BSD-3-Clause
// Chapter 9.5: error classes and codes, also those that the program adds.
#include <fmt/format.h>

#include <cstring>

#include "engine/call/error_codes.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// MPI-4.1 9.5: what has a string may not be removed.
void check_textless(const AddedCode& a) {
  if (!a.text.empty()) fail_call(MPI_ERR_OTHER, "its error string is still there (MPI_Remove_error_string)");
}

/// What MPI_Remove_error_class, _code and _string have in common.
int change_added(int code, const std::function<Fate(AddedCode&)>& change, Function function) {
  return enter_always(
      [&] {
        if (!change_error_code(code, change))
          fail_call(MPI_ERR_ARG, fmt::format("{} was not added by the program, or has been removed", code));
      },
      function);
}

}  // namespace

RMQ_MPI(int, Error_class, (int errorcode, int* errorclass)) {
  return enter_always([&] {
    const int c = class_of_code(errorcode);
    if (c < 0) fail_call(MPI_ERR_ARG, fmt::format("argument errorcode is no error code: {}", errorcode));
    *out(errorclass, "errorclass") = c;
  });
}

RMQ_MPI(int, Error_string, (int errorcode, char* string, int* resultlen)) {
  return enter_always([&] {
    if (class_of_code(errorcode) < 0) {
      fail_call(MPI_ERR_ARG, fmt::format("argument errorcode is no error code: {}", errorcode));
    }
    out_text(out(string, "string"), MPI_MAX_ERROR_STRING, out(resultlen, "resultlen"), text_of_code(errorcode));
  });
}

RMQ_MPI(int, Add_error_class, (int* errorclass)) {
  return enter_always([&] { *out(errorclass, "errorclass") = add_error_code(-1); });
}

RMQ_MPI(int, Add_error_code, (int errorclass, int* errorcode)) {
  return enter_always([&] {
    if (errorclass < 0 || class_of_code(errorclass) != errorclass) {
      fail_call(MPI_ERR_ARG, fmt::format("argument errorclass is no error class: {}", errorclass));
    }
    *out(errorcode, "errorcode") = add_error_code(errorclass);
  });
}

RMQ_MPI(int, Add_error_string, (int errorcode, const char* string)) {
  return enter_always([&] {
    const std::size_t length = std::strlen(out(string, "string"));
    if (length >= MPI_MAX_ERROR_STRING) fail_call(MPI_ERR_ARG, "argument string is longer than MPI_MAX_ERROR_STRING");
    const auto take = [&](AddedCode& a) {
      a.text.assign(string, length);
      return Fate::kept;
    };
    if (!change_error_code(errorcode, take))
      fail_call(MPI_ERR_ARG, fmt::format("argument errorcode was not added by the program: {}", errorcode));
  });
}

// ---- MPI-4.1 ----

RMQ_MPI(int, Remove_error_class, (int errorclass)) {
  return change_added(
      errorclass,
      [&](const AddedCode& a) {
        if (a.class_code != errorclass) fail_call(MPI_ERR_ARG, "argument errorclass is an error code");
        if (a.codes > 0) fail_call(MPI_ERR_OTHER, "there are still error codes of this class (MPI_Remove_error_code)");
        check_textless(a);
        return Fate::removed;
      },
      __func__);
}

RMQ_MPI(int, Remove_error_code, (int errorcode)) {
  return change_added(
      errorcode,
      [&](const AddedCode& a) {
        if (a.class_code == errorcode) fail_call(MPI_ERR_ARG, "argument errorcode is an error class");
        check_textless(a);
        return Fate::removed;
      },
      __func__);
}

RMQ_MPI(int, Remove_error_string, (int errorcode)) {
  return change_added(
      errorcode,
      [](AddedCode& a) {
        a.text.clear();
        return Fate::kept;
      },
      __func__);
}

}  // namespace rmq::mpi
