#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A debugger finds the processes of a job in rmqrun, and the queues of a rank through the library that the rank names.
#   debugger_test.sh <bin folder> <program> <rmq_gdb.py> <method>       77 (skipped) without gdb, or where it may not attach
set -eu
bin=$1 program=$2 script=$3 method=$4
command -v gdb >/dev/null || { echo "no gdb: skipped"; exit 77; }
gdb -nx -batch -ex 'python import ctypes' >/dev/null 2>&1 || { echo "gdb without python: skipped"; exit 77; }
dir=$(mktemp -d)
job=
trap 'touch "$dir/go"; if [ -n "$job" ]; then wait "$job" || true; fi; rm -rf "$dir"' EXIT
die() { echo "debugger_test: $1" >&2; cat "$dir"/*.log >&2; exit 1; }

# The message queues of a rank that stands still.
"$bin/rmqrun" -n 2 --method "$method" --timeout 60 "$program" "$dir/go" >"$dir/out" 2>&1 &
job=$!
i=0
until grep -q ready "$dir/out"; do
  i=$((i + 1))
  [ $i -lt 400 ] || die "the job does not start"
  sleep 0.1
done
pid=$(sed -n 's/^ready //p' "$dir/out")
timeout 60 gdb -nx -batch -p "$pid" -ex "source $script" -ex rmq-queues >"$dir/queues.log" 2>&1 || true
if grep -q "ptrace: Operation not permitted" "$dir/queues.log"; then echo "gdb may not attach: skipped"; exit 77; fi
has() { grep -Eq "$1" "$dir/queues.log" || die "the queues lack: $1"; }
has "^communicator MPI_COMM_WORLD: rank 0 of 2"
has "receives +pending  rank 1 \(world 1\)  tag 7  100 bytes"
has "unexpected +pending  rank 1 \(world 1\)  tag 9  24 bytes"
has "sends +pending  rank 1 \(world 1\)  tag 11  4194304 bytes"
has "^communicator library: rank 0 of 2"
has "receives +pending  rank any  tag any  50 bytes"
[ "$(grep -cE '^  (sends|receives|unexpected) ' "$dir/queues.log")" = 4 ] || die "other operations than the program's"

# A debugger that attaches to rmqrun finds the table of ranks.
gdb -nx -batch -p "$job" -ex 'print *(int*)&MPIR_proctable_size' -ex 'print *(int*)&MPIR_debug_state' \
  -ex "printf \"rank 0: %d\\n\", *(int*)(*(char**)&MPIR_proctable + 16)" \
  -ex "printf \"file: %s\\n\", *(char**)(*(char**)&MPIR_proctable + 8)" >"$dir/table.log" 2>&1 || true
grep -q '^\$1 = 2' "$dir/table.log" && grep -q '^\$2 = 1' "$dir/table.log" || die "no table of ranks"
grep -q "^rank 0: $pid$" "$dir/table.log" && grep -q "^file: $program$" "$dir/table.log" || die "the table has other processes"
touch "$dir/go"
wait "$job" || die "the job has not ended well"
job=

# One that starts rmqrun stops when all ranks are there; they wait for it.
cat >"$dir/start.gdb" <<'END'
set detach-on-fork on
set follow-fork-mode parent
set breakpoint pending on
handle SIGCHLD nostop noprint pass
break main
run
set var *(int*)&MPIR_being_debugged = 1
break MPIR_Breakpoint
continue
printf "stopped with %d ranks\n", *(int*)&MPIR_proctable_size
python
import subprocess
size = int(gdb.parse_and_eval("*(int*)&MPIR_proctable_size"))
table = int(gdb.parse_and_eval("*(long*)&MPIR_proctable"))
pids = [int(gdb.parse_and_eval("*(int*)(%d + 24 * %d + 16)" % (table, i))) for i in range(size)]
open(OUT, "w").write(" ".join(map(str, pids)))
end
delete
continue
END
sed -i "s|OUT|\"$dir/pids\"|" "$dir/start.gdb"
timeout 80 gdb -nx -batch -x "$dir/start.gdb" --args "$bin/rmqrun" -n 2 --method "$method" --timeout 60 "$program" "$dir/go" >"$dir/start.log" 2>&1 &
job=$!
i=0
until [ -s "$dir/pids" ]; do
  i=$((i + 1))
  [ $i -lt 400 ] && kill -0 $job 2>/dev/null || die "no stop in MPIR_Breakpoint"
  sleep 0.1
done
for pid in $(cat "$dir/pids"); do
  # The variable is there once the library is loaded; a rank that has not come that far is asked again.
  i=0
  until timeout 60 gdb -nx -batch -p "$pid" -ex 'set var *(int*)&MPIR_debug_gate = 1' -ex 'print *(int*)&MPIR_debug_gate' 2>&1 |
    grep -q '^\$1 = 1'; do
    i=$((i + 1))
    [ $i -lt 20 ] || die "the gate of $pid cannot be opened"
  done
done
wait "$job" || die "the job has not ended well under the debugger"
job=
grep -q "stopped with 2 ranks" "$dir/start.log" && grep -q "ready" "$dir/start.log" || die "the job under the debugger"
