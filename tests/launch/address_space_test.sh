#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Where the address space is small, shared heaps are: jobs run all the same, and MPI_Alloc_mem and windows work.
#   address_space_test.sh <bin folder> <program of 2 and more ranks> <program of windows for 4 ranks>
set -u
bin=$1 program=$2 windows=$3
for limit in 1000000 2000000 4000000 16000000; do  # KiB
  for kind in memfd sysv; do
    said=$(ulimit -v "$limit" && "$bin/rmqrun" -n 4 --timeout 60 -x RMQ_SHM_SEGMENT="$kind" "$program" many 100 2>&1) ||
      { echo "$kind, ulimit -v $limit: $said" >&2; exit 1; }
  done
done
said=$(ulimit -v 4000000 && "$bin/rmqrun" -n 4 --timeout 60 "$windows" 2>&1) || { echo "windows: $said" >&2; exit 1; }
exit 0
