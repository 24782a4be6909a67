#!/bin/sh
# A program that the generator prints compiles alone, and passes.
#   printed.sh RMQRUN TORTURE FOLDER MPICC
set -eu
rmqrun=$1 torture=$2 folder=$3
mpicc=$4
"$rmqrun" -n 3 "$torture" --seed 7 --print-c >"$folder/printed.c"
"$mpicc" -Wall "$folder/printed.c" -o "$folder/printed"
"$rmqrun" -n 3 --timeout 60 "$folder/printed"
