#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
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
# What cannot be on one host is not among them, whatever the noise: hosts; and on several not the board.
"$1/rmqperf" tune -n 4 --rounds 1 --only barrier --only allreduce -o "$rules" >"$json"
if grep -q hosts "$rules" "$json"; then cat "$json" >&2; exit 1; fi
"$1/rmqperf" tune -n 4 --host-split 2,2 --rounds 1 --only barrier --only allreduce -o "$rules" >"$json"
if grep -q board "$rules" "$json"; then cat "$json" >&2; exit 1; fi
echo 'bcast:8k-=tree' >"$rules"
if "$1/rmqrun" -n 2 --coll "$rules" "$2" >"$json" 2>&1; then echo "a rule that is none was taken" >&2; exit 1; fi
grep -q "RMQ_COLL has 'bcast:8k-=tree'" "$json" || { cat "$json" >&2; exit 1; }
# Costs of links are a file that rmqsim takes, and what it says of patterns stands beside what they take.
"$1/rmqperf" calibrate --check --most 2 --rounds 1 -o "$rules" >"$json"
grep -Eq "^allreduce +65536( +[0-9.e+]+/[0-9.e+]+ [+-][0-9]+%){2}$" "$json" || { cat "$json"; exit 1; }
grep -Eq "^of all: [0-9]+%$" "$json" || { cat "$json"; exit 1; }
"$1/rmqsim" -n 8 --hosts 2 --net "$rules" barrier | grep -q "^barrier"
"$1/rmqperf" run --transport tcp --quick --rounds 2 --json "$json" | grep -Eq "tcp +2 +latency +8 +us +[0-9.]+ \([0-9.]+-[0-9.]+\)"
grep -q '"min"' "$json" && grep -q '"max"' "$json"
# OpenSHMEM, and the same accesses by windows.
"$1/rmqperf" run --shmem --transport shm --quick --rounds 1 >"$json"
grep -Eq "^shm +2 +fetch_add +8 +us +[0-9.]+ \([0-9.]+-[0-9.]+\) +[0-9.]+ \([0-9.]+-[0-9.]+\) +-$" "$json" || { cat "$json"; exit 1; }
grep -Eq "^shm +4 +gups_queue +8 +M/s +- +[0-9.]+ \([0-9.]+-[0-9.]+\) +-$" "$json" || { cat "$json"; exit 1; }
