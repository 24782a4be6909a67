#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The launcher's keeper waits nowhere but in its event loop: no_wait.so tells of every call that would. First of all it
# has to tell of one that does.
#   no_wait_test.sh <bin folder> <no_wait.so> <rank_probe>
set -u
bin=$1 watch=$2 probe=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
die() { echo "no_wait_test: $1"; cat "$dir"/log "$dir"/err 2>/dev/null; exit 1; }

# A process of that name that opens a FIFO which nobody else has open yet.
mkfifo "$dir/fifo" || die "no FIFO"
ln -s "$(command -v cat)" "$dir/rmqkeeper"
(echo x >"$dir/fifo") &
LD_PRELOAD=$watch NO_WAIT_LOG=$dir/log "$dir/rmqkeeper" "$dir/fifo" >/dev/null || die "cat fails"
wait
grep -q "^open .*fifo" "$dir/log" || die "it does not notice what waits"
rm "$dir/log"

clean() { # what was run: looked at, and nothing found
  grep -q '^checked' "$dir/log" || die "$1: nothing was checked"
  [ "$(grep -vc '^checked' "$dir/log")" = 0 ] || die "$1: the keeper waits"
  rm "$dir/log"
}
rmqrun() { LD_PRELOAD=$watch NO_WAIT_LOG=$dir/log "$bin/rmqrun" "$@" 2>"$dir/err"; }

rmqrun -n 4 "$probe" put k%r v%r get k%n fence print finalize >"$dir/out" || die "ranks fail"
clean "ranks"
rmqrun -n 2 -l "$probe" say up finalize | cat >"$dir/out" || die "output fails"
clean "output"
echo in | rmqrun --launcher 'env AGENT_OF={}' --hosts a:1,b:1 --fan-out 1 "$probe" cat finalize >"$dir/out" || die "agents fail"
clean "agents"
rmqrun -n 2 "$probe" init rank-kill 1 hang >"$dir/out" && die "a death is no failure"
clean "a death"
rmqrun -n 2 no-such-program >"$dir/out" && die "a program is missing and nobody says so"
clean "a missing program"
echo "the keeper waits nowhere"
