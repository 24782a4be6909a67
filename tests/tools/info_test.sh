#!/bin/sh
# rmqinfo names every variable and says which protocol serves which size.
#   info_test.sh <bin folder> <config.def>
set -eu
out=$("$1/rmqinfo")
for name in $(sed -n 's/^RMQ_CONFIG([^"]*"\([A-Z_]*\)".*/\1/p' "$2"); do
  case $out in *"$name = "*) ;; *) echo "rmqinfo does not name $name" >&2; exit 1 ;; esac
done
case $out in *REQUEST_SEND*) ;; *) echo "rmqinfo says nothing of protocols" >&2; exit 1 ;; esac
"$1/rmqinfo" --json | grep -q '"RMQ_EAGER_MAX"'
