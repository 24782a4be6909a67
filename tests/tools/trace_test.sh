#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The trace of a known exchange shows each of its packets at both ends, in the order of the protocol.
#   trace_test.sh <bin folder> <program> <method>
set -eu
bin=$1 program=$2 method=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$bin/rmqrun" -n 2 --method "$method" --trace "$dir/t" --timeout 60 "$program"
die() { echo "trace_test: $1" >&2; "$bin/rmqtrace" text "$dir/t" >&2; exit 1; }

"$bin/rmqtrace" text "$dir/t" >"$dir/all"
# has <rank> <event> <packet> <pattern>: such a line is there.
has() { grep -E "rank $1 +$2 .*RMQ_PKT_$3 .*$4" "$dir/all" >/dev/null || die "no $2 $3 with $4 at rank $1"; }
has 0 packet_sent SHORT "tag=101 .*length=8"
has 1 packet_received SHORT "tag=101 .*length=8"
has 0 packet_sent REQUEST_SEND "tag=102 .*size=4194304"
has 1 packet_received REQUEST_SEND "tag=102 .*size=4194304"
has 1 matched REQUEST_SEND "tag=102"
grep -Eq "rank 1 +packet_sent .*RMQ_PKT_(OK_TO_SEND|RNDV_DONE)" "$dir/all" || die "the rendezvous is not answered"

# Nothing is received before it is sent: the clocks of one host agree.
sent=$(grep -nE "rank 0 +packet_sent .*tag=102" "$dir/all" | head -n 1 | cut -d: -f1)
came=$(grep -nE "rank 1 +packet_received .*tag=102" "$dir/all" | head -n 1 | cut -d: -f1)
[ "$sent" -lt "$came" ] || die "received before it was sent"

# Filters show a subset; the totals agree on both sides.
[ "$("$bin/rmqtrace" text "$dir/t" --tag 103 --rank 1 --kind packet_sent | wc -l)" = 1 ] || die "filters"
[ "$(grep -c packet_sent "$dir/all")" = "$(grep -c packet_received "$dir/all")" ] || die "packets sent and received differ"
"$bin/rmqtrace" stats "$dir/t" | grep -q "RMQ_PKT_REQUEST_SEND" || die "stats"

# What the browser makes of it: chart_test.sh.
"$bin/rmqtrace" chart "$dir/t" -o "$dir/chart.html"
grep -q '"name":"RMQ_PKT_REQUEST_SEND"' "$dir/chart.html" || die "chart"
grep -Eq "\"total\":$(grep -c packet_sent "$dir/all")[,}]" "$dir/chart.html" || die "the chart has another number of packets"

# Where the time in MPI went.
"$bin/rmqtrace" stats "$dir/t" >"$dir/stats"
grep -Eq "^  MPI_Init +2 +" "$dir/stats" || die "each rank calls MPI_Init once"
grep -Eq "^  MPI_Recv +3 +[0-9.]+ +[0-9.]+$" "$dir/stats" || die "calls of MPI_Recv in the figures"

"$bin/rmqtrace" text "$dir" 2>/dev/null && die "an empty folder must be an error"
exit 0
