#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# keys_test.sh KEYS UNIVERSE COMMAND...: keys.c with an empty folder, behind the command that starts it.
set -u
keys=$1 universe=$2
shift 2
work=$(mktemp -d)
"$@" "$keys" "$work" $universe
code=$?
rm -rf "$work"
exit $code
