// SPDX-License-Identifier: BSD-3-Clause
// The canvas: the map at the left, times, lanes, densities, marks, arrows, what is measured.
"use strict";
function drawMap() {
  const h = bottom() - TOP, bins = filtered().bins, most = bins.reduce((m, n) => Math.max(m, n), 1);
  g.fillStyle = "#eef1f5"; g.fillRect(0, TOP, MAP, h);
  g.fillStyle = "#9fb3c8";
  bins.forEach((n, i) => { if (n) g.fillRect(0, TOP + i * h / BINS, Math.max(1, Math.sqrt(n / most) * MAP), h / BINS); });
  const part = t => Math.max(0, Math.min(1, (t - firstTime) / (lastTime - firstTime)));
  const a = TOP + part(view.from) * h, b = TOP + part(view.to) * h;
  g.strokeStyle = "#1c2430"; g.strokeRect(0.5, a + 0.5, MAP - 1, Math.max(2, b - a - 1));
}

// The part of the lanes that is in view, where that is not all of them.
function drawBar() {
  if (!scrolls()) return;
  const all = gap() * LANES.length, w = plotWidth(), top = canvas.clientHeight - BAR;
  g.fillStyle = "#eef1f5"; g.fillRect(LEFT, top, w, BAR);
  g.fillStyle = "#9fb3c8"; g.fillRect(LEFT + view.left / all * w, top + 2, Math.max(12, w / all * w), BAR - 4);
}

function line(x0, y0, x1, y1) { g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1, y1); g.stroke(); }

function drawTimes() {
  g.font = SMALL; g.fillStyle = "#8a94a3"; g.strokeStyle = "#eef1f5"; g.textAlign = "right";
  for (const t of times()) {
    const py = Math.round(t.y) + 0.5;
    line(LEFT - 6, py, canvas.clientWidth, py);
    g.fillText(t.text, LEFT - 10, py + 4);
  }
}

function drawLanes() {
  const named = heads(), each = gap() >= 4;  // else the lines would be all there is
  g.strokeStyle = "#b8c2d0";
  for (const r of each ? lanesInView() : named.map(h => h.rank)) line(lane(r), TOP, lane(r), bottom());
  g.textAlign = "center";
  for (const h of named) {
    g.fillStyle = "#fbfcfe"; g.fillRect(h.x - h.width / 2 - 3, 0, h.width + 6, TOP - 2);
    g.fillStyle = "#1c2430"; g.font = HEAD; g.fillText(h.text, h.x, 14);
    g.fillStyle = h.good ? "#8a94a3" : "#e03131"; g.font = SMALL; g.fillText(h.note, h.x, 28);
    if (methodsHere.length < 2 || !h.note) continue;
    for (const m of methodsHere) {
      const mx = track(h.rank, m);
      g.strokeStyle = "#dfe5ec"; line(mx, TOP, mx, bottom());
      g.fillText(D.methods[m] || "?", mx, TOP + 12);
    }
  }
}

// How many packets each rank sent, as the width of its lane: where the packets themselves are not here, or too many.
function drawDensity(dense) {
  const w = D.density.width, from = Math.max(0, Math.floor(view.from / w)), to = Math.ceil(view.to / w);
  if (allHere && !dense) return;
  let most = 1;
  for (const counts of busy.values()) for (let i = from; i < Math.min(to, counts.length); ++i) most = Math.max(most, counts[i]);
  g.fillStyle = "#c5d3e3";
  for (const [rank, counts] of busy) {
    const x = lane(rank);
    for (let i = from; i < Math.min(to, counts.length); ++i) {
      if (!counts[i] || (!dense && (i + 1) * w <= D.detail)) continue;
      const half = Math.min(38, gap() * 0.42) * Math.sqrt(counts[i] / most), top = y(i * w);
      g.fillRect(x - half, top, 2 * half, Math.max(1, y((i + 1) * w) - top));
    }
  }
}

// Two times and what lies between them.
function drawMeasure() {
  g.strokeStyle = g.fillStyle = "#d6336c"; g.font = "bold 12px system-ui"; g.textAlign = "left";
  for (const t of marks) { const py = Math.round(y(t)) + 0.5; line(LEFT, py, canvas.clientWidth, py); }
  if (marks.length === 2) g.fillText(span(Math.abs(marks[1] - marks[0])), LEFT + 6, (y(marks[0]) + y(marks[1])) / 2);
}
function measure(t) {
  marks = marks.length === 1 ? [marks[0], t] : [t];
  $("measure").textContent = marks.length === 1 ? "from " + at(marks[0]) + ": shift-click the other time" :
    "between: " + span(Math.abs(marks[1] - marks[0]));
  redraw();
}
// Where a click means the end of a packet near it: that, not the pixel.
function timeNear(px, py) {
  let best = 7, found = time(py);
  for (const i of visible().slice(0, 20000)) {
    const p = P[i];
    for (const [t, rank] of [[p[SENT], p[FROM]], [p[CAME], p[TO]]]) {
      if (t < 0) continue;
      const d = Math.hypot(track(rank, p[METHOD]) - px, y(t) - py);
      if (d < best) best = d, found = t;
    }
  }
  return found;
}

