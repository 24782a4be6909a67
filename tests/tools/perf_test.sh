#!/bin/sh
# rmqperf runs: its figures stand beside the machine's own, and a row has its least, its median and its most.
#   perf_test.sh <bin folder> <an MPI program>
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
rules=$(mktemp)
trap 'rm -f "$json" "$rules"' EXIT
# Tuned rules are words that a job takes; a file that has others is refused.
"$1/rmqperf" tune -n 3 --rounds 1 --only barrier --only bcast -o "$rules" | grep -Eq "^bcast +1048576 +[0-9.]+ "
"$1/rmqrun" -n 3 --coll "$rules" true
echo 'bcast:8k-=tree' >"$rules"
if "$1/rmqrun" -n 2 --coll "$rules" "$2" >"$json" 2>&1; then echo "a rule that is none was taken" >&2; exit 1; fi
grep -q "RMQ_COLL has 'bcast:8k-=tree'" "$json" || { cat "$json" >&2; exit 1; }
"$1/rmqperf" run --transport tcp --quick --rounds 2 --json "$json" | grep -Eq "tcp +2 +latency +8 +us +[0-9.]+ \([0-9.]+-[0-9.]+\)"
grep -q '"min"' "$json" && grep -q '"max"' "$json"
