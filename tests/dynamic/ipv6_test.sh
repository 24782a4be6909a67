#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A machine without IPv4: what spawns there is connected all the same. Needs root, for a network namespace; else skipped.
#   ipv6_test.sh COMMAND [ARGUMENT...]
[ "$(id -u)" -eq 0 ] && command -v ip >/dev/null && command -v unshare >/dev/null || exit 77
unshare -n true 2>/dev/null || exit 77
exec unshare -n sh -c '
  ip link set lo up && ip -4 addr flush dev lo && ip -6 addr show dev lo | grep -q ::1 || exit 77
  exec "$@"' sh "$@"
