#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# making_test.sh <rmqrun> <making> <way> <first> <stride>: every stride-th job of all functions and points, from the first.
run=$1 making=$2 way=$3 first=$4 stride=$5
case $way in
  mixed) options=(--host-split 3,3) ;;
  *) options=(--method "$way") ;;
esac
export RMQ_WAIT=yield  # a rank that waits has points then
failed=0 job=0
# Each job tries four points, one after the other.
for function in dup idup split split_type create cart dist_graph create_group from_group from_groups intercomm merge \
  inter_split win_create win_allocate win_dynamic queue; do
  for point in before 0 4 8 12 16 20 24 28 32 40 48 64 80 96 128; do
    job=$((job + 1))
    [ $((job % stride)) -eq $((first % stride)) ] || continue
    out=$("$run" --ft -n 6 "${options[@]}" --timeout 40 "$making" "$function" "$point" 2>&1)
    code=$?
    [ $code -eq 0 ] && continue
    echo "$function from point $point: code $code"
    echo "$out" | grep -v 'the job goes on'
    failed=1
  done
done
exit $failed
