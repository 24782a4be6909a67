#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# slurm_test.sh RANK_PROBE MPI_PROGRAM RMQRUN: srun starts an RMQ program over PMI-1 (--mpi=pmi2) and PMIx, and rmqrun one
# in an allocation. Under a Slurm of two nodes, both of this machine, that this script starts on a loopback of its own as root,
# and ends; nothing is read of the machine's own configuration. Skips itself (77) where Slurm is not installed, or the script
# is not root.
probe=$1 program=$2 rmqrun=$3
for needed in munged slurmctld slurmd srun; do
  command -v $needed >/dev/null || { echo "missing here: $needed"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "missing here: root"; exit 77; }
# In a network of its own: nobody else has its ports. A name is looked up only where there is an address but the loopback's.
if [ -z "$RMQ_TEST_ALONE" ]; then
  unshare -n ip link set lo up || { echo "missing here: network namespaces"; exit 77; }
  RMQ_TEST_ALONE=yes exec unshare -n sh -c 'ip link set lo up && ip address add 192.0.2.1/32 dev lo && exec "$@"' sh "$0" "$@"
fi

folder=$(mktemp -d) services=
chmod 755 "$folder"
end() {
  for pid in $services; do kill "$pid" 2>/dev/null; done
  # Some wait for others of them that have gone first.
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 $services 2>/dev/null || break
    sleep 0.1
  done
  for pid in $services; do kill -KILL "$pid" 2>/dev/null; done
  for pid in $services; do wait "$pid" 2>/dev/null; done
  # What starts a step is its own process, and waits for a slurmctld that is gone.
  grep -lzs "^SLURM_CONF=$folder/slurm.conf\$" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
    grep -qx slurmstepd "/proc/$pid/comm" 2>/dev/null && kill -KILL "$pid"
  done
  rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM

start() {
  "$@" >>"$folder/log" 2>&1 &
  services="$! $services"
}
# Until a command succeeds, a minute at most.
await() {
  tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { echo "Slurm does not start: $*"; tail -n 30 "$folder"/*log; exit 1; }
    sleep 0.1
  done
}

port=6817
host=$(hostname)
mkdir -m 700 "$folder/state" "$folder/munge"
mkdir -m 755 "$folder/run"
for node in n0 n1; do
  mkdir -m 700 "$folder/spool-$node"
  mkdir -m 755 "$folder/tmp-$node"  # the PMIx plug-ins of two nodes would meet in /tmp
done
dd if=/dev/urandom of="$folder/munge/key" bs=1024 count=1 2>/dev/null
chmod 600 "$folder/munge/key"
cat >"$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/run/munge
SlurmctldPort=$port
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
TmpFS=$folder/tmp-%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=n0 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=8 State=UNKNOWN
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
export SLURM_CONF="$folder/slurm.conf"

start munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/run/munge" \
  --pid-file="$folder/run/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munge/seed"
await test -S "$folder/run/munge"
start slurmctld -D -f "$SLURM_CONF"
for node in n0 n1; do start slurmd -D -N $node -f "$SLURM_CONF"; done
await sh -c '[ "$(sinfo -h -N -o %T | grep -c idle)" -eq 2 ]'

bad=0
# check CODE LINES COMMAND…: what the command is to end with (or 137, where srun has been quicker to kill a task than RMQ to
# end it, and says the highest code of all), and how many lines of "v" it prints.
check() {
  code=$1 lines=$2
  shift 2
  timeout 60 "$@" >"$folder/out" 2>"$folder/err"
  got=$?
  if [ "$1:$got:$code" = srun:137:7 ]; then got=7; fi
  if [ $got -ne "$code" ] || [ "$(grep -c '^v' "$folder/out")" -ne "$lines" ]; then
    echo "$*: exit code $got, not $code, or not $lines values"
    cat "$folder/out" "$folder/err"
    bad=1
  fi
}
for mpi in pmi2 pmix; do
  srun --mpi=list 2>&1 | grep -q $mpi || { echo "Slurm has no --mpi=$mpi here"; continue; }
  for nodes in 1 2; do
    launch="srun -Q --mpi=$mpi -N $nodes"
    check 0 4 $launch -n 4 "$probe" put k%r v%r fence get k%n print finalize
    check 0 0 $launch -n 4 "$program"
    check 7 0 $launch -n 3 "$probe" fence rank-abort 1 watch
  done
  check 0 2 $launch -n 2 sh -c "sh -c '$probe fence echo v finalize; true'"
  for nodes in 1 2; do
    # A node whose last task dies may be gone before its PMIx plug-in has said so: ranks that look at their server end.
    others=spin
    [ $mpi$nodes = pmix2 ] && others=watch
    timeout 60 srun -Q --mpi=$mpi -N $nodes -n 3 "$probe" fence rank-kill 2 $others 2>/dev/null
    case $? in
      0 | 124) echo "srun --mpi=$mpi -N $nodes does not end for a dead rank"; bad=1 ;;
    esac
  done
done
# The allocation says how many, and where.
for nodes in 1 2; do
  check 0 3 salloc -Q -N $nodes -n 3 "$rmqrun" "$probe" put k%r v%r fence get k%n print finalize
  check 137 0 salloc -Q -N $nodes -n 3 "$rmqrun" "$probe" fence rank-kill 2 hang
  grep -q "rank 2 (.*SIGKILL" "$folder/err" || { echo "salloc: a rank that is killed is not named"; bad=1; }
done
check 0 0 salloc -Q -N 2 -n 4 "$rmqrun" "$program"
timeout 60 srun -Q --mpi=none -n 2 "$probe" init 2>"$folder/err" && bad=1
grep -q "'srun --mpi=pmi2 -n 2 ./prog'" "$folder/err" || { cat "$folder/err"; bad=1; }
[ $bad -ne 0 ] || echo "srun and salloc start RMQ programs"
exit $bad
