#!/bin/sh
# rmqperf runs: its figures stand beside the machine's own, and a row has its least, its median and its most.
#   perf_test.sh <bin folder>
set -eu
out=$("$1/rmqperf" limits --rounds 1)
echo "$out"
for row in "shm +latency" "shm +rate" "shm +bandwidth" "shm +put_flush" "shm +startup" "tcp +latency" "tcp +put_flush" \
           "tcp +bandwidth"; do
  # Both figures, each "median (least-most)", and a ratio.
  echo "$out" | grep -Eq "^$row .*[0-9] \([0-9.e+]+-[0-9.e+]+\) .*[0-9] \([0-9.e+]+-[0-9.e+]+\) .*[0-9]x$" ||
    { echo "no such row, or half of one: $row" >&2; exit 1; }
done
json=$(mktemp)
trap 'rm -f "$json"' EXIT
"$1/rmqperf" run --transport tcp --quick --rounds 2 --json "$json" | grep -Eq "tcp +2 +latency +8 +us +[0-9.]+ \([0-9.]+-[0-9.]+\)"
grep -q '"min"' "$json" && grep -q '"max"' "$json"
