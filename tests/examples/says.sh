#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# says.sh <pattern> <command> <argument>...: the command ends well and a line of its output matches.
set -eu
pattern=$1
shift
out=$("$@") || { echo "$out"; echo "says.sh: it ended with code $?" >&2; exit 1; }
echo "$out"
echo "$out" | grep -Eq "$pattern" || { echo "says.sh: no line matches $pattern" >&2; exit 1; }
