// SPDX-License-Identifier: BSD-3-Clause
// Fallbacks for the functions of mpi.h that no other file defines yet, so that every MPI program links and starts; a
// call is an MPI_ERR_UNSUPPORTED_OPERATION that names the function. All are weak: the linker takes the real definition
// wherever there is one. This file stands last on the link line, because MPI_x of the real ones is weak, too.
#include "mpi/define.hpp"

#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace rmq::mpi {
namespace {

/// Errors of the functions on files go to the handler of files, which lets them return.
template <class Answer>
Answer absent(const char* function) {
  const Failure failure{MPI_ERR_UNSUPPORTED_OPERATION, "not supported by RMQ " RMQ_VERSION, MPI_COMM_NULL};
  const int code = std::string_view(function).starts_with("MPI_File_") ? raise_file_error(function, failure)
                                                                       : raise_error(MPI_COMM_NULL, function, failure);
  if constexpr (std::is_same_v<Answer, int>) {
    return code;
  } else {
    return Answer{};
  }
}

}  // namespace

#define RMQ_ABSENT(result, name, parameters)                              \
  extern "C" RMQ_EXPORT __attribute__((weak)) result P##name parameters { \
    return absent<result>(#name);                                         \
  }                                                                       \
  extern "C" RMQ_EXPORT __attribute__((weak, alias("P" #name))) result name parameters;
#define RMQ_MPI_FUNCTION(result, name, parameters) RMQ_ABSENT(result, MPI_##name, parameters)
#define RMQ_MPIX_FUNCTION(result, name, parameters) RMQ_ABSENT(result, MPIX_##name, parameters)
#include "mpi/include/rmq_mpi_functions.inc"

}  // namespace rmq::mpi
