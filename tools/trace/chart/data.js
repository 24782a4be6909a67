// SPDX-License-Identifier: BSD-3-Clause
// The data and what of it is in view: columns, filters.
"use strict";
const D = /*DATA*/null;
// Columns of a packet's row.
const SENT = 0, CAME = 1, FROM = 2, TO = 3, METHOD = 4, KIND = 5, FLAGS = 6, CONTEXT = 7, TAG = 8, SOURCE = 9, LENGTH = 10, MSG = 11, CREDIT = 12, FIELDS = 13;
const EVENT = Object.fromEntries(Object.entries(D.events).map(([n, e]) => [e.name, +n]));
const P = D.packets, M = D.marks, $ = id => document.getElementById(id);
const canvas = $("canvas"), g = canvas.getContext("2d");
const COLOURS = ["#1c7ed6", "#e8590c", "#2f9e44", "#9c36b5", "#e03131", "#0c8599", "#f08c00", "#5f3dc4", "#087f5b", "#a61e4d", "#364fc7", "#846358"];

const begin = p => p[SENT] < 0 ? p[CAME] : p[SENT];
const end = p => p[CAME] < 0 ? p[SENT] : p[CAME];
const name = kind => (D.kinds[kind] || {name: "RMQ_PKT_?"}).name.replace("RMQ_PKT_", "");
const kindsHere = [...new Set(P.map(p => p[KIND]))].sort((a, b) => a - b);
const colour = Object.fromEntries(kindsHere.map((k, i) => [k, COLOURS[i % COLOURS.length]]));
const hidden = new Set();
const methodsHere = [...new Set(P.map(p => p[METHOD]))].sort((a, b) => a - b);
const firstTime = D.begin, lastTime = Math.max(firstTime + 1, D.end);
// Of a long trace only the first packets are here one by one, up to D.detail; how many there were, D.density tells of all.
const allHere = D.detail < 0, busy = new Map(D.density.ranks.map(r => [r.rank, r.counts]));

let view = {from: firstTime, to: lastTime * 1.02, left: 0, gap: 0}, picked = -1, query = () => true, timer = 0;
let marks = [];   // times between which is measured: none, one or two
let tale = null;  // the packets of the one message that is being taught

function firstAt(rows, key, t) {
  let lo = 0, hi = rows.length;
  while (lo < hi) { const mid = (lo + hi) >> 1; if (key(rows[mid]) < t) lo = mid + 1; else hi = mid; }
  return lo;
}
const shown = p => !hidden.has(p[KIND]) && query(p) && (!tale || tale.has(p));

// What the filters leave, kept until one of them changes: packets, and the latest end in each block of them.
const BLOCK = 256, BINS = 512;
let kept = null;
function bin(t) { return Math.max(0, Math.min(BINS - 1, Math.floor((t - firstTime) / (lastTime - firstTime) * BINS))); }
function filtered() {
  if (kept) return kept;
  const rows = [], ends = [], bins = new Float64Array(BINS);
  P.forEach((p, i) => {
    if (!shown(p)) return;
    const block = Math.floor(rows.length / BLOCK);
    ends[block] = Math.max(ends[block] ?? 0, end(p));
    if (allHere) ++bins[bin(begin(p))];
    rows.push(i);
  });
  if (!allHere) for (const counts of busy.values()) counts.forEach((n, i) => { if (n) bins[bin((i + 0.5) * D.density.width)] += n; });
  return kept = {rows, ends, bins};
}
function refilter() { kept = null; redraw(); }

// Packets that touch the visible time.
function visible() {
  const {rows, ends} = filtered(), list = [], last = firstAt(rows, i => begin(P[i]), view.to);
  for (let n = 0; n < last; n += BLOCK) {
    if (ends[n / BLOCK] < view.from) continue;
    for (let k = n; k < Math.min(last, n + BLOCK); ++k) if (end(P[rows[k]]) >= view.from) list.push(rows[k]);
  }
  return list;
}
