#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A program with a mistake hangs or fails by itself, and the launcher names the mistake.
#   hang_test.sh <bin folder> <source of the program> <program> <option of rmqrun>...
# The head of the source says how it is run ("// ranks: N", "// with: options") and what is expected: "// code: N", and
# "// says: REGEX" for lines of the output.
set -u
bin=$1 source=$2 program=$3
shift 3
expect() { sed -n "s|^// $1: ||p" "$source"; }
said=$(mktemp)
trap 'rm -f "$said"' EXIT
"$bin/rmqrun" -n "$(expect ranks)" $(expect with) "$@" --hang-after 1 --hang-abort --timeout 80 "$program" >"$said" 2>&1
code=$?
cat "$said"
[ "$code" = "$(expect code)" ] || { echo "hang_test: exit code $code instead of $(expect code)"; exit 1; }
expect says | while IFS= read -r line; do
  grep -Eq "$line" "$said" || { echo "hang_test: nothing says: $line"; exit 1; }
done
