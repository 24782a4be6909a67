#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# left_test.sh PROGRAM: whichever end a program comes to that nobody has launched, nothing of what it has spawned is left,
# nor its launcher. All that it starts has a word in its environment, by which it is found.
program=$1
failed=0

# Processes that have the word in their environment, but for those that have ended and not been waited for.
left() {
  grep -lz "^LEFT_TEST=$1$" /proc/[0-9]*/environ 2>/dev/null
}

check() {
  local word=$$.$RANDOM$RANDOM
  LEFT_TEST=$word "$program" "$@" >/dev/null 2>&1
  for _ in $(seq 200); do
    [ -z "$(left $word)" ] && return
    sleep 0.1
  done
  failed=1
  echo "left $*: processes are left:"
  for environ in $(left $word); do tr '\0' ' ' <"${environ%environ}cmdline"; echo; kill -9 "$(basename "${environ%/environ}")"; done
}

for end in exit abort fatal kill term; do
  for workers in receive compute finalize; do
    for joined in joined apart; do check $end $workers $joined; done
  done
done
check early receive apart
exit $failed
