#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What rmqtrace writes for other viewers, read back by their own tools.
#   export_test.sh <bin folder> <program> <source folder> perfetto|otf2       77 (skipped) without the tool
set -eu
bin=$1 program=$2 source=$3 what=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
die() { echo "export_test: $1" >&2; exit 1; }
case $what in
  perfetto) tool=protoc ;;
  otf2) tool=otf2-print ;;
esac
command -v $tool >/dev/null || { echo "no $tool: skipped"; exit 77; }
if [ $what = otf2 ] && ! "$bin/rmqtrace" --help | grep -q otf2; then echo "built without libotf2: skipped"; exit 77; fi
RMQ_UNEXPECTED_MAX=128K "$bin/rmqrun" -n 3 --host-split 2,1 --trace "$dir/t" --timeout 60 "$program"
"$bin/rmqtrace" $what "$dir/t" -o "$dir/out"
"$bin/rmqtrace" text "$dir/t" >"$dir/text"
count() { grep -c " $1 " "$dir/text"; }

if [ $what = perfetto ]; then
  protoc --decode=rmq.Trace "--proto_path=$source/tools/trace" perfetto.proto <"$dir/out" >"$dir/decoded" || die "not the schema"
  ! grep -Eq '^ *[0-9]+: ' "$dir/decoded" || die "fields that the schema does not know"
  [ "$(grep -c '^    flow_ids:' "$dir/decoded")" = "$(count packet_sent)" ] || die "a flow begins at each packet that was sent"
  [ "$(grep -c '^    terminating_flow_ids:' "$dir/decoded")" = "$(count packet_received)" ] || die "a flow ends at each that arrived"
  [ "$(sed -n 's/^    flow_ids: //p' "$dir/decoded" | sort)" = "$(sed -n 's/^    terminating_flow_ids: //p' "$dir/decoded" | sort)" ] ||
    die "flows have two ends"
  grep -q 'process_name: "rank 2 on host 1"' "$dir/decoded" && grep -q 'name: "RMQ_PKT_REQUEST_SEND"' "$dir/decoded" || die "names"
  # MPI calls, sleeps and epochs are slices.
  calls=$(count call_enter) sleeps=$(count sleep)
  epochs=$(grep -cE " win_(lock|start|post|lock_all|fence) " "$dir/text")
  [ "$(grep -c 'type: SLICE_BEGIN' "$dir/decoded")" -ge $((calls + sleeps)) ] || die "calls and sleeps as slices"
  [ "$(grep -c 'type: SLICE_BEGIN' "$dir/decoded")" -le $((calls + sleeps + epochs)) ] || die "slices of nothing"
  for name in MPI_Ssend MPI_Win_lock "exclusive lock" "shared lock" fence; do
    grep -q "name: \"$name\"" "$dir/decoded" || die "the name $name"
  done
  # Time never goes back in the file.
  sed -n 's/^  timestamp: //p' "$dir/decoded" | sort -n -c || die "events are not in order"
else
  otf2-print "$dir/out/rmq.otf2" >"$dir/decoded" 2>"$dir/err" || die "otf2-print fails"
  [ ! -s "$dir/err" ] || { cat "$dir/err" >&2; die "otf2-print complains"; }
  [ "$(grep -c '^MPI_SEND ' "$dir/decoded")" = "$(count packet_sent)" ] || die "packets sent"
  [ "$(grep -c '^MPI_RECV ' "$dir/decoded")" = "$(count packet_received)" ] || die "packets received"
  grep -q 'RMQ_PKT_REQUEST_SEND' "$dir/decoded" || die "names of packets"
  # regions <MPI function>: how often it is entered, the same as in the trace.
  for call in MPI_Recv MPI_Ssend MPI_Win_lock MPI_Win_fence; do
    [ "$(grep -c "^ENTER .*\"$call\"" "$dir/decoded")" = "$(grep -c " call_enter .*  $call\$" "$dir/text")" ] || die "regions of $call"
    [ "$(grep -c "^LEAVE .*\"$call\"" "$dir/decoded")" = "$(grep -c " call_leave .*  $call\$" "$dir/text")" ] || die "ends of $call"
  done
  [ "$(grep -c '^RMA_REQUEST_LOCK ' "$dir/decoded")" = "$(grep -c " win_lock " "$dir/text")" ] || die "locks that are asked for"
  [ "$(grep -c '^RMA_RELEASE_LOCK ' "$dir/decoded")" = "$(grep -c " win_unlock " "$dir/text")" ] || die "locks that are given back"
  [ "$(grep -c '^RMA_PUT ' "$dir/decoded")" = "$(grep -c " packet_sent .*RMQ_PKT_RMA_PUT " "$dir/text")" ] || die "puts"
  [ "$(grep -c '^RMA_COLLECTIVE_END ' "$dir/decoded")" = "$(count win_fence)" ] || die "fences"
  grep '^MPI_COLLECTIVE_END ' "$dir/decoded" | grep -q 'DESTROY_HANDLE' || die "MPI_Win_free as a collective"
  grep '^MPI_SEND ' "$dir/decoded" | grep -q '"MPI_COMM_WORLD"' || die "messages of MPI_COMM_WORLD"
  otf2-print -G "$dir/out/rmq.otf2" >"$dir/definitions"
  for what in 'rank 2' '"MPI_COMM_WORLD"' '"window '; do grep -q "$what" "$dir/definitions" || die "definitions lack $what"; done
  # Of some of the ranks: those whose traces are not here are still named as who sends and receives.
  rm "$dir/t/rank-0.rmqtrace"
  "$bin/rmqtrace" otf2 "$dir/t" -o "$dir/part" 2>/dev/null
  otf2-print "$dir/part/rmq.otf2" >"$dir/decoded" 2>"$dir/err" || die "otf2-print fails with a part"
  [ ! -s "$dir/err" ] || { cat "$dir/err" >&2; die "otf2-print complains of a part"; }
  grep -q '^MPI_SEND .*"rank 0"' "$dir/decoded" || die "nobody sends to the rank that is not here"
  ! grep -qi 'invalid' "$dir/decoded" || { grep -i invalid "$dir/decoded" | head -3; die "ranks that are nobody"; }
fi
