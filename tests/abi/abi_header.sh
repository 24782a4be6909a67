#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compiles mpi.h alone, without a warning, in every language standard that it promises.
#
# usage: abi_header.sh <directory of our mpi.h>      environment: CC (cc), CXX (c++)
set -u
include=$(cd "${1:?usage: abi_header.sh <directory of our mpi.h>}" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# Uses each kind of macro, since a macro that nobody uses is never compiled.
cat >use.c <<'EOF'
#include <mpi.h>
#include <mpi.h>
int use(MPI_Comm comm, MPI_Status* status);
int use(MPI_Comm comm, MPI_Status* status) {
  MPI_Comm_copy_attr_function* copy = MPI_COMM_DUP_FN;
  MPI_Comm_delete_attr_function* remove = MPI_COMM_NULL_DELETE_FN;
  void* place = MPI_IN_PLACE;
  int* weights = MPI_UNWEIGHTED;
  MPI_File file = MPI_FILE_NULL;
  switch (comm) {
    case MPI_COMM_SELF:
      return MPI_Barrier(MPI_Comm_f2c(MPI_Comm_c2f(comm)));
    default:
      break;
  }
  if (status == MPI_STATUS_IGNORE || place == MPI_BOTTOM || file != MPI_FILE_NULL || weights == MPI_ERRCODES_IGNORE)
    return MPI_LONG_DOUBLE_INT;
  return PMPI_Bcast_c(place, 1, MPI_INT, 0, comm) + (copy == MPI_WIN_DUP_FN) + (remove == MPI_NULL_DELETE_FN);
}
EOF
cp use.c use.cpp
warnings="-Wall -Wextra -pedantic -Wshadow -Wundef -Wpointer-arith -Wcast-align -Werror"

for std in c89 c99 c11 c17; do
  ${CC:-cc} -std=$std $warnings -Wstrict-prototypes -Wmissing-prototypes -I"$include" -c use.c -o use.o ||
    { echo "FAILED: mpi.h as $std"; failed=1; }
done
for std in c++98 c++11 c++14 c++17 c++20; do
  ${CXX:-c++} -std=$std $warnings -Wold-style-cast -I"$include" -c use.cpp -o use.o ||
    { echo "FAILED: mpi.h as $std"; failed=1; }
done

# Addresses that stand for "none" or "ignore" are nothing that a compiler may take for memory.
for level in -O0 -O2; do
  ${CC:-cc} $level -Wall -Wextra -Werror -I"$include" -c "$here/special_addresses.c" -o use.o ||
    { echo "FAILED: special addresses with $level"; failed=1; }
done

exit "$failed"
