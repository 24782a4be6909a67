// SPDX-License-Identifier: BSD-3-Clause
// Judges the picture of rmqtrace chart by what its scripts compute: with few lanes, many, and more than pixels.
//   node chart_layout.js PAGE FOLDER      PAGE gives the scripts; pages with lanes as wanted are left in FOLDER
"use strict";
const fs = require("fs"), path = require("path"), {open} = require("./dom.js");
const [, , from, folder] = process.argv;
const page = fs.readFileSync(from, "utf8");
const DATA = /^const D = (.*);$/m, LASTS = 203e6;
let failed = false;
function demand(good, what) { if (!good) { console.error("chart_layout: " + what); failed = true; } }

// The page with so many ranks, each of which sends three packets to the next one in 203 ms.
function pageWith(lanes) {
  const D = JSON.parse(DATA.exec(page)[1]);
  const row = D.packets.find(p => p[0] >= 0 && p[1] >= 0), apart = LASTS / (3 * lanes);
  D.packets = Array.from({length: 3 * lanes}, (_, i) => [i * apart, (i + 0.6) * apart, i % lanes, (i + 1) % lanes, ...row.slice(4)]);
  D.ranks = Array.from({length: lanes}, (_, rank) => ({rank, host: 0, dropped: 0, finished: true}));
  Object.assign(D, {begin: 0, end: LASTS, total: 3 * lanes, detail: -1, caveats: [], marks: []});
  return page.replace(DATA, () => `const D = ${JSON.stringify(D)};`);
}

function isApart(list, extent) { return list.every((a, i) => i === 0 || extent(list[i - 1])[1] <= extent(a)[0]); }

function judge(lanes) {
  const text = pageWith(lanes), name = `${lanes} lanes: `;
  fs.writeFileSync(path.join(folder, `lanes-${lanes}.html`), text);
  const {run, innerHeight} = open(text, ""), look = () => JSON.parse(run("JSON.stringify(layout())"));
  const all = look();
  demand(all.stage.height > 0.85 * innerHeight, `${name}the stage has ${all.stage.height} of ${innerHeight} pixels`);
  demand(all.lanes.length === lanes, `${name}${all.lanes.length} are in view`);
  demand(all.lanes.every(l => l.x >= all.left && l.x <= all.stage.width), `${name}some are not on the canvas`);
  demand(all.heads.length >= Math.min(lanes, 4), `${name}${all.heads.length} names`);
  demand(isApart(all.heads, h => [h.x - h.width / 2, h.x + h.width / 2]), `${name}names over each other`);
  demand(all.times.length >= 5 && all.times.every((t, i) => i === 0 || t.y - all.times[i - 1].y >= 16), `${name}the times stand too close`);
  demand(all.times.every(t => /^\d+ ms$/.test(t.text)), `${name}times: ${all.times.map(t => t.text)}`);
  demand(all.labels.every((a, i) => all.labels.slice(i + 1).every(b => Math.abs(a.x - b.x) >= a.hw + b.hw || Math.abs(a.y - b.y) >= a.hh + b.hh)),
    `${name}labels over each other`);
  demand(lanes > 4 || all.labels.length > 0, `${name}no arrow has a label`);
  // Wider lanes than there is room for: the last ones are reached by scrolling.
  for (let n = 0; n < 40; ++n) run("wider(true)");
  const some = look();
  demand(lanes < 4 || some.lanes.length < lanes, `${name}lanes do not become wider`);
  run("scrollTo(1e9)");
  demand(look().lanes.at(-1).rank === lanes - 1, `${name}no way to the last one`);
  run("fit()");
  demand(look().lanes.length === lanes, `${name}"fit" shows ${look().lanes.length}`);
}
for (const lanes of [4, 64, 1000]) judge(lanes);
process.exit(failed ? 1 : 0);
