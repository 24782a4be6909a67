// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// A program that has ended MPI without ever having had a session is told so, by the handler that it brings along.
#include <cstring>

#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  MPI_Session s = MPI_SESSION_NULL;
  const int code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  return check::class_of(code) == MPI_ERR_OTHER && s == MPI_SESSION_NULL && std::strstr(text, "for good") ? 0 : 1;
}
