#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Four hosts that are network namespaces: each has an interface that is up and leads nowhere, and behind it one that
# leads to the others. A job runs over them, and leaves nothing behind whoever is killed. Needs root; else it is skipped.
#   namespaces_test.sh BIN_DIR RANK_PROBE MPI_PROGRAM HOST_DEATH
bin=$1 probe=$2 program=$3 host_death=$4
[ "$(id -u)" -eq 0 ] && command -v ip >/dev/null || exit 77
name=rmqns$$
mark=RMQ_TEST_NAMESPACES=$name
export "${mark?}"
hosts=$name-a:2,$name-b:2,$name-c:2,$name-d:2
work=$(mktemp -d)

cleanup() {
  for host in a b c d switch; do
    ip netns pids "$name-$host" 2>/dev/null | xargs -r kill -9
    ip netns del "$name-$host" 2>/dev/null
  done
  rm -rf "$work"
}
trap cleanup EXIT

ip netns add "$name-switch" 2>/dev/null || exit 77
ip -n "$name-switch" link add bridge type bridge 2>/dev/null || exit 77
ip -n "$name-switch" link set bridge up
i=1
for host in a b c d; do
  ip netns add "$name-$host"
  ip -n "$name-$host" link set lo up
  for net in 1 2; do  # the first leads nowhere: its other end is in the switch, and not on the bridge
    ip -n "$name-$host" link add "eth$net" type veth peer name "p$host$net" netns "$name-switch" || exit 77
    ip -n "$name-$host" addr add "10.77.$net.$i/24" dev "eth$net"
    ip -n "$name-$host" link set "eth$net" up
    ip -n "$name-switch" link set "p$host$net" up
  done
  ip -n "$name-switch" link set "p${host}2" master bridge
  i=$((i + 1))
done

failed=0
fail() {
  echo "FAILED: $*" >&2
  cat "$work/err" >&2
  failed=1
}
run() {
  timeout 30 "$bin/rmqrun" --hang-after 10 --launcher "ip netns exec" --hosts "$hosts" "$@" >"$work/out" 2>"$work/err"
}
# No process with our mark but this shell and what it runs.
nobody() {
  local deadline=$((SECONDS + 20)) left
  while [ $SECONDS -lt $deadline ]; do
    left=$(grep -lzs "^$mark\$" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
      name_of=$(cat "/proc/$pid/comm" 2>/dev/null)
      case $name_of in rmqrun | rmqkeeper | rank_probe | launch_* | ft_host_death) echo "$pid $name_of" ;; esac
    done)
    [ -z "$left" ] && return
  done
  fail "$1 left behind: $left"
}

run "$program" 60000 256 || fail "the MPI program ended with $?"
nobody "the MPI program"

run -l "$probe" fence finalize echo x || fail "rank_probe ended with $?"
[ "$(sort "$work/out" | tr '\n' ' ')" = "[0] x [1] x [2] x [3] x [4] x [5] x [6] x [7] x " ] || fail "output"

run "$probe" fence rank-kill 5 hang
[ $? -eq 137 ] || fail "a rank that is killed"
grep -q "rank 5 (.*SIGKILL" "$work/err" || fail "a rank that is killed is not named"
nobody "a rank that is killed"

run --fan-out 2 "$probe" fence rank-abort 3 hang
[ $? -eq 7 ] || fail "an abort"
nobody "an abort"

# A name that does not resolve.
timeout 100 "$bin/rmqrun" --launcher "ip netns exec" --hosts "$name-a,$name-none" "$probe" fence finalize 2>"$work/err"
[ $? -eq 127 ] || fail "a host that is none"
grep -q "host $name-none is lost" "$work/err" || fail "a host that is none is not named"
nobody "a host that is none"

# Killed while it runs: WHO SIGNAL CODE TEXT.
start() {
  rm -f "$work/out"
  # A shell in the background ignores SIGINT, and hands that on.
  setsid env --default-signal=INT "$bin/rmqrun" --launcher "ip netns exec" --hosts "$hosts" "$@" "$probe" fence say up spin >"$work/out" 2>"$work/err" &
  job=$!
  until [ "$(grep -c up "$work/out" 2>/dev/null)" = 8 ]; do kill -0 $job || break; done
}
start
kill -9 $job
wait $job 2>/dev/null
nobody "the launcher"

start
kill -9 "$(ip netns pids "$name-c" | while read -r pid; do grep -qx rmqkeeper "/proc/$pid/comm" && echo "$pid"; done)"
wait $job
[ $? -ne 0 ] || fail "an agent that is killed"
grep -q "host $name-c is lost.*ranks 4 and 5" "$work/err" || fail "an agent that is killed is not named"
nobody "an agent"

start
kill -INT -- -$job  # as a terminal does
wait $job
[ $? -eq 130 ] || fail "Ctrl-C"
nobody "Ctrl-C"

# A host whose network and processes stand still.
start --host-timeout 2
stopped=$(ip netns pids "$name-d")
kill -STOP $stopped
wait $job
[ $? -eq 1 ] || fail "a silent host"
grep -q "host $name-d is lost: it has been silent" "$work/err" || fail "a silent host is not named"
kill -CONT $stopped 2>/dev/null
nobody "a silent host"

# The job goes on without a host that dies, or stands still.
run --ft "$host_death" 2 6 || fail "a job that goes on without a host ended with $?"
nobody "a job that has lost a host"
run --ft --host-timeout 2 "$host_death" 6 6 stop || fail "a job that goes on without a silent host ended with $?"
grep -q "host $name-d is lost: it has been silent.*the job goes on" "$work/err" || fail "a silent host is not named"
kill -CONT $(ip netns pids "$name-d") 2>/dev/null
nobody "a job that has lost a silent host"
exit $failed
