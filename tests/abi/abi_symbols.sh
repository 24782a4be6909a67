#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPICH's libraries for Fortran and C++ find in our library all that they take from MPICH's.
#   abi_symbols.sh <librmqmpi.so>        Exits with 77 where there is no such library of MPICH, or no nm.
set -u
ours=$1 looked=0 failed=0
command -v nm >/dev/null 2>&1 || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$ours" | awk '{print $3}' | sed 's/@.*//' | sort -u >"$work/ours"
for name in libmpichcxx.so.12 libmpichfort.so.12; do
  library=$(ldconfig -p 2>/dev/null | sed -n "s/.*$name .*=> //p" | head -n 1)
  [ -n "$library" ] || continue
  looked=1
  # Weak ones may be missing; what one library leaves open and the same one or libc defines is not ours.
  nm -D --undefined-only "$library" | awk '$1 == "U" {print $2}' | sed 's/@.*//' | grep -E '^(P?MPIX?_|MPII_|MPIR_|MPL_)' |
    sort -u >"$work/wanted"
  [ -s "$work/wanted" ] || { echo "FAILED: $library wants nothing of MPI?"; failed=1; }
  comm -23 "$work/wanted" "$work/ours" | grep . && { echo "FAILED: $library wants these, and $ours has none"; failed=1; }
done
[ "$looked" = 1 ] || exit 77
exit "$failed"
