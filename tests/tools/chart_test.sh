#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The page of rmqtrace chart in a browser: clicks, measuring, the teaching mode, the picture, a trace that is too long to be drawn
# whole.
#   chart_test.sh <bin folder> <program> <long trace program>          77 (skipped) without chromium and node
set -eu
bin=$1 program=$2 long=$3
here=$(cd "$(dirname "$0")" && pwd)
browser=$(command -v chromium || true) node=$(command -v node || true)
[ -n "$browser$node" ] || { echo "neither chromium nor node: skipped"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
die() { echo "chart_test: $1" >&2; exit 1; }
# page <part behind #>: the document after its script has run.
page() {
  [ -n "$browser" ] || { "$node" "$here/dom.js" "$dir/chart.html" "$1" >"$dir/dom" || die "the page's scripts fail"; return; }
  timeout 100 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync "--user-data-dir=$dir/profile" --virtual-time-budget=3000 --window-size=1200,800 \
    --dump-dom "file://$dir/chart.html#$1" >"$dir/dom" 2>/dev/null || die "the browser failed"
}
"$bin/rmqrun" -n 2 --trace "$dir/t" --timeout 60 "$program"
"$bin/rmqtrace" chart "$dir/t" -o "$dir/chart.html"
packets=$("$bin/rmqtrace" text "$dir/t" --kind packet_sent | wc -l)
page click=0
grep -q " $packets packets" "$dir/dom" || die "the chart shows another number of packets"
grep -q "<h2>RMQ_PKT_" "$dir/dom" || die "a click on a packet shows nothing"
grep -q "<td class=\"v\">rank 1</td>" "$dir/dom" || die "the clicked packet lacks its fields"
grep -q '<div id="cut"></div>' "$dir/dom" || die "nothing is cut"
page measure=0
# Between the two ends of a packet lies the time that it was on its way: microseconds, and how far three digits may round.
measured=$(sed -n 's/.*id="measure">between: \([0-9.]* [a-zµ]*\)<.*/\1/p' "$dir/dom" |
  awk '{ unit["ns"] = 0.001; unit["µs"] = 1; unit["ms"] = 1000; print $1 * unit[$2], unit[$2] * 0.0005 + 0.001 }')
sent=$("$bin/rmqtrace" text "$dir/t" --kind packet_sent --limit 1)
at() { echo "$1" | awk '{print $1}'; }
came=$("$bin/rmqtrace" text "$dir/t" --kind packet_received | grep " rank $(echo "$sent" | sed 's/.* to *\([0-9]*\) .*/\1/') " | head -n 1)
echo "$measured" | awk -v a="$(at "$sent")" -v b="$(at "$came")" '{ d = b - a - $1; exit !(NF == 2 && d < $2 && d > -$2) }' ||
  die "measured $measured us, it is $(at "$came") - $(at "$sent")"
page teach
grep -q "<h2>RMQ_PKT_REQUEST_SEND</h2>" "$dir/dom" || die "the teaching mode shows no rendezvous"
grep -q "request: none → announced" "$dir/dom" || die "the line of the design is missing"

# The picture: by what its scripts compute, and by its pixels.
if [ -n "$node" ]; then
  "$node" "$here/chart_layout.js" "$dir/chart.html" "$dir" || die "the layout"
  if [ -n "$browser" ]; then
    for lanes in 4 64 1000; do
      timeout 100 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run "--user-data-dir=$dir/profile" \
        --virtual-time-budget=3000 --window-size=1400,900 "--screenshot=$dir/lanes.png" "file://$dir/lanes-$lanes.html" 2>/dev/null ||
        die "the browser failed"
      "$node" "$here/chart_pixels.js" "$dir/lanes.png" || die "the picture of $lanes lanes"
    done
  fi
fi

# Too many packets: the page says which are drawn, and how to get others.
"$long" "$dir/long" 40
"$bin/rmqtrace" chart "$dir/long" -o "$dir/chart.html"
page view=250000,250100
grep -Eq 'id="cut">The first 100,000 of [0-9,]+ packets are drawn, up to ' "$dir/dom" || die "the cut is not told"
command=$(sed -n 's/.*For the packets in view: rmqtrace chart [^ ]* \(--from [0-9]* --to [0-9]*\).*/\1/p' "$dir/dom")
[ "$command" = "--from 250000 --to 250100" ] || die "the command for the part in view: $command"
"$bin/rmqtrace" chart "$dir/long" $command -o "$dir/chart.html"
page click=3
grep -q '<div id="cut"></div>' "$dir/dom" || die "a part that is drawn whole"
grep -q "<h2>RMQ_PKT_" "$dir/dom" || die "a click on a packet of the part"
