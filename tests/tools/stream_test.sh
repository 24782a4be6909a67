#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A full trace holds everything: more events than one segment, calls, and remote memory access.
#   stream_test.sh <bin folder> <program> <rmqrun options...>
set -eu
bin=$1 program=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
die() { echo "stream_test: $1" >&2; exit 1; }

"$bin/rmqrun" -n 2 "$@" --timeout 60 --trace "$dir/t" "$program" many 3000
"$bin/rmqtrace" text "$dir/t" >"$dir/all"
[ "$(grep -c " rank 0 " "$dir/all")" -gt 16384 ] || die "more than one segment"
for tag in 7 8; do
  grep -E "packet_sent .*tag=$tag " "$dir/all" | grep -oE "msg=[0-9]+" | sort >"$dir/sent"
  grep -E "packet_received .*tag=$tag " "$dir/all" | grep -oE "msg=[0-9]+" | sort >"$dir/received"
  [ "$(wc -l <"$dir/sent")" = 3000 ] || die "each message is sent once"
  cmp "$dir/sent" "$dir/received" || die "each message that was sent is received"
done
[ "$(grep -cE "rank 1 +call_enter +MPI_Recv" "$dir/all")" = 3000 ] || die "calls"
# The trace ends inside of MPI_Finalize.
[ "$(grep "call_enter" "$dir/all" | grep -vc "MPI_Finalize$")" = "$(grep -c "call_leave" "$dir/all")" ] || die "calls that end"
grep -Eq "protocol .*way=1 \(short\) because=1 \(it fits" "$dir/all" || die "the way of a message and its reason"

# A file that may not grow is as long as that, keeps what came first, and every reader says that the rest is missing.
"$bin/rmqrun" -n 2 "$@" --trace "$dir/few" --trace-max 600K "$program" many 3000 2>"$dir/err"
grep -Eq "rank 1: the last [0-9]+ events are missing in .*RMQ_TRACE_MAX" "$dir/err" || die "dropped events are reported"
for rank in 0 1; do
  [ "$(wc -c <"$dir/few/rank-$rank.rmqtrace")" -le 614400 ] || die "the limit"
  "$bin/rmqtrace" text "$dir/few" --rank $rank >"$dir/cut" 2>"$dir/err"
  grep -q "events at the end of rank $rank are missing" "$dir/err" || die "the reader says that the trace is cut"
  [ "$(wc -l <"$dir/cut")" -gt 10000 ] || die "what came first is kept"
done
"$bin/rmqtrace" stats "$dir/few" 2>/dev/null | grep -q "events at the end dropped" || die "dropped events in the figures"
if "$bin/rmqrun" -n 1 --trace-max lots true 2>"$dir/err"; then die "a limit that is none"; fi
grep -q "trace-max lots: not a number of bytes" "$dir/err" || die "the wrong limit is named"

"$bin/rmqrun" -n 2 "$@" --timeout 60 --trace "$dir/rma" "$program" rma
"$bin/rmqtrace" text "$dir/rma" >"$dir/all"
for event in win_fence win_post win_start win_complete win_wait win_lock win_unlock win_flush win_lock_all win_unlock_all; do
  for rank in 0 1; do
    grep -Eq "rank $rank +$event " "$dir/all" || die "rank $rank has no $event"
  done
done
grep -Eq "rank 0 +lock_granted +to +1 .*window" "$dir/all" || die "lock_granted"
grep -Eq "lock_released" "$dir/all" || die "lock_released"
if grep -q "RMQ_PKT_RMA_PUT" "$dir/all"; then
  grep -Eq "rank 0 +type_told +to +1 " "$dir/all" || die "type_told"
  grep -Eq "rank 1 +type_learned +from 0 " "$dir/all" || die "type_learned"
  grep -Eq "rank 1 +type_hit +from 0 " "$dir/all" || die "type_hit"
fi
exit 0
