#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a strided put costs on the wire, from the trace: its datatype is defined once, and then a put of 512 bytes takes
# fewer than 100 more, all packets of the epoch in both directions counted.
#   strided_put_test.sh <bin folder> <program>
set -eu
bin=$1 program=$2 puts=50 data=512
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$bin/rmqrun" -n 2 --method tcp --trace "$dir/t" --timeout 60 "$program"
"$bin/rmqtrace" stats "$dir/t" >"$dir/stats"
die() { echo "strided_put_test: $1" >&2; cat "$dir/stats" >&2; exit 1; }

# <count> <bytes on the wire> of a kind of packet
of() { awk -v kind="RMQ_PKT_$1" '$2 == kind { n = $3; b = $4 } END { print n + 0, b + 0 }' "$dir/stats"; }
set -- $(of RMA_PUT)
[ "$1" = $puts ] || die "$1 packets RMA_PUT, not $puts"
[ $(($2 - puts * data)) -lt $((puts * 100)) ] || die "$2 bytes for $puts puts"
# One definition; when the program frees the datatype, one packet more says so.
set -- $(of DATATYPE_DEFN)
[ "$1" -ge 1 ] && [ "$1" -le 2 ] || die "$1 packets DATATYPE_DEFN"
[ "$(of DATATYPE_MISS)" = "0 0" ] || die "the target forgot the datatype"
# Whatever the rules of windows sent.
all=$(awk '$2 ~ /^RMQ_PKT_(RMA|DATATYPE)_/ { b += $4 } END { print b + 0 }' "$dir/stats")
[ $((all - puts * data)) -lt $((puts * 100)) ] || die "$all bytes for $puts puts, all told"
