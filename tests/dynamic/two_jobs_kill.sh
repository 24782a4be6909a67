#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# two_jobs_kill.sh RMQRUN MEET ROUNDS SEED [OPTION...]: two jobs of launchers of their own that meet and part again and
# again (meet.c); a rank of either, or a launcher, is killed at a random time. Both jobs have to end, with errors, unless
# they had parted just then.
set -u
rmqrun=$1 meet=$2 rounds=$3
RANDOM=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for ((round = 1; round <= rounds; ++round)); do
  rm -f "$work/port"
  "$rmqrun" -n 2 --timeout 60 "$@" "$meet" accept "$work/port" 100000 > "$work/one" 2>&1 & one=$!
  "$rmqrun" -n 2 --timeout 60 "$@" "$meet" connect "$work/port" 100000 > "$work/other" 2>&1 & other=$!
  until [ -s "$work/port" ]; do read -rt 0.01 <> <(:); done
  read -rt "$(printf '0.%03d' $((100 + RANDOM % 600)))" <> <(:)
  mapfile -t victims < <(pgrep -f "$meet (accept|connect) $work/port")
  victim=${victims[RANDOM % ${#victims[@]}]}
  name=$(cat "/proc/$victim/comm")
  kill -KILL "$victim"
  wait $one; code_one=$?
  wait $other; code_other=$?
  for code in $code_one $code_other; do
    if [ $code -eq 0 ] || [ $code -eq 124 ]; then
      echo "round $round: exit codes $code_one and $code_other after $name ($victim) was killed"
      cat "$work/one" "$work/other"
      exit 1
    fi
  done
  # The ranks of a launcher that was killed are told by the kernel, and nobody waits for their end.
  for ((wait = 0; wait < 1000; ++wait)); do
    pgrep -f "$meet (accept|connect) $work/port" > /dev/null || continue 2
    read -rt 0.01 <> <(:)
  done
  echo "round $round: something is left"
  ps -o pid,stat,args -p "$(pgrep -d, -f "$meet (accept|connect) $work/port")"
  exit 1
done
echo "$rounds rounds: nothing hung, nothing was left"
