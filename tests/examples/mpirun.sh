#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mpirun.sh MPIRUN PROGRAM: a launcher that is a client of rmq/spawn.hpp. It runs an MPI program of two parts, labels
# lines, gives each process its own variables, returns the first bad code, and passes signals on.
set -u
mpirun=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "mpirun.sh: $1"; cat "$work/out"; exit 1; }
"$mpirun" -n 3 "$program" 100 : "$program" 100 > "$work/out" 2>&1 || fail "the MPI program has failed"
grep -Eq '^\[0\] 400 numbers drawn, .*: right$' "$work/out" || fail "the MPI program has not said that all is right"
"$mpirun" -n 2 sh -c 'echo "I am $MPIRUN_RANK of $MPIRUN"; exit $((MPIRUN_RANK * 3))' > "$work/out" 2>&1
[ $? -eq 3 ] || fail "the code is not that of rank 1"
for line in '[0] I am 0 of examples/mpirun' '[1] I am 1 of examples/mpirun' 'mpirun: rank 1 has ended with code 3'; do
  grep -Fxq "$line" "$work/out" || fail "nothing says '$line'"
done
mkfifo "$work/ready"
"$mpirun" sh -c 'trap "echo terminated; exit 4" TERM; echo > '"$work/ready"'; while :; do sleep 0.01; done' > "$work/out" 2>&1 &
pid=$!
read -r line < "$work/ready"
kill -TERM $pid
wait $pid
[ $? -eq 4 ] || fail "the signal has not reached the program"
grep -Fxq '[0] terminated' "$work/out" || fail "the program's last word is lost"
echo "mpirun: right"
