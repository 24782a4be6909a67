// SPDX-License-Identifier: BSD-3-Clause
// Where everything stands: lanes, times, labels. Numbers only, which layout() gives to whoever wants to judge the picture.
"use strict";
const TOP = 34, MAP = 34, LEFT = MAP + 90, BAR = 14, HEAD = "bold 13px system-ui", SMALL = "11px system-ui";
const WIDEST_LANE = 600, TIMES_APART = 48;

// A lane for each rank that is here or that packets went to or came from.
const INFO = new Map(D.ranks.map(r => [r.rank, r]));
const LANES = (() => { const all = new Set(INFO.keys()); for (const p of P) all.add(p[FROM]).add(p[TO]); return [...all].sort((a, b) => a - b); })();
const PLACE = new Map(LANES.map((rank, i) => [rank, i]));

// The canvas takes what the window leaves, whatever stands above it.
function fillStage() {
  canvas.style.height = Math.max(200, window.innerHeight - $("stage").offsetTop) + "px";
}
const plotWidth = () => Math.max(1, canvas.clientWidth - LEFT);
// view.gap: pixels from lane to lane; as long as there is room for all of them, more.
const gap = () => Math.max(plotWidth() / Math.max(LANES.length, 1), view.gap);
const scrolls = () => gap() * LANES.length > plotWidth() + 1;
const bottom = () => canvas.clientHeight - (scrolls() ? BAR : 0);
function lane(rank) { return LEFT + (PLACE.get(rank) + 0.5) * gap() - view.left; }
// Where several methods are in use, each has a line of its own beside the rank's.
function track(rank, method) {
  return lane(rank) + (methodsHere.indexOf(method) - (methodsHere.length - 1) / 2) * Math.min(26, gap() / (methodsHere.length + 1));
}
function y(ns) { return TOP + (ns - view.from) / (view.to - view.from) * (bottom() - TOP); }
function time(py) { return view.from + (py - TOP) / (bottom() - TOP) * (view.to - view.from); }
function scrollTo(left) { view.left = Math.max(0, Math.min(left, gap() * LANES.length - plotWidth())); }
// Lanes wider or narrower, by a factor; what is at `px` stays there.
function widen(by, px) {
  const place = (px - LEFT + view.left) / gap();
  view.gap = Math.min(WIDEST_LANE, gap() * by);
  scrollTo(place * gap() - (px - LEFT));
}
function lanesInView() {
  const first = Math.max(0, Math.ceil(view.left / gap() - 0.5)), end = Math.floor((view.left + plotWidth()) / gap() - 0.5) + 1;
  return LANES.slice(first, end);
}

// 1, 2 or 5 with zeros: the least that is not below `least`.
function round(least) {
  const power = Math.pow(10, Math.floor(Math.log10(least)));
  return [1, 2, 5, 10].map(n => n * power).find(n => n >= least * 0.999999);
}
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const unitOf = ns => UNITS.find(([size]) => Math.abs(ns) >= size) || UNITS[3];
function inUnit(ns, [size, name], digits) { return (ns / size + 0).toLocaleString("en", {minimumFractionDigits: digits, maximumFractionDigits: digits}) + " " + name; }
// A point in time to the nanosecond; how long something takes, in the unit that fits.
function at(ns) { const u = unitOf(ns); return ns < 0 ? "not in the trace" : inUnit(ns, u, Math.log10(u[0])); }
function span(ns) { const u = unitOf(ns); return inUnit(ns, u, u[0] > 1 ? 3 : 0); }

// The times at the left: as many as have room.
function times() {
  const height = bottom() - TOP, step = round(Math.max(1, (view.to - view.from) * TIMES_APART / Math.max(height, 1)));
  const unit = unitOf(Math.max(Math.abs(view.from), Math.abs(view.to), step)), digits = Math.max(0, Math.ceil(Math.log10(unit[0] / step) - 1e-9));
  const list = [];
  for (let n = Math.ceil(view.from / step); n * step < view.to; ++n) list.push({text: inUnit(n * step, unit, digits), y: y(n * step)});
  return list;
}

function textWidth(text, font) { g.font = font; return g.measureText(text).width; }
// Names of lanes: both lines where they have room, else numbers, of so many lanes as have.
function heads() {
  const here = lanesInView();
  const list = here.map(rank => {
    const r = INFO.get(rank);
    const note = !r ? "no trace" : `host ${r.host}${r.finished ? "" : ", did not end"}${r.dropped ? `, ${r.dropped} dropped` : ""}`;
    return {rank, x: lane(rank), text: "rank " + rank, note, good: r && r.finished};
  });
  for (const h of list) h.width = Math.max(textWidth(h.text, HEAD), textWidth(h.note, SMALL));
  if (list.every(h => h.width + 8 <= gap())) return list;
  for (const h of list) h.text = "" + h.rank, h.note = "", h.width = textWidth(h.text, HEAD);
  const widest = Math.max(0, ...list.map(h => h.width)), each = round(Math.max(1, (widest + 8) / gap()));
  return list.filter(h => PLACE.get(h.rank) % each === 0);
}

// What is written along arrows: not over each other, and not longer than the arrow.
function arrowLabels(list) {
  const placed = [];
  const size = (w, h, d) => [(Math.abs(w * Math.cos(d)) + Math.abs(h * Math.sin(d))) / 2, (Math.abs(w * Math.sin(d)) + Math.abs(h * Math.cos(d))) / 2];
  for (const i of list) {
    const p = P[i], x0 = track(p[FROM], p[METHOD]), x1 = track(p[TO], p[METHOD]), y0 = y(begin(p)), y1 = y(end(p));
    const text = name(p[KIND]) + (p[LENGTH] ? "  " + p[LENGTH] + " B" : "") + (p[TAG] ? "  tag " + p[TAG] : "");
    const width = textWidth(text, SMALL), angle = Math.atan2(y1 - y0, x1 - x0), turn = x1 < x0 ? angle + Math.PI : angle;
    if (width > Math.hypot(x1 - x0, y1 - y0) - 12) continue;
    const [hw, hh] = size(width, 12, angle);
    const box = {text, x: (x0 + x1) / 2 + 8 * Math.sin(turn), y: (y0 + y1) / 2 - 8 * Math.cos(turn), hw, hh, turn};
    if (placed.some(b => Math.abs(b.x - box.x) < b.hw + hw && Math.abs(b.y - box.y) < b.hh + hh)) continue;
    placed.push(box);
  }
  return placed;
}
const LABELLED = 70;  // packets in view, at most: more have no names

function layout() {
  const list = visible();
  return {stage: {width: canvas.clientWidth, height: canvas.clientHeight}, left: LEFT, ranks: LANES.length, lanes: lanesInView().map(r => ({rank: r, x: lane(r)})),
    heads: heads(), times: times(), labels: list.length < LABELLED ? arrowLabels(list) : []};
}
