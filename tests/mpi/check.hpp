// SPDX-License-Identifier: BSD-3-Clause
// What the MPI test programs share: checks that count, and an end that tells.
#pragma once

#include <mpi.h>

#include <cstdio>

namespace check {

inline int failures = 0;

inline int rank(MPI_Comm comm = MPI_COMM_WORLD) {
  int r;
  MPI_Comm_rank(comm, &r);
  return r;
}
inline int size(MPI_Comm comm = MPI_COMM_WORLD) {
  int s;
  MPI_Comm_size(comm, &s);
  return s;
}

inline void that(bool good, const char* what, const char* file, int line) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "%s:%d: rank %d: not so: %s\n", file, line, rank(), what);
}

/// The error class of a returned code.
inline int class_of(int code) {
  int c;
  MPI_Error_class(code, &c);
  return c;
}

/// MPI_Finalize and the program's exit code.
inline int finish() {
  MPI_Finalize();
  return failures ? 1 : 0;
}

}  // namespace check

#define CHECK(condition) check::that((condition), #condition, __FILE__, __LINE__)
#define CHECK_CLASS(call, error_class) CHECK(check::class_of(call) == (error_class))
