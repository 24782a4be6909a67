#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sim_test.sh <bin> short|long: rmqsim runs every pattern, on one host and on many, never faster than can be, the same
# each time; its traces keep the protocol's rules; bad input is refused by name.
set -eu
bin=$1 size=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# Each row has the figures it should, and none is below its bound (but for rounding).
judge() {
  awk -v patterns="$2" 'NR > 1 { rows++; if ($5 < $6 * 0.999 - 0.01 || ($5 <= 0 && $3 > 1)) { print "impossible:", $0; bad = 1 } }
    END { if (rows != patterns) { print rows + 0, "rows, not", patterns; bad = 1 } exit bad }' "$1"
}

all='barrier bcast:8 bcast:64k bcast:4m reduce:8 reduce:1m allreduce:8 allreduce:64k allreduce:4m gather:64 scatter:64
  allgather:8 allgather:16k reduce_scatter:64 scan:8 halo:1k flood:8 random:1k random:64k'
count=$(echo $all | wc -w)

if [ "$size" = long ]; then
  "$bin/rmqsim" -n 4096 --hosts 64 $all >rows
  judge rows "$count"
  "$bin/rmqsim" -n 1024 --hosts 16 alltoall:8 alltoall:1k >rows
  judge rows 2
  "$bin/rmqsim" -n 65536 --hosts 1024 hotspot >rows
  judge rows 1
  exit
fi

for shape in '-n 1' '-n 2' '-n 3 --hosts 3' '-n 17 --hosts 2' '-n 130 --hosts 5' '-n 512 --hosts 32'; do
  "$bin/rmqsim" $shape $all alltoall:8 alltoall:64k hotspot >rows
  judge rows $((count + 3))
done

# What is known: a packet of no payload costs its sender, the link and its receiver.
printf 'within.latency = 1000\nwithin.send = 20 # and so on\nwithin.receive = 300\nbetween.latency = 5000\nbetween.send = 10\nbetween.receive = 10\nbetween.wire_byte = 0\nbetween.gap = 0\n' >net
"$bin/rmqsim" -n 2 --net net barrier | awk 'NR == 2 && $5 != 1.32 { print "a barrier of 2 ranks takes", $5; exit 1 }'
"$bin/rmqsim" -n 2 --hosts 2 --net net barrier --rounds 10 |
  awk 'NR == 2 && $5 != 5.02 { print "a barrier of 2 hosts takes", $5; exit 1 }'

# Ranks that share CPUs do what they do once, whoever waits for a CPU; hosts may share them, too.
printf 'cpus = 2\n' >net
"$bin/rmqsim" -n 4 --net net --rounds 30 alltoall:256 | awk 'NR == 2 && $8 != 3 { print "a rank of 4 sends", $8; exit 1 }'
printf 'cpus = 2\npretended = 1\n' >net2
for n in net net2; do "$bin/rmqsim" -n 16 --hosts 4 --net $n --rounds 5 barrier:0 | awk 'NR == 2 { print $5 }'; done >shared
awk 'NR == 1 { apart = $1 } NR == 2 && $1 < 2 * apart { print "one machine serves four hosts in", $1, apart; exit 1 }' shared

# The same each time, whatever the machine does.
for i in 1 2; do "$bin/rmqsim" -n 96 --hosts 6 --json "j$i" $all >/dev/null; done
strip() { sed '/"memory_per_rank"\|"seconds"/d' "$1"; }
strip j1 >a
strip j2 >b
cmp a b

# A trace, whose time is the simulated one.
"$bin/rmqsim" -n 8 --hosts 2 --trace t allreduce:1m >/dev/null
"$bin/rmqtrace" check t >out || { cat out; exit 1; }
"$bin/rmqtrace" stats t | grep -q RNDV_DATA

"$bin/rmqsim" --print-net >costs
"$bin/rmqsim" -n 4 --net costs barrier >/dev/null

refused() {
  what=$1
  shift
  if "$bin/rmqsim" "$@" >out 2>&1; then echo "accepted: $*"; exit 1; fi
  grep -q -- "$what" out || { echo "'$*' does not say '$what':"; cat out; exit 1; }
}
refused 'names no pattern' -n 4
refused "no pattern 'bcasts'" bcasts:8
refused "'8x' is no size" bcast:8x
refused '3 ranks do not fill 4 hosts' -n 3 --hosts 4 barrier
refused 'RMQ_COLL has' --coll bcast=ring barrier
echo 'within.latence = 3' >bad
refused 'bad:1: no cost has this name' --net bad barrier
echo 'copy = -3' >bad
refused 'bad:1: expects a number' --net bad barrier
for odd in nan inf 1e300 -nan; do
  echo "copy = $odd" >bad
  refused 'bad:1: expects a number' --net bad barrier
done
refused 'missing' --net missing barrier
refused 'cannot write /dev/full: No space' -n 2 --svg /dev/full barrier
refused 'cannot write /dev/full: No space' -n 2 --json /dev/full barrier
# All hosts have ranks, also where they cannot have as many each.
"$bin/rmqsim" -n 5 --hosts 4 barrier allreduce:8 >rows
judge rows 2
awk 'NR > 1 && $4 != 4 { print "5 ranks are on", $4, "hosts, not 4"; exit 1 }' rows
