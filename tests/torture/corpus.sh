#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs that the generator has printed compile with every MPI here, and pass over each way.
#   corpus.sh RMQRUN MPICC FOLDER PROGRAM.c…
set -eu
rmqrun=$1 mpicc=$2 folder=$3
shift 3
for source; do
  program=$folder/$(basename "$source" .c).corpus
  for other in mpicc.mpich mpicc.openmpi; do
    if command -v "$other" >/dev/null; then "$other" -Wall -Werror -Wno-stringop-overread -Wno-stringop-overflow "$source" -o "$program"; fi
  done
  "$mpicc" -Wall -Werror "$source" -o "$program"
  ranks=$(sed -n '1s/.*; \([0-9]*\) ranks.*/\1/p' "$source")
  for way in '--method shm' '--method tcp -x RMQ_TCP_BUFFER=4K' "--host-split 1,$((ranks - 1))"; do
    # shellcheck disable=SC2086  # a way is several words
    "$rmqrun" -n "$ranks" --timeout 60 $way "$program"
  done
done
