#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# heat.sh <heat2d_serial> <field2png> <command that runs heat2d>...: the same field, and a picture of it.
set -eu
serial=$1 picture=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$serial" 61 200 "$dir/serial" >"$dir/serial.out"
"$@" 61 200 "$dir/parallel" >"$dir/parallel.out"
cmp "$dir/serial" "$dir/parallel"
# Both print the last residual; the parallel one has it from a reduction.
cmp "$dir/serial.out" "$dir/parallel.out"
"$picture" "$dir/parallel" "$dir/png"
[ "$(head -c 4 "$dir/png" | tail -c 3)" = PNG ] || { echo "heat.sh: that is no picture" >&2; exit 1; }
