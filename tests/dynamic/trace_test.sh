#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# trace_test.sh BIN GENERATIONS: a traced world that grows names the processes of other jobs, and breaks no rule.
set -u
bin=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin/rmqrun" -n 2 --method tcp --timeout 100 --trace "$work/t" "$program" || exit 1
"$bin/rmqtrace" check "$work/t" || exit 1
"$bin/rmqtrace" text "$work/t" > "$work/text" || exit 1
for what in 'introduced .* job=[0-9a-f]{16} rank=1$' 'packet_sent +to +1@[0-9a-f]{16} ' 'packet_received +from +0@[0-9a-f]{16} '; do
  grep -Eq "$what" "$work/text" || { echo "trace_test: no line has '$what'"; head -50 "$work/text"; exit 1; }
done
"$bin/rmqtrace" stats "$work/t" > "$work/stats" || exit 1
"$bin/rmqtrace" chart "$work/t" -o "$work/chart.html" || exit 1
