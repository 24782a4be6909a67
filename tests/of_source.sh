#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Those tests of a GoogleTest program that stand in certain sources of it.
#   of_source.sh <program> <source>...
set -eu
program=$1
shift
suites=$(sed -nE 's/^TEST(_F|_P)?\(([A-Za-z0-9_]+),.*/\2.*:*\/\2.*/p' "$@" | sort -u | paste -sd :)
exec "$(dirname "$0")/expect.sh" good '^[[]==========[]] [1-9][0-9]* tests? from .* ran' "$program" --gtest_filter="$suites"
