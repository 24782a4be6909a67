#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ARMCI_AllFence asks all targets before it waits for any, as its trace shows.
#   all_fence_test.sh <bin folder> <program>
set -eu
bin=$1 program=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$bin/rmqrun" -n 3 --method tcp --trace "$dir/t" --timeout 60 "$program"
"$bin/rmqtrace" text "$dir/t" >"$dir/text"
# What rank 0 sends to each other one, and what comes back, between the begin of the call and its end.
order=$(awk '/rank 0 / && /ARMCI_AllFence/ { inside = !inside }
  inside && /rank 0 / && /packet_sent.*RMA_(PUT_LIST|FLUSH)/ { printf "asked " }
  inside && /rank 0 / && /packet_received.*RMA_ACK/ { printf "answered " }' "$dir/text")
[ "$order" = "asked asked answered answered " ] && exit 0
echo "all_fence_test: $order" >&2
grep 'rank 0 ' "$dir/text" >&2
exit 1
