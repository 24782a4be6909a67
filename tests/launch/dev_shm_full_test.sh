#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A /dev/shm that is too small is an error with size, place and remedy, and a job that does not need it runs.
#   dev_shm_full_test.sh <bin folder> <program of 2 ranks> <ring_growth>        Exits with 77 where it may not mount.
set -eu
bin=$1 program=$2
if [ "${3:-}" != inside ]; then
  unshare -m true 2>/dev/null || exit 77
  exec unshare -m "$0" "$bin" "$program" inside "$3"
fi
mount -t tmpfs -o size=1M tmpfs /dev/shm
code=0
said=$("$bin/rmqrun" -n 2 -x RMQ_SHM_SEGMENT=posix "$program" 2>&1) || code=$?
[ "$code" -eq 1 ] || { echo "exit code $code, not 1: $said" >&2; exit 1; }
for word in "MB of posix shared memory" "/dev/shm has 1.0 MB left" "remount,size=" "RMQ_SHM_SEGMENT=memfd"; do
  case $said in *"$word"*) ;; *) echo "the message lacks '$word': $said" >&2; exit 1 ;; esac
done
[ -z "$(ls /dev/shm)" ] || { echo "left behind: $(ls /dev/shm)" >&2; exit 1; }
"$bin/rmqrun" -n 2 "$program"

# Rings of many ranks take memory as they grow: where there is none left they stay as they are, unless a message cannot go
# through what they have.
growth=${4:?}
mount -o remount,size=600k /dev/shm
"$bin/rmqrun" -n 20 --timeout 60 -x RMQ_SHM_SEGMENT=posix "$growth" 400
code=0
said=$("$bin/rmqrun" -n 20 --timeout 60 -x RMQ_SHM_SEGMENT=posix "$growth" 4000 2>&1) || code=$?
[ "$code" -ne 0 ] && [ "$code" -ne 124 ] || { echo "exit code $code: $said" >&2; exit 1; }
case $said in *"a ring to host rank"*) ;; *) echo "the message does not name the ring: $said" >&2; exit 1 ;; esac
