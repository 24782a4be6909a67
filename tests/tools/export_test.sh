#!/bin/sh
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
  # Time never goes back in the file.
  sed -n 's/^  timestamp: //p' "$dir/decoded" | sort -n -c || die "events are not in order"
else
  otf2-print "$dir/out/rmq.otf2" >"$dir/decoded" || die "otf2-print fails"
  [ "$(grep -c '^MPI_SEND ' "$dir/decoded")" = "$(count packet_sent)" ] || die "packets sent"
  [ "$(grep -c '^MPI_RECV ' "$dir/decoded")" = "$(count packet_received)" ] || die "packets received"
  grep -q 'RMQ_PKT_REQUEST_SEND' "$dir/decoded" || die "names of packets"
  otf2-print -G "$dir/out/rmq.otf2" | grep -q 'rank 2' || die "definitions"
fi
