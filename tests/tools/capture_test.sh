#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Captures decode with the generated dissector: the one that rmqtrace pcap writes, or (live) one of the job's own connections.
#   capture_test.sh <bin folder> <program> trace|live          77 (skipped) without tshark, or the right to capture
set -eu
bin=$1 program=$2 what=$3
command -v tshark >/dev/null || { echo "no tshark: skipped"; exit 77; }
# In a network of its own, where nobody else's packets are.
if [ $what = live ] && [ -z "${RMQ_TEST_ALONE:-}" ]; then
  [ "$(id -u)" = 0 ] && new=-n || new=-rn
  if unshare $new ip link set lo up 2>/dev/null; then
    RMQ_TEST_ALONE=yes exec unshare $new sh -c 'ip link set lo up && exec "$@"' sh "$0" "$@"
  fi
  export RMQ_TEST_ALONE=no
fi
dir=$(mktemp -d)
capture=
trap 'if [ -n "$capture" ]; then kill "$capture" 2>/dev/null || true; fi; rm -rf "$dir"' EXIT
die() { echo "capture_test: $1" >&2; exit 1; }
"$bin/rmqtrace" lua >"$dir/rmq.lua"
# decode <file> <options>...: tshark with the dissector.
decode() { file=$1; shift; HOME=$dir tshark -X "lua_script:$dir/rmq.lua" -r "$file" "$@" 2>"$dir/err"; }
sound() {
  decode "$1" -Y '(rmq || rmq_recorded) && (_ws.malformed || _ws.lua.error || rmq.unknown)' >"$dir/bad"
  [ ! -s "$dir/bad" ] || { head -n 5 "$dir/bad" >&2; die "malformed packets in $1"; }
  if grep -i "lua" "$dir/err" | grep -vi "dangerous"; then die "the dissector has errors"; fi
}
if [ $what = live ]; then
  # The dumpcap of a live capture may be forbidden to open files of ours, but not what its own reader does.
  [ "$RMQ_TEST_ALONE" = yes ] && tshark -i lo -a duration:1 -w "$dir/probe.pcapng" >/dev/null 2>&1 && [ -f "$dir/probe.pcapng" ] ||
    { echo "no live capture on lo is permitted here: skipped"; exit 77; }
  # 64 MB hold all of it: a capture that gets no CPU for a while would lose what its 2 MB cannot take.
  tshark -q -B 64 -i lo -f tcp -w "$dir/live.pcapng" >"$dir/capture.log" 2>&1 &
  capture=$!
  i=0
  until [ -s "$dir/live.pcapng" ] || [ $i -ge 200 ]; do sleep 0.05; i=$((i + 1)); done
fi
RMQ_UNEXPECTED_MAX=128K "$bin/rmqrun" -n 3 --method tcp --trace "$dir/t" --timeout 60 "$program"
if [ $what = trace ]; then
  # Each packet of the trace, with its fields.
  "$bin/rmqtrace" pcap "$dir/t" -o "$dir/t.pcapng"
  "$bin/rmqtrace" text "$dir/t" | grep -E " packet_(sent|received) " >"$dir/text"
  sound "$dir/t.pcapng"
  decode "$dir/t.pcapng" -T fields -e rmq.kind -e rmq.tag -e rmq.length -e frame.interface_name >"$dir/rows"
  [ "$(wc -l <"$dir/rows")" = "$(wc -l <"$dir/text")" ] || die "another number of packets than in the trace"
  decode "$dir/t.pcapng" >"$dir/summary"
  decode "$dir/t.pcapng" -Y 'rmq.request_send.size == 1048576' | grep -q "rank 0 .* rank 1 .*RMQ_PKT_REQUEST_SEND tag=3" || die "no REQUEST_SEND"
  for kind in $(grep -o "RMQ_PKT_[A-Z_]*" "$dir/text" | sort -u); do
    [ "$(grep -c " $kind " "$dir/summary")" = "$(grep -c " $kind " "$dir/text")" ] || die "packets of $kind differ"
  done
  cut -f4 "$dir/rows" | sort -u >"$dir/interfaces"
  [ "$(wc -l <"$dir/interfaces")" = 3 ] && grep -qx "rank2-tcp" "$dir/interfaces" || die "not an interface for each rank"
  exit 0
fi

sleep 1  # the capture reads in blocks
kill -INT "$capture"
wait "$capture" || true
capture=
sound "$dir/live.pcapng"
decode "$dir/live.pcapng" -Y rmq -T fields -e rmq.kind | tr ',' '\n' | sort >"$dir/kinds.live"
"$bin/rmqtrace" text "$dir/t" | grep -c " packet_sent " >"$dir/count"
decode "$dir/live.pcapng" -Y 'rmq.link_hello.magic == 0x34514d52' | grep -q RMQ_PKT_LINK_HELLO || die "no LINK_HELLO on the wire"
# What the trace holds as sent was on the wire; the kernel drops from a capture what comes too fast, and then says so.
dropped=$(sed -n 's/^\([0-9]*\) packets\{0,1\} dropped.*/\1/p' "$dir/capture.log")
if [ "${dropped:-0}" = 0 ]; then
  [ "$(grep -cvE '^(3[2-8])$' "$dir/kinds.live")" = "$(cat "$dir/count")" ] || die "the wire has other packets than the trace: $(uniq -c "$dir/kinds.live") $(cat "$dir/count")"
fi
