#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# rmqinfo names every variable and says which protocol serves which size.
#   info_test.sh <bin folder> <config.def>
set -eu
out=$("$1/rmqinfo")
for name in $(sed -n 's/^RMQ_CONFIG([^"]*"\([A-Z_]*\)".*/\1/p' "$2"); do
  case $out in *"$name = "*) ;; *) echo "rmqinfo does not name $name" >&2; exit 1 ;; esac
done
case $out in *REQUEST_SEND*) ;; *) echo "rmqinfo says nothing of protocols" >&2; exit 1 ;; esac
rules=$(RMQ_COLL=bcast:1k-4k@8-=chain "$1/rmqinfo" coll)
case $rules in *'8 ranks or more, 1 KB to 4 KB   [RMQ_COLL]'*) ;; *) echo "rmqinfo coll does not show RMQ_COLL" >&2; exit 1 ;; esac
if RMQ_COLL=bcast=ring "$1/rmqinfo" coll >/dev/null 2>&1; then echo "rmqinfo coll takes what is no rule" >&2; exit 1; fi
"$1/rmqinfo" --json | grep -q '"RMQ_EAGER_MAX"'
