// SPDX-License-Identifier: BSD-3-Clause
// fate RANK=END…: each rank comes to its end: kill (SIGKILL), exit (without MPI_Finalize), abort (MPI_Abort of itself),
// or a number, its exit code behind MPI_Finalize; 0 where nothing is said. "early" dies before MPI_Init.
#include <mpi.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <string>

int main(int argc, char** argv) {
  const char* const number = std::getenv("RMQ_RANK");
  std::string end = "0";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (number != nullptr && word.starts_with(std::string(number) + "=")) end = word.substr(word.find('=') + 1);
  }
  if (end == "early") raise(SIGKILL);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (end == "kill") raise(SIGKILL);
  if (end == "exit") std::exit(9);
  if (end == "abort") MPI_Abort(MPI_COMM_SELF, 11);
  MPI_Finalize();
  return std::atoi(end.c_str());
}
