#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A trace that is larger than the memory allowed: every command reads it all the same.
#   long_test.sh <bin folder> <long trace program>
set -eu
bin=$1 make=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
die() { echo "long_test: $1" >&2; exit 1; }
"$make" "$dir/t" 300
[ "$(du -sm "$dir/t" | cut -f1)" -ge 290 ] || die "the trace is too small"
# small <command>...: with less address space than the trace has bytes.
small() { (ulimit -v 140000 && exec "$bin/rmqtrace" "$@"); }
small text "$dir/t" >"$dir/text" || die "text"
events=$(wc -l <"$dir/text")
[ "$events" -gt 5000000 ] || die "all events"
rm "$dir/text"
small stats "$dir/t" >"$dir/stats" || die "stats"
grep -q "^2 ranks, $events events " "$dir/stats" || die "stats counts other events than text shows"
small check "$dir/t" >"$dir/check" || die "check"
grep -q "^$events events of 2 ranks: no violation" "$dir/check" || die "the verdict"
for what in pcap perfetto chart; do
  small $what "$dir/t" -o "$dir/out" || die $what
  [ "$(wc -c <"$dir/out")" -gt 1000000 ] || die "$what wrote too little"
  [ $what != chart ] || [ "$(wc -c <"$dir/out")" -lt 40000000 ] || die "the page of a long trace is not small"
  rm "$dir/out"
done
if "$bin/rmqtrace" --help | grep -q otf2; then
  small otf2 "$dir/t" -o "$dir/archive" || die "otf2"
  [ "$(du -sm "$dir/archive" | cut -f1)" -gt 50 ] || die "otf2 wrote too little"
fi
# The middle of it, from an index.
small text "$dir/t" --from 500000 --to 500100 >"$dir/text" || die "a part"
[ "$(wc -l <"$dir/text")" -gt 300 ] || die "a part of the events"
