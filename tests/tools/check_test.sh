#!/bin/sh
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
# A rank's file is missing: no verdict.
rm "$dir/t/rank-1.rmqtrace"
code=0
"$bin/rmqtrace" check "$dir/t" 2>"$dir/err" || code=$?
[ "$code" = 2 ] && grep -q "needs all" "$dir/err"
