#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# two_jobs.sh RMQRUN MEET ROUNDS OPTIONS-OF-ONE OPTIONS-OF-OTHER: two jobs that meet at a port (meet.c).
set -u
rmqrun=$1 meet=$2 rounds=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
$rmqrun $4 --timeout 100 "$meet" accept "$work/port" "$rounds" & first=$!
$rmqrun $5 --timeout 100 "$meet" connect "$work/port" "$rounds" || exit 1
wait $first
