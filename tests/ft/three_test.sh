#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# three_test.sh <rmqrun> <three> <way>: three jobs of three launchers, two ranks each, of which any one dies.
run=$1 three=$2 way=$3
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
failed=0
for root in a b; do
  for victim in a0 a1 b0 b1 c0 c1; do
    service=three-$$-$root-$victim
    for job in a b c; do
      ("$run" --ft -n 2 --method "$way" --timeout 40 "$three" $job $root $victim "$service" > "$folder/$job" 2>&1
       echo $? > "$folder/$job.code") &
    done
    wait
    for job in a b c; do
      code=$(cat "$folder/$job.code")
      [ "$code" -eq 0 ] && continue
      echo "root $root, victim $victim: code $code of job $job"
      sed "s/^/  /" "$folder/$job"
      failed=1
    done
  done
done
exit $failed
