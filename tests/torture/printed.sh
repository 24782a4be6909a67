#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A program that the generator prints compiles alone, with every MPI here, and passes.
#   printed.sh RMQRUN TORTURE FOLDER MPICC
set -eu
"$1" -n 3 --host-split 1,1,1 "$2" --mpi3 --seed 7 --print-c >"$3/printed.c"
exec "$(dirname "$0")/corpus.sh" "$1" "$4" "$3" "$3/printed.c"
