#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ends_test.sh <rmqrun> <fate>: how a job ends whose ranks die: exit code, and what is said.
set -u
run=$1 fate=$2 failed=0

# ends CODE PATTERN OPTIONS -- FATE…
ends() {
  code=$1 pattern=$2
  shift 2
  options=
  while [ "$1" != -- ]; do options="$options $1"; shift; done
  shift
  out=$("$run" $options --timeout 50 "$fate" "$@" 2>&1)
  got=$?
  [ $got -eq "$code" ] || { echo "$options $*: code $got, not $code"; failed=1; }
  echo "$out" | grep -Eq "$pattern" || { echo "$options $*: says nothing like '$pattern': $out"; failed=1; }
}

# Who comes to the proper end says how it went.
ends 0 'rank 1 .* killed by signal 9 .*the job goes on without it' --ft -n 3 -- 1=kill
ends 3 'rank 2 .* exited with code 9 without calling MPI_Finalize; the job goes on' --ft -n 3 -- 2=exit 1=3
ends 3 'rank 0 .*the job goes on' -disable-auto-cleanup -n 3 -- 0=kill 1=3
ends 0 'rank 1 .* has called MPI_Abort on MPI_COMM_SELF with error code 11; the job goes on without it' --ft -n 3 -- 1=abort
# Nobody does.
ends 137 'rank' --ft -n 2 -- 0=kill 1=kill
# It never had all ranks.
ends 137 'rank 1 .* killed by signal 9' --ft -n 3 -- 1=early
# Without --ft.
ends 137 'rank 1 .* killed by signal 9 .*the other ranks were ended' -n 3 -- 1=kill
exit $failed
