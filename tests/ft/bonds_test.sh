#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bonds_test.sh <rmqrun> <bonds> <way> <first> <stride>: two jobs of two launchers that meet, and one in which a rank dies
# at a point of that, or all do later; and a job that spawns: every stride-th case, from the first, and all in which a
# root dies behind its vote.
run=$1 bonds=$2 way=$3 first=$4 stride=$5
case $way in
  mixed) options=(--host-split 2,1) ;;
  *) options=(--method "$way") ;;
esac
export RMQ_WAIT=yield  # a rank that waits has points then
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
failed=0 number=0
votes='v0 v1 v2 v3 v4 v6'
points='0 1 2 3 4 5 6 8 10 12 14 16 18 20 24 28 32 40 48 64 80 96 128'
# is_wanted <victim> <point>
is_wanted() {
  case $1$2 in
    0v* | c0v*) return 0 ;;
    *v*) return 1 ;;  # no root
  esac
  number=$((number + 1))
  [ $((number % stride)) -eq $((first % stride)) ]
}
for victim in 0 1 2 c0 c1; do
  for point in $votes $points; do
    is_wanted $victim "$point" || continue
    out=$("$run" --ft -n 3 "${options[@]}" --timeout 40 "$bonds" spawn $victim "$point" 2>&1)
    code=$?
    [ $code -eq 0 ] && continue
    echo "spawn: victim $victim at point $point: code $code"
    echo "$out"
    failed=1
  done
done
for side in accept connect; do
  for victim in 0 1 2 all; do
    for point in $votes -1 $points; do
      [ $victim = all ] && [ "$point" != -1 ] && continue
      is_wanted $victim "$point" || continue
      rm -f "$folder"/*
      for one in accept connect; do
        dies=-1
        [ $one = $side ] && dies=$victim
        # The side in which nobody dies ends when the other one has: where they have not met, nothing holds that up.
        done=-
        [ $one = $side ] || done=$folder/done
        service=bonds-$$-$side-$victim-$point
        ("$run" --ft -n 3 "${options[@]}" --timeout 40 "$bonds" $one "$dies" "$point" "$service" "$done" \
          > "$folder/$one" 2>&1
         echo $? > "$folder/$one.code"
         [ $one = $side ] && touch "$folder/done") &
      done
      wait
      for one in accept connect; do
        code=$(cat "$folder/$one.code")
        [ $one = $side ] && [ $victim = all ] && [ "$code" = 137 ] && continue
        [ "$code" -eq 0 ] && continue
        echo "$side: victim $victim at point $point: code $code of the one that $one""s"
        sed "s/^/  accept: /" "$folder/accept"; sed "s/^/  connect: /" "$folder/connect"
        failed=1
      done
    done
  done
done
exit $failed
