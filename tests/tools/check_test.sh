#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A good trace obeys the protocol; one that is damaged is found out, rule by rule.
#   check_test.sh <bin folder> <program> <damage program or -> <options of rmqrun>...
set -eu
bin=$1 program=$2 damage=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Little credit, so that some of the messages need an envelope.
RMQ_UNEXPECTED_MAX=128K "$bin/rmqrun" -n 3 "$@" --trace "$dir/t" --timeout 60 "$program"
"$bin/rmqtrace" check "$dir/t"
[ "$damage" = - ] || "$damage" "$dir/t"
# no_verdict <what is said>
no_verdict() {
  code=0
  "$bin/rmqtrace" check "$dir/t" >"$dir/said" 2>&1 || code=$?
  [ "$code" = 2 ] && grep -q "$1" "$dir/said" || { cat "$dir/said"; echo "check_test: code $code, not: $1"; exit 1; }
}
# A rank that was killed, or runs still: its header says no end, which TraceHeader::ticks_end would.
dd if=/dev/zero of="$dir/t/rank-1.rmqtrace" bs=1 seek=72 count=8 conv=notrunc 2>"$dir/said"
no_verdict "no violation of the protocol so far, and no verdict: rank 1 has not come to the end"
# Its file is missing.
rm "$dir/t/rank-1.rmqtrace"
no_verdict "needs all"
# No trace at all.
rm -r "$dir/t"
no_verdict "$dir/t"
