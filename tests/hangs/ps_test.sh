#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# rmqps lists a job and says what its ranks do: one that waits, one that computes, one that is stopped. SIGQUIT to rmqrun
# prints the same, and the job goes on to its proper end.
#   ps_test.sh <bin folder> <ps_target> <method, or "hosts": one rank each on two, through agents> <its argument>
set -u
bin=$1 program=$2 method=$3 how=$4
dir=$(mktemp -d)
mkfifo "$dir/in" "$dir/out"
if [ "$method" = hosts ]; then
  set -- --launcher "env AGENT_OF={}" --hosts a,b
else
  set -- --method "$method"
fi
"$bin/rmqrun" -n 2 "$@" --timeout 80 "$program" "$how" <"$dir/in" >"$dir/out" 2>"$dir/err" &
run=$!
exec 3>"$dir/in" 4<"$dir/out"
trap 'kill "$run" 2>/dev/null; rm -rf "$dir"' EXIT
die() { echo "ps_test: $1"; cat "$dir"/said "$dir"/err 2>/dev/null; exit 1; }
read -r line <&4 && [ "$line" = ready ] || die "the program does not start"

"$bin/rmqps" >"$dir/list" || die "rmqps fails"
grep -q "$program $how" "$dir/list" || die "the job is not listed"
"$bin/rmqps" "$run" >"$dir/said" 2>&1 || die "rmqps JOB fails"
case $how in
  callback) doing="computes in a function of the program that MPI_Reduce_local has called" ;;
  *) doing="computes outside of MPI \(its latest call was MPI_Barrier\)" ;;
esac
grep -Eq "^waiting for one rank: Rank 1 waits for rank 0, which $doing" "$dir/said" || die "no verdict"
grep -Eq "^ +1 +waits +MPI_Recv +a message from rank 0 with tag 9 on MPI_COMM_WORLD" "$dir/said" || die "no wait of rank 1"
"$bin/rmqps" --json "$run" >"$dir/said" || die "rmqps --json fails"
grep -q '"waiting for one rank"' "$dir/said" || die "no finding in JSON"

pid=$(sed -n '/"pid"/{s/[^0-9]*\([0-9]*\).*/\1/p;q}' "$dir/said")
kill -STOP "$pid" || die "no process id in JSON"
"$bin/rmqps" "$run" >"$dir/said" 2>&1
kill -CONT "$pid"
grep -q "^rank is stopped: Rank 1 waits for rank 0, which is stopped by a signal" "$dir/said" || die "stopped rank"

if [ "$how" = plain ]; then
  keeper=
  for one in $(awk -v program="$program $how" 'index($0, program) { print $2 }' "$dir/list"); do
    if [ "$(ps -o ppid= -p "$one" | tr -d ' ')" = "$run" ]; then keeper=$one; fi  # others may run the same
  done
  kill -STOP "$keeper" || die "no process id in the list"
  "$bin/rmqps" "$run" >"$dir/said" 2>&1 && die "a launcher that is stopped answers"
  kill -CONT "$keeper"
  grep -Eq "^rmqps: the launcher of job [^ ]+ \(process $keeper, stopped\) has not answered for 5 s" "$dir/said" ||
    die "stopped launcher"
fi

kill -QUIT "$run"
n=0
until grep -q "^ *1 *waits" "$dir/err"; do
  n=$((n + 1))
  [ $n -lt 400 ] || die "no report after SIGQUIT"
  sleep 0.1
done
exec 3>&-
wait "$run"
code=$?
[ $code = 0 ] || die "the job did not go on: exit code $code"
