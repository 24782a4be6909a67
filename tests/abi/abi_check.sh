#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compares mpi/include/mpi.h with the MPICH installed on this machine.
#
# usage: abi_check.sh <directory of our mpi.h>      environment: CC (cc), RMQ_MPICC_MPICH (mpicc.mpich)
# exit:  0 the same, 1 different (the differences are printed), 77 no MPICH with this interface here
set -u
include=$(cd "${1:?usage: abi_check.sh <directory of our mpi.h>}" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
mpicc=${RMQ_MPICC_MPICH:-mpicc.mpich}
failed=0

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*"; failed=1; }

command -v "$mpicc" >/dev/null 2>&1 || skip "$mpicc is not installed"
# Without its link flags: nothing is linked with MPICH here, only its header is read.
theirs=$("$mpicc" -show | tr ' ' '\n' | sed -n 's/^-I//p' | head -n 1)
[ -f "$theirs/mpi.h" ] || skip "no mpi.h where $mpicc says ($theirs)"
grep -q 'define MPICH_NUMVERSION  *40[0-9]*' "$theirs/mpi.h" || skip "$theirs/mpi.h is not of MPICH 4.0"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# 1. The same values. MPIR_Dup_fn, whose address abi_facts.c compares, comes from here, so that no MPI library is needed.
cat >dup.c <<'EOF'
int MPIR_Dup_fn(int comm, int keyval, void* extra, void* in, void* out, int* flag);
int MPIR_Dup_fn(int comm, int keyval, void* extra, void* in, void* out, int* flag) {
  return comm == keyval && extra == in && out == flag;
}
EOF
facts() { # <include directory> <output> [flag...]
  from=$1 to=$2
  shift 2
  $cc -std=c11 "$@" -I"$from" "$here/abi_facts.c" dup.c -o facts && ./facts >"$to"
}
facts "$theirs" theirs.txt || fail "abi_facts.c with MPICH's mpi.h"
facts "$include" ours.txt -Wall -Wextra -pedantic -Werror || fail "abi_facts.c with our mpi.h"
[ "$failed" = 0 ] || exit 1
diff theirs.txt ours.txt || fail "values differ (< MPICH, > ours)"

# 2. No constant forgotten: macros and enumerators of MPICH's header that abi_facts.c does not print. Two are those of a
# newer MPICH here.
echo '#include <mpi.h>' >all.c
{
  $cc -I"$theirs" -dM -E all.c | sed -n 's/^#define \(MPI[XO]\{0,1\}_[A-Z0-9_]*\) .*/\1/p'
  $cc -I"$theirs" -E -P all.c | tr '\n' ' ' | grep -o 'enum [A-Za-z_]* *{[^}]*}' | tr ',{}' '\n\n\n' |
    sed -n 's/^ *\(MPI_[A-Z0-9_]*\) *\(=.*\)\{0,1\}$/\1/p' | grep -v '_T$'
} | grep -v -x -e MPI_INCLUDED -e MPI_PROTO_H_INCLUDED -e MPI_FILE_DEFINED -e 'MPIO_.*' -e MPI_DUP_FN \
    -e MPI_SUBVERSION -e MPIX_COMM_TYPE_NEIGHBORHOOD | sort -u >names.txt
sed -n 's/^\(MPI[XO]*_[A-Z0-9_]*\)=.*/\1/p' ours.txt | sort -u >printed.txt
comm -23 names.txt printed.txt | grep . && fail "names of MPICH that abi_facts.c does not print"

# 3. The same prototypes.
$cc -std=c11 -Werror -I"$theirs" -idirafter "$include" -c "$here/abi_prototypes.c" -o prototypes.o ||
  fail "prototypes"

# 4. The same typedefs: C11 takes a typedef twice if both are one type. Structs and enums were compared in 1.
{
  echo '#include <mpi.h>'
  $cc -std=c11 -I"$include" -E -P all.c | tr '\n' ' ' | sed 's/;/;\n/g' | grep -o 'typedef .*MPI.*' | grep -v '[{}]'
} >typedefs.c
[ "$(wc -l <typedefs.c)" -gt 40 ] || fail "too few typedefs found in our mpi.h"
$cc -std=c11 -w -I"$theirs" -c typedefs.c -o typedefs.o || fail "typedefs"

# 5. Every symbol of MPICH's library is declared (MPIR_, MPII_ and Fortran's names are not for programs).
cat >list.c <<'EOF'
#define RMQ_MPI_FUNCTION(result, name, parameters) DECLARED MPI_##name PMPI_##name
#define RMQ_MPIX_FUNCTION(result, name, parameters) DECLARED MPIX_##name PMPIX_##name
#include "rmq_mpi_functions.inc"
EOF
library=$(ldconfig -p 2>/dev/null | sed -n 's/.*libmpich\.so\.12 .*=> //p' | head -n 1)
if [ -n "$library" ] && command -v nm >/dev/null 2>&1; then
  {
    $cc -E -P -I"$include" list.c | tr ' ' '\n'
    sed -n 's/^extern .*[* ]\(MPI_[A-Z0-9_]*\);/\1/p' "$include/rmq_mpi_types.h"
  } | grep MPI | sort -u >declared.txt
  nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' | grep -E '^P?MPIX?_[A-Z].*[^_]$' | sort -u >exported.txt
  comm -13 declared.txt exported.txt | grep . && fail "exported by $library, not declared by us"
else
  echo "note: no libmpich.so.12 or no nm, exported symbols not compared"
fi

[ "$failed" = 0 ] && echo "same interface: $(wc -l <ours.txt) facts, $(grep -c typedef typedefs.c) typedefs," \
  "$(grep -c '^RMQ_MPI' "$include/rmq_mpi_functions.inc") functions"
exit "$failed"
