#!/bin/sh
# slurm_test.sh RANK_PROBE MPI_PROGRAM: srun starts an RMQ program over PMI-1 (--mpi=pmi2) and PMIx. Under a Slurm of one
# node that this script starts on the loopback as root, and ends; nothing is read of the machine's own configuration.
# Skips itself (77) where Slurm is not installed, or the script is not root.
probe=$1 program=$2
for needed in munged slurmctld slurmd srun; do
  command -v $needed >/dev/null || { echo "missing here: $needed"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "missing here: root"; exit 77; }

folder=$(mktemp -d) services=
chmod 755 "$folder"
end() {
  for pid in $services; do kill "$pid" 2>/dev/null; done
  for pid in $services; do wait "$pid" 2>/dev/null; done
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

port=$((20000 + $$ % 20000))
host=$(hostname)
mkdir -m 700 "$folder/state" "$folder/spool" "$folder/munge"
mkdir -m 755 "$folder/run"
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
SlurmdPort=$((port + 1))
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=n0 NodeHostname=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
export SLURM_CONF="$folder/slurm.conf"

start munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/run/munge" \
  --pid-file="$folder/run/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munge/seed"
await test -S "$folder/run/munge"
start slurmctld -D -f "$SLURM_CONF"
start slurmd -D -N n0 -f "$SLURM_CONF"
await sh -c 'sinfo -h -o %T | grep -q idle'

bad=0
# check CODE LINES OPTIONS…: what srun with these options is to end with, and how many lines of "v" it prints.
check() {
  code=$1 lines=$2
  shift 2
  timeout 60 srun -Q "$@" >"$folder/out" 2>"$folder/err"
  got=$?
  if [ $got -ne "$code" ] || [ "$(grep -c '^v' "$folder/out")" -ne "$lines" ]; then
    echo "srun $*: exit code $got, not $code, or not $lines values"
    cat "$folder/out" "$folder/err"
    bad=1
  fi
}
for mpi in pmi2 pmix; do
  srun --mpi=list 2>&1 | grep -q $mpi || { echo "Slurm has no --mpi=$mpi here"; continue; }
  check 0 4 --mpi=$mpi -n 4 "$probe" put k%r v%r fence get k%n print finalize
  check 0 0 --mpi=$mpi -n 4 "$program"
  check 0 2 --mpi=$mpi -n 2 sh -c "sh -c '$probe fence echo v finalize; true'"
  check 7 0 --mpi=$mpi -n 3 "$probe" fence rank-abort 1 watch
  timeout 60 srun -Q --mpi=$mpi -n 3 "$probe" fence rank-kill 2 spin 2>/dev/null
  case $? in
    0 | 124) echo "srun --mpi=$mpi does not end for a dead rank"; bad=1 ;;
  esac
done
timeout 60 srun -Q --mpi=none -n 2 "$probe" init 2>"$folder/err" && bad=1
grep -q "'srun --mpi=pmi2 -n 2 ./prog'" "$folder/err" || { cat "$folder/err"; bad=1; }
[ $bad -ne 0 ] || echo "srun starts RMQ programs"
exit $bad
