#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# direct_hosts_test.sh RANK_PROBE MPI_PROGRAM: an RMQ program with no rmqboot on two hosts, network namespaces with names
# and addresses of their own, under Hydra and Open MPI's launcher, whose remote shell is this script too (--remote).
# Skips itself (77) where it can make no namespaces, or neither launcher is there.
if [ "$1" = --remote ]; then
  shift
  while [ "${1#-}" != "$1" ]; do shift; done
  case $1 in *.1) space=$DIRECT_HOSTS-a ;; *) space=$DIRECT_HOSTS-b ;; esac
  shift
  exec ip netns exec "$space" unshare --uts sh -c "hostname $space; $*"
fi

probe=$1 program=$2
DIRECT_HOSTS=rmqd$$
export DIRECT_HOSTS
a=$DIRECT_HOSTS-a b=$DIRECT_HOSTS-b
folder=$(mktemp -d)
end() {
  ip netns del $a 2>/dev/null
  ip netns del $b 2>/dev/null
  rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM
{ ip netns add $a && ip netns add $b && unshare --uts true &&
  ip -n $a link add v0 type veth peer name v0 netns $b &&
  ip -n $a addr add 10.99.7.1/24 dev v0 && ip -n $b addr add 10.99.7.2/24 dev v0; } 2>/dev/null ||
  { echo "missing here: network namespaces"; exit 77; }
for space in $a $b; do
  ip -n $space link set lo up
  ip -n $space link set v0 up
done
# The kernel finds a moment after both ends are up that a cable has a carrier.
for space in $a $b; do
  until ip -n $space -o link show v0 | grep -q 'state UP'; do :; done
done
printf '#!/bin/sh\nexec "%s" --remote "$@"\n' "$(realpath "$0")" >"$folder/shell"
chmod +x "$folder/shell"

bad=0 launchers=0
# check CODE COMMAND…, on the first host.
check() {
  code=$1
  shift
  timeout 60 ip netns exec $a unshare --uts sh -c "hostname $a; exec \"\$@\"" sh "$@" >"$folder/out" 2>"$folder/err"
  got=$?
  [ $got -eq "$code" ] || { echo "$*: exit code $got, not $code"; cat "$folder/out" "$folder/err"; bad=1; }
}
try() {
  command -v "$1" >/dev/null || return
  launchers=$((launchers + 1))
  check 0 "$@" -n 4 "$probe" fence where finalize
  sort "$folder/out" | cut -d ' ' -f 1-8 >"$folder/places"
  printf '%s\n' "0 of 4 host 0: 0 of 2" "1 of 4 host 0: 1 of 2" "2 of 4 host 1: 0 of 2" "3 of 4 host 1: 1 of 2" |
    cmp -s - "$folder/places" || { echo "$1 places ranks otherwise:"; cat "$folder/out"; bad=1; }
  check 0 "$@" -n 4 "$program" many 1000
  check 7 "$@" -n 4 "$probe" fence rank-abort 3 spin
}
try mpiexec.mpich -launcher ssh -launcher-exec "$folder/shell" -hosts 10.99.7.1,10.99.7.2 -ppn 2
try mpiexec.openmpi --allow-run-as-root --oversubscribe --mca plm rsh --mca plm_rsh_agent "$folder/shell" \
  --host 10.99.7.1:2,10.99.7.2:2
[ $launchers -gt 0 ] || { echo "missing here: mpiexec.mpich, mpiexec.openmpi"; exit 77; }
[ $bad -ne 0 ] || echo "programs start on two hosts under $launchers launchers"
exit $bad
