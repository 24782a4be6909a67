#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ssh_test.sh RMQRUN RANK_PROBE MPI_PROGRAM: a job on hosts that ssh reaches: two network namespaces, each with a name, an
# address and a sshd of its own, and a third in which rmqrun is. ssh is called as a user's is: keys, names and what it may ask
# are in files that this script lays over the machine's, in mounts of its own. Skips itself (77) where it can make no
# namespaces, or there is no ssh.
PATH=$PATH:/usr/sbin
for needed in ssh ssh-keygen sshd ip unshare; do
  command -v $needed >/dev/null || { echo "missing here: $needed"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "missing here: root"; exit 77; }
if [ "$1" != --alone ]; then
  unshare --mount true || { echo "missing here: mount namespaces"; exit 77; }
  exec unshare --mount --propagation private sh "$0" --alone "$@"
fi
rmqrun=$2 probe=$3 program=$4
unset SSH_AUTH_SOCK

name=rmqs$$
folder=$(mktemp -d) daemons=
end() {
  for pid in $daemons; do kill "$pid" 2>/dev/null; done
  for space in $name $name-1 $name-2; do
    ip netns pids $space 2>/dev/null | xargs -r kill -KILL
    ip netns del $space 2>/dev/null
  done
  rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM

# Names of network namespaces, and what sshd wants to find empty, go with these mounts, whatever ends this script. Root may
# have a folder of its own for ssh, and a password that says that it cannot log in.
mkdir -p /run/netns /run/sshd
home=$(getent passwd root | cut -d: -f6)
for place in /run/netns /run/sshd "$home/.ssh"; do
  [ ! -d "$place" ] || mount -t tmpfs -o mode=755 none "$place" || { echo "missing here: mounts"; exit 77; }
done
{ echo 'root:*:19000:0:99999:7:::' && grep -v '^root:' /etc/shadow; } >"$folder/shadow"
chmod 600 "$folder/shadow"
ssh-keygen -q -t ed25519 -N '' -f "$folder/key" && ssh-keygen -q -t ed25519 -N '' -f "$folder/host" || exit 1
cp "$folder/key.pub" "$folder/welcome"
printf '%s ' "n1,n2" >"$folder/known"
cat "$folder/host.pub" >>"$folder/known"
cat >"$folder/sshd" <<CONF
HostKey $folder/host
AuthorizedKeysFile $folder/welcome
PidFile none
StrictModes no
UsePAM no
CONF
cat >"$folder/ssh" <<CONF
Host *
  IdentityFile $folder/key
  IdentitiesOnly yes
  UserKnownHostsFile $folder/known
CONF
{ cat /etc/hosts && printf '10.99.8.1 n1\n10.99.8.2 n2\n'; } >"$folder/hosts"
mount --bind "$folder/hosts" /etc/hosts && mount --bind "$folder/ssh" /etc/ssh/ssh_config &&
  mount --bind "$folder/shadow" /etc/shadow ||
  { echo "missing here: mounts"; exit 77; }

{ ip netns add $name && ip -n $name link add bridge type bridge && ip -n $name addr add 10.99.8.9/24 dev bridge &&
  ip -n $name link set bridge up; } 2>/dev/null || { echo "missing here: network namespaces"; exit 77; }
for i in 1 2; do
  ip netns add $name-$i
  ip -n $name-$i link set lo up
  ip -n $name link add n$i master bridge type veth peer name eth0 netns $name-$i
  ip -n $name link set n$i up
  ip -n $name-$i addr add 10.99.8.$i/24 dev eth0
  ip -n $name-$i link set eth0 up
  ip netns exec $name-$i unshare --uts sh -c "hostname n$i; exec $(command -v sshd) -D -e -f '$folder/sshd'" 2>"$folder/sshd-$i" &
  daemons="$daemons $!"
done
tries=0
for i in 1 2; do
  until ip netns exec $name ssh -o BatchMode=yes n$i true 2>"$folder/err"; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { echo "sshd does not start"; cat "$folder"/sshd-* "$folder/err"; exit 1; }
    sleep 0.1
  done
done

bad=0
complain() {
  echo "$*"
  cat "$folder/out" "$folder/err"
  bad=1
}
# check CODE ARGUMENTS…, of rmqrun.
check() {
  code=$1
  shift
  timeout 60 ip netns exec $name "$rmqrun" "$@" <"$folder/in" >"$folder/out" 2>"$folder/err"
  got=$?
  [ $got -eq "$code" ] || complain "rmqrun $*: exit code $got, not $code"
}
# Nothing of a job is left on its hosts.
nobody() {
  tries=0
  while [ -n "$(for i in 1 2; do ip netns pids $name-$i; done | while read -r pid; do
    grep -xE 'rmqrun|rmqkeeper|rank_probe' "/proc/$pid/comm" 2>/dev/null; done)" ]; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || { complain "$1: processes are left"; return; }
    sleep 0.1
  done
}
: >"$folder/in"
for tree in 32 1; do
  check 0 --fan-out $tree --hosts n1:2,n2:2 "$probe" fence where finalize
  sort "$folder/out" | cut -d ' ' -f 1-8 >"$folder/places"
  printf '%s\n' "0 of 4 host 0: 0 of 2" "1 of 4 host 0: 1 of 2" "2 of 4 host 1: 0 of 2" "3 of 4 host 1: 1 of 2" |
    cmp -s - "$folder/places" || complain "ranks are placed otherwise"
done
check 0 --hosts n1:2,n2:2 "$program" many 1000
printf 'n1 slots=1\nn2:1\n' >"$folder/machines"
echo "a line" >"$folder/in"
check 0 --hostfile "$folder/machines" --wdir /tmp -x WORD="it's \$HOME" sh -c 'cat; echo "$(hostname) $PWD $WORD"'
printf '%s\n' "a line" "n1 /tmp it's \$HOME" "n2 /tmp it's \$HOME" | sort >"$folder/places"
sort "$folder/out" | cmp -s - "$folder/places" || complain "input, folder or environment do not arrive"
: >"$folder/in"
check 137 --hosts n1:2,n2:2 "$probe" fence rank-kill 3 spin
grep -q 'rank 3 (.*SIGKILL' "$folder/err" || complain "a rank that is killed is not named"
nobody "a rank that is killed"
check 7 --fan-out 1 --hosts n1:2,n2:2 "$probe" fence rank-abort 3 spin
nobody "an abort"
# A key that the host does not know: ssh's own words, and no question.
ssh-keygen -q -t ed25519 -N '' -f "$folder/other" && cp "$folder/other.pub" "$folder/welcome"
check 127 --hosts n1:2,n2:2 "$probe" fence finalize
grep -q 'Permission denied' "$folder/err" && grep -Eq 'host n[12] is lost' "$folder/err" || complain "a host that refuses the key is not named"
[ $bad -ne 0 ] || echo "jobs start by ssh"
exit $bad
