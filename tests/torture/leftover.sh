#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The driver finds what is left behind, of each kind.
#   leftover.sh DRIVER RMQRUN TORTURE
set -u
test "$(id -u)" = 0 || exit 77
said=$("$1" "$2" "$3" --count 1 --first 1 --plant) && exit 1
for kind in 'process [0-9]* sleep' 'file /dev/shm' 'file /tmp' 'System V segment' 'name.*@torture'; do
  echo "$said" | grep -aq "left behind: $kind" || { echo "$said"; echo "not found: $kind"; exit 1; }
done
