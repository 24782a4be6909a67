#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh <fuzzer> <work folder> <corpus> <seconds>: lets a libFuzzer program go on from its seeds, the corpus of the repository
# and what earlier runs have found in the work folder. 0 seconds: 10^7 inputs. What fails is left in the work folder.
set -eu
fuzzer=$1 work=$2 corpus=$3 seconds=$4
mkdir -p "$work/found" "$work/seeds" "$work/failures"
"${fuzzer}_replay" --seeds "$work/seeds"
if [ "$seconds" -gt 0 ]; then set -- -max_total_time="$seconds"; else set -- -runs=10000000; fi
export ASAN_OPTIONS=${ASAN_OPTIONS-quarantine_size_mb=8:malloc_context_size=1}
exec "$fuzzer" "$@" -timeout=20 -rss_limit_mb=2048 -max_len=2048 -entropic=0 -print_final_stats=1 -verbosity=1 \
  -artifact_prefix="$work/failures/" "$work/found" "$work/seeds" "$corpus"
