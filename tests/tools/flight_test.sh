#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A rank that comes to a bad end leaves its last events, and those of the rank that waits for it.
#   flight_test.sh <bin folder> <program> <method, or "hosts": over tcp, each rank on a host of its own, through agents>
set -u
bin=$1 program=$2 method=$3
if [ "$method" = hosts ]; then
  method=tcp
  with() { "$bin/rmqrun" -n 2 --launcher "env AGENT_OF={}" --fan-out 1 --hosts a,b "$@"; }
else
  with() { "$bin/rmqrun" -n 2 --method "$method" "$@"; }
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
die() { echo "flight_test: $1" >&2; cat "$dir/err" >&2; exit 1; }
run() { with --timeout 60 "$@" >"$dir/out" 2>"$dir/err" && die "$* must fail"; }
# How many events are printed of a rank.
events() { grep -cE "^ +-?[0-9.]+ us  rank $1 " "$dir/err"; }

for how in kill exit abort; do
  run "$program" "$how"
  case $how in abort) where="in MPI_Abort" ;; *) where="outside of MPI" ;; esac
  grep -q "rank 1 was $where; its last 20 of" "$dir/err" || die "$how: where rank 1 was"
  [ "$(events 1)" = 20 ] || die "$how: the last 20 events of rank 1"
  grep -Eq "rank 1 +packet_received +from 0 +$method +RMQ_PKT_SHORT .*tag=7 .*length=8" "$dir/err" || die "$how: what came last"
  grep -Eq "rank 1 +packet_sent +to +0 +$method +RMQ_PKT_SHORT .*tag=8 .*length=8" "$dir/err" || die "$how: what went last"
  # It may have seen the death already, and be on its way out.
  case $how in abort) where="in MPI_Recv" ;; *) where="(in MPI_Recv|outside of MPI)" ;; esac
  grep -Eq "rank 0 was $where; its last 5 of" "$dir/err" || die "$how: who waited for rank 1"
  grep -Eq "rank 0 +unanswered +from 1 .*tag=99" "$dir/err" || die "$how: what rank 0 waited for"
done

# The cause stands above the events, and once more below them all.
cause="rmqrun: rank 1 .* aborted the job with code 3"
run "$program" abort
head -n 1 "$dir/err" | grep -Eq "$cause" || die "the cause comes first"
tail -n 1 "$dir/err" | grep -Eq "$cause" || die "the cause comes last"
# Who ends the job with code 0 (as STOP does in Fortran) has no failure to explain.
with --timeout 60 "$program" abort 0 2>"$dir/err" || die "code 0 is the job's"
grep -q "aborted the job with code 0" "$dir/err" || die "an abort with code 0"
grep -q "its last" "$dir/err" && die "an abort with code 0 needs no events"
# Who fails in MPI_Init has done nothing yet.
run -x RMQ_SHM_RING=x "$program" many 10
grep -q "RMQ_SHM_RING" "$dir/err" || die "what is wrong in MPI_Init"
grep -q "its last\|MPI_Finalize" "$dir/err" && die "no events, and no MPI_Finalize, in MPI_Init"
run -x RMQ_SHM_SEGMENT=sand -x RMQ_TCP_INTERFACE=sand "$program" many 10
grep -q "sand" "$dir/err" || die "what is wrong in MPI_Init, later"
grep -q "its last 0\|past MPI_Finalize" "$dir/err" && die "the device has not been in MPI_Finalize"

# Without a recorder there is only the verdict, and a rank that ends well says nothing.
RMQ_FLIGHT=0 run "$program" kill
if grep -q "its last" "$dir/err"; then die "RMQ_FLIGHT=0 records nothing"; fi
with "$program" many 10 2>"$dir/err" || die "a good end"
[ -s "$dir/err" ] && die "a good end says nothing"

# The full trace outlives SIGKILL too.
run --trace "$dir/t" "$program" kill
[ "$(events 1)" = 20 ] || die "both recorders at once"
"$bin/rmqtrace" text "$dir/t" >"$dir/all" || die "the trace of a killed rank"
[ "$(grep -cE "rank 1 +packet_sent .*tag=8" "$dir/all")" = 100 ] || die "all that was sent before the end"
exit 0