// What is missing, and the command that makes the part in view.
function sayWhatIsCut() {
  const lines = [...D.caveats], cut = (x, f) => f(x / 1000).toString();
  if (!allHere && view.to > D.detail) {
    lines.push(`The first ${P.length.toLocaleString("en")} of ${D.total.toLocaleString("en")} packets are drawn, up to ${at(D.detail)}; ` +
      `after that, how many each rank sent. For the packets in view: ` +
      `${D.command} --from ${cut(Math.max(0, view.from), Math.floor)} --to ${cut(view.to, Math.ceil)}`);
  }
  $("cut").textContent = lines.join(" · ");
}

// Queues and waiting beside the lanes: posted, unexpected (as long as the queue), pending, sleep.
function drawMarks() {
  if (gap() < 30) return;  // they would stand on the next lanes
  const from = firstAt(M, m => m[0], view.from), to = firstAt(M, m => m[0], view.to);
  const stride = Math.max(1, Math.floor((to - from) / 4000));
  for (let i = from; i < to; i += stride) {
    const [t, rank, event, , a0] = M[i], x = lane(rank), py = y(t);
    if (event === EVENT.unexpected) { g.fillStyle = "#f08c00"; g.fillRect(x + 3, py - 1, Math.min(40, 2 + 3 * a0), 3); }
    else if (event === EVENT.posted) { g.fillStyle = "#1c7ed6"; g.fillRect(x - 8, py - 1, 5, 2); }
    else if (event === EVENT.pending) { g.fillStyle = "#e03131"; g.fillRect(x - 12, py - 1, 8, 3); }
    else if (event === EVENT.wake) { g.fillStyle = "rgba(95,61,196,.18)"; const s = y(t - a0); g.fillRect(x - 5, s, 10, Math.max(1, py - s)); }
  }
}

function arrow(p, wide) {
  const x0 = track(p[FROM], p[METHOD]), x1 = track(p[TO], p[METHOD]), y0 = y(begin(p)), y1 = y(end(p)), c = colour[p[KIND]];
  g.strokeStyle = g.fillStyle = wide ? "#d6336c" : c; g.lineWidth = wide ? 3 : 1.2;
  g.setLineDash(p[SENT] < 0 || p[CAME] < 0 ? [4, 3] : []);
  g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1, y1); g.stroke(); g.setLineDash([]);
  const d = Math.atan2(y1 - y0, x1 - x0), s = wide ? 9 : 6;
  g.beginPath(); g.moveTo(x1, y1); g.lineTo(x1 - s * Math.cos(d - 0.35), y1 - s * Math.sin(d - 0.35));
  g.lineTo(x1 - s * Math.cos(d + 0.35), y1 - s * Math.sin(d + 0.35)); g.fill(); g.lineWidth = 1;
}
function drawLabels(list) {
  g.font = SMALL; g.textAlign = "center"; g.textBaseline = "middle";
  for (const label of arrowLabels(list)) {
    g.save(); g.translate(label.x, label.y); g.rotate(label.turn); g.fillStyle = "#1c2430";
    g.fillText(label.text, 0, 0); g.restore();
  }
  g.textBaseline = "alphabetic";
}

// Many arrows: one path for each look. Where they are dense, their heads would only hide each other.
function drawArrows(list, stride) {
  const looks = new Map(), heads = list.length < 3000;
  for (let n = 0; n < list.length; n += stride) {
    const p = P[list[n]], whole = p[SENT] >= 0 && p[CAME] >= 0, key = colour[p[KIND]] + whole;
    const look = looks.get(key) || looks.set(key, {whole, style: colour[p[KIND]], lines: new Path2D(), heads: new Path2D()}).get(key);
    const x0 = track(p[FROM], p[METHOD]), x1 = track(p[TO], p[METHOD]), y0 = y(begin(p)), y1 = y(end(p));
    look.lines.moveTo(x0, y0); look.lines.lineTo(x1, y1);
    if (!heads) continue;
    const d = Math.atan2(y1 - y0, x1 - x0);
    look.heads.moveTo(x1, y1); look.heads.lineTo(x1 - 6 * Math.cos(d - 0.35), y1 - 6 * Math.sin(d - 0.35));
    look.heads.lineTo(x1 - 6 * Math.cos(d + 0.35), y1 - 6 * Math.sin(d + 0.35));
  }
  for (const look of looks.values()) {
    g.strokeStyle = g.fillStyle = look.style; g.lineWidth = heads ? 1.2 : 1; g.setLineDash(look.whole ? [] : [4, 3]);
    g.stroke(look.lines); g.fill(look.heads);
  }
  g.setLineDash([]); g.lineWidth = 1;
}

function draw() {
  sayWhatIsCut(); fillStage();
  const scale = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * scale; canvas.height = canvas.clientHeight * scale;
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  const list = visible(), stride = Math.max(1, Math.floor(list.length / 5000));
  drawTimes(); drawLanes();
  g.save(); g.beginPath(); g.rect(LEFT, TOP, canvas.clientWidth, bottom() - TOP); g.clip();
  drawDensity(list.length > 20000);
  drawMarks();
  if (list.length < LABELLED) list.forEach(i => arrow(P[i], false));
  else drawArrows(list, stride);
  if (picked >= 0) arrow(P[picked], true);
  drawLabels(list.length < LABELLED ? list : picked >= 0 ? [picked] : []);
  drawMeasure();
  g.restore();
  drawMap(); drawBar();
  $("summary").textContent = `${D.ranks.length} ranks, ${D.total.toLocaleString("en")} packets in ${span(lastTime - firstTime)}, ${list.length.toLocaleString("en")} in view`;
}
let waiting = false;
function redraw() { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); }); } }
