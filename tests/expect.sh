#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A command has to end as it should and to say what it should; ctest's PASS_REGULAR_EXPRESSION looks at the words alone.
#   expect.sh good|bad <extended regular expression> <command> [argument...]
# good: exit code 0; bad: any other, but none of a shell (126, 127) or of a watchdog (124).
set -u
how=$1 words=$2
shift 2
said=$("$@" 2>&1)
code=$?
printf '%s\n' "$said"
case $how-$code in
  good-0) ;;
  good-* | bad-0 | bad-124 | bad-126 | bad-127) echo "expect.sh: exit code $code, which is not $how" >&2; exit 1 ;;
esac
printf '%s\n' "$said" | grep -Eq -- "$words" || { echo "expect.sh: no line has '$words'" >&2; exit 1; }
