#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# respawn_many.sh <rmqrun> <respawn> <runs>: so many runs of other seeds over the three ways, and with agents; each has to be right, and
# says how many processes were started anew.
run=$1 respawn=$2 runs=$3
failed=0 anew=0
for ((seed = 1; seed <= runs; ++seed)); do
  case $((seed % 4)) in
    0) options=(--method shm) ;;
    1) options=(--method tcp) ;;
    2) options=(--host-split 2,2) ;;
    3) options=(--launcher 'env AGENT_OF={}' --hosts a:2,b:2) ;;
  esac
  out=$("$run" --ft -n 4 "${options[@]}" --timeout 60 "$respawn" "$seed" 4 2>&1)
  code=$?
  line=$(echo "$out" | grep 'the field is right$')
  if [ $code -ne 0 ] || [ -z "$line" ]; then
    echo "seed $seed (${options[*]}): code $code"
    echo "$out" | tail -20
    failed=$((failed + 1))
    continue
  fi
  n=${line#* ranks, }
  anew=$((anew + ${n%% of*}))
done
echo "$runs runs, $failed wrong, $anew processes started anew"
[ $failed -eq 0 ]
