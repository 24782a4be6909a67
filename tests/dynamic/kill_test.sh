#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill_test.sh RMQRUN MORTAL ROUNDS SEED [OPTION...]: kills one of the processes of parents and children, at a random
# time; the launcher has to end, with an error, and nothing may be left.
set -u
rmqrun=$1 mortal=$2 rounds=$3
RANDOM=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for ((round = 1; round <= rounds; ++round)); do
  : > "$work/pids"
  "$rmqrun" -n 2 --timeout 60 "$@" "$mortal" "$work/pids" > "$work/out" 2>&1 &
  job=$!
  until [ "$(wc -l < "$work/pids")" -ge 2 ]; do read -rt 0.01 <> <(:); done
  ((wait_ms = RANDOM % 400))
  read -rt "$(printf '0.%03d' "$wait_ms")" <> <(:)
  # One of the latest four, which may have come to its end meanwhile: then another one. So, too, where a child died that
  # had just parted from its parents, who go on without it and spawn others.
  while kill -0 "$job" 2> /dev/null; do
    known=$(wc -l < "$work/pids")
    for ((try = 0; try < 100; ++try)); do
      mapfile -t pids < <(tail -4 "$work/pids")
      victim=${pids[RANDOM % ${#pids[@]}]}
      kill -KILL "$victim" 2> /dev/null && break
    done
    while kill -0 "$job" 2> /dev/null && [ "$(wc -l < "$work/pids")" -le $((known + 4)) ]; do read -rt 0.02 <> <(:); done
  done
  wait "$job"
  code=$?
  if [ $code -eq 0 ] || [ $code -eq 124 ]; then
    echo "round $round: exit code $code after process $victim was killed"
    cat "$work/out"
    exit 1
  fi
  for pid in $(cat "$work/pids"); do
    if [ -d "/proc/$pid" ] && [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$mortal")" ]; then
      echo "round $round: process $pid is left"
      exit 1
    fi
  done
done
echo "$rounds rounds: nothing hung, nothing was left"
