#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A disk that is full, at the start or later, costs the trace and not the job, and each rank says so.
#   trace_full_test.sh <bin folder> <tools_traffic>        Exits with 77 where it may not mount.
set -u
bin=$1 program=$2
if [ "${3:-}" != inside ]; then
  unshare -m true 2>/dev/null || exit 77
  exec unshare -m "$0" "$bin" "$program" inside
fi
die() { echo "trace_full_test: $1" >&2; exit 1; }
dir=$(mktemp -d)
trap 'umount "$dir"; rmdir "$dir"' EXIT
mount -t tmpfs -o size=1M tmpfs "$dir" || exit 77
said=$("$bin/rmqrun" -n 2 --timeout 60 --trace "$dir/later" "$program" many 20000 2>&1) || die "full later: $said"
case $said in *"events are missing in $dir/later"*"No space left"*) ;; *) die "full later: $said" ;; esac
rm -rf "$dir/later"
mkdir "$dir/start"
dd if=/dev/zero of="$dir/fill" bs=4k 2>/dev/null
said=$("$bin/rmqrun" -n 2 --timeout 60 --trace "$dir/start" "$program" many 10 2>&1) || die "full at the start: $said"
for rank in 0 1; do
  case $said in *"rank $rank goes on without a trace: "*"No space left"*) ;; *) die "full at the start: $said" ;; esac
done
exit 0
