// The canvas: the map at the left, lanes, densities, marks, arrows, what is measured.
"use strict";
function drawMap() {
  const h = canvas.clientHeight - TOP, bins = filtered().bins, most = bins.reduce((m, n) => Math.max(m, n), 1);
  g.fillStyle = "#eef1f5"; g.fillRect(0, TOP, MAP - 12, h);
  g.fillStyle = "#9fb3c8";
  bins.forEach((n, i) => { if (n) g.fillRect(0, TOP + i * h / BINS, Math.max(1, Math.sqrt(n / most) * (MAP - 12)), h / BINS); });
  const part = t => Math.max(0, Math.min(1, (t - firstTime) / (lastTime - firstTime)));
  const a = TOP + part(view.from) * h, b = TOP + part(view.to) * h;
  g.strokeStyle = "#1c2430"; g.strokeRect(0.5, a + 0.5, MAP - 13, Math.max(2, b - a - 1));
}

function drawLanes() {
  const bottom = canvas.clientHeight, step = Math.pow(10, Math.floor(Math.log10((view.to - view.from) / 3)));
  g.font = "11px system-ui"; g.fillStyle = "#8a94a3"; g.strokeStyle = "#eef1f5"; g.textAlign = "left";
  for (let t = Math.ceil(view.from / step) * step; t < view.to; t += step) {
    const py = Math.round(y(t)) + 0.5;
    g.beginPath(); g.moveTo(MAP, py); g.lineTo(canvas.clientWidth, py); g.stroke();
    g.fillText((t / 1000).toLocaleString("en") + " µs", MAP + 2, py - 2);
  }
  g.textAlign = "center";
  for (const r of D.ranks) {
    const x = lane(r.rank);
    if (x < MAP - 40 || x > canvas.clientWidth + 40) continue;
    g.strokeStyle = "#b8c2d0"; g.beginPath(); g.moveTo(x, TOP); g.lineTo(x, bottom); g.stroke();
    g.fillStyle = "#fbfcfe"; g.fillRect(x - 44, 0, 88, TOP - 2);
    g.fillStyle = "#1c2430"; g.font = "bold 13px system-ui"; g.fillText("rank " + r.rank, x, 14);
    g.fillStyle = r.finished ? "#8a94a3" : "#e03131"; g.font = "11px system-ui";
    if (methodsHere.length > 1) for (const m of methodsHere) {
      const at = track(r.rank, m);
      g.strokeStyle = "#dfe5ec"; g.beginPath(); g.moveTo(at, TOP); g.lineTo(at, bottom); g.stroke();
      g.fillText(D.methods[m] || "?", at, TOP + 12);
    }
    g.fillText("host " + r.host + (r.finished ? "" : ", did not end") + (r.dropped ? ", " + r.dropped + " dropped" : ""), x, 28);
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
      const half = 38 * Math.sqrt(counts[i] / most), top = y(i * w);
      g.fillRect(x - half, top, 2 * half, Math.max(1, y((i + 1) * w) - top));
    }
  }
}

// Two times and what lies between them.
function drawMeasure() {
  g.strokeStyle = g.fillStyle = "#d6336c"; g.font = "bold 12px system-ui"; g.textAlign = "left";
  for (const t of marks) { const py = Math.round(y(t)) + 0.5; g.beginPath(); g.moveTo(MAP, py); g.lineTo(canvas.clientWidth, py); g.stroke(); }
  if (marks.length === 2) g.fillText(us(Math.abs(marks[1] - marks[0])), MAP + 6, (y(marks[0]) + y(marks[1])) / 2);
}
function measure(t) {
  marks = marks.length === 1 ? [marks[0], t] : [t];
  $("measure").textContent = marks.length === 1 ? "from " + us(marks[0]) + ": shift-click the other time" :
    "between: " + us(Math.abs(marks[1] - marks[0]));
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
    lines.push(`The first ${P.length.toLocaleString("en")} of ${D.total.toLocaleString("en")} packets are drawn, up to ${us(D.detail)}; ` +
      `after that, how many each rank sent. For the packets in view: ` +
      `${D.command} --from ${cut(Math.max(0, view.from), Math.floor)} --to ${cut(view.to, Math.ceil)}`);
  }
  $("cut").textContent = lines.join(" · ");
}

// Queues and waiting beside the lanes: posted, unexpected (as long as the queue), pending, sleep.
function drawMarks() {
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

function arrow(p, wide, label) {
  const x0 = track(p[FROM], p[METHOD]), x1 = track(p[TO], p[METHOD]), y0 = y(begin(p)), y1 = y(end(p)), c = colour[p[KIND]];
  g.strokeStyle = g.fillStyle = wide ? "#d6336c" : c; g.lineWidth = wide ? 3 : 1.2;
  g.setLineDash(p[SENT] < 0 || p[CAME] < 0 ? [4, 3] : []);
  g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1, y1); g.stroke(); g.setLineDash([]);
  const d = Math.atan2(y1 - y0, x1 - x0), s = wide ? 9 : 6;
  g.beginPath(); g.moveTo(x1, y1); g.lineTo(x1 - s * Math.cos(d - 0.35), y1 - s * Math.sin(d - 0.35));
  g.lineTo(x1 - s * Math.cos(d + 0.35), y1 - s * Math.sin(d + 0.35)); g.fill(); g.lineWidth = 1;
  if (!label) return;
  g.save(); g.translate((x0 + x1) / 2, (y0 + y1) / 2); g.rotate(x1 < x0 ? d + Math.PI : d);
  g.font = "11px system-ui"; g.textAlign = "center";
  g.fillText(name(p[KIND]) + (p[LENGTH] ? "  " + p[LENGTH] + " B" : "") + (p[TAG] ? "  tag " + p[TAG] : ""), 0, -4);
  g.restore();
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
  const scale = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * scale; canvas.height = canvas.clientHeight * scale;
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  const list = visible(), stride = Math.max(1, Math.floor(list.length / 5000));
  g.save(); g.beginPath(); g.rect(MAP - 6, TOP, canvas.clientWidth, canvas.clientHeight); g.clip();
  drawDensity(list.length > 20000);
  drawMarks();
  if (list.length < 70) list.forEach(i => arrow(P[i], false, true));
  else drawArrows(list, stride);
  if (picked >= 0) arrow(P[picked], true, true);
  drawMeasure();
  g.restore();
  drawLanes(); drawMap(); sayWhatIsCut();
  $("summary").textContent = `${D.ranks.length} ranks, ${D.total.toLocaleString("en")} packets in ${((lastTime - firstTime) / 1e6).toFixed(3)} ms, ${list.length.toLocaleString("en")} in view`;
}
let waiting = false;
function redraw() { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); }); } }
