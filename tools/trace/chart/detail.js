// SPDX-License-Identifier: BSD-3-Clause
// The packet that was picked: its fields, the packets of its message, stepping, the teaching mode.
"use strict";
function rowHtml(key, value, meaning) {
  const td = document.createElement("tr");
  for (const [text, css] of [[key, ""], [value, "v"], [meaning || "", "note"]]) {
    const cell = td.insertCell(); cell.textContent = text; cell.className = css;
  }
  return td;
}
function show(i) {
  picked = i;
  const box = $("detail"); box.textContent = "";
  if (i < 0) {
    box.innerHTML = "<h2>How to read this</h2><p>A lane for each rank, time downwards, an arrow for each packet. Click one for its fields; wheel to zoom (over the names of the lanes, and with <b>+</b> and <b>-</b>: the lanes), drag to move, shift-wheel to move sideways, <b>n</b> and <b>p</b> to step through, <b>f</b> for everything, <b>t</b> for a long message in slow motion. Shift-click two times to measure what lies between them.</p>" +
      "<p>Beside a lane: <span style='color:#1c7ed6'>posted receive</span>, <span style='color:#f08c00'>unexpected message</span> (as long as the queue), <span style='color:#e03131'>pending packet</span>, <span style='color:#5f3dc4'>sleep</span>.</p>";
    return redraw();
  }
  const p = P[i], k = D.kinds[p[KIND]] || {name: "RMQ_PKT_?", meaning: "", fields: []};
  const h = document.createElement("h2"); h.textContent = k.name; box.append(h);
  const m = document.createElement("p"); m.textContent = k.meaning; box.append(m);
  const t = document.createElement("table"); box.append(t);
  const add = (key, value, meaning) => t.append(rowHtml(key, value, meaning));
  add("from", "rank " + p[FROM]); add("to", "rank " + p[TO]); add("over", D.methods[p[METHOD]] || "?");
  add("sent", at(p[SENT])); add("arrived", at(p[CAME]));
  if (p[SENT] >= 0 && p[CAME] >= 0) add("on its way", span(p[CAME] - p[SENT]));
  add("context", p[CONTEXT], "communicator"); add("tag", p[TAG]); add("source", p[SOURCE], "rank in the communicator");
  add("length", p[LENGTH], "bytes of payload"); add("msg", p[MSG], "number of the message of this pair");
  if (p[CREDIT]) add("credit", p[CREDIT], "bytes of eager credit returned");
  if (p[FLAGS]) add("flags", "0x" + p[FLAGS].toString(16));
  k.fields.forEach(([field, meaning], n) => {
    const v = p[FIELDS + n], opaque = ["sender", "receiver", "address", "request"].includes(field);
    add(field, opaque && typeof v === "number" ? "0x" + v.toString(16) : v, meaning);
  });
  const same = story_of(i).map(j => [P[j], j]).slice(0, 40);
  const story = document.createElement("p"); story.innerHTML = "<b>Packets of this message</b> ";
  for (const [q, j] of same) {
    const b = document.createElement("button"); b.textContent = `${q[FROM]}→${q[TO]} ${name(q[KIND])}`;
    if (j === i) b.className = "on"; b.onclick = () => { show(j); centre(j); }; story.append(b, " ");
  }
  box.append(story);
  const ref = document.createElement("p"); ref.className = "note";
  ref.innerHTML = "<b>design/wire.md</b>"; box.append(ref);
  for (const line of k.design || []) { const d = document.createElement("p"); d.className = "design"; d.textContent = line; box.append(d); }
  redraw();
}
// Numbers of messages count for each direction of a pair, and answers carry the number of what they answer.
const ANSWERS = ["SYNC_ACK", "OK_TO_SEND", "ANTI_SEND_OK"];
// So packets are kept by direction, number and context, made at the first look.
let stories = null;
function sameMessage(p, a, b) {
  const key = (from, to, q) => `${from}>${to}:${q[MSG]}:${q[CONTEXT]}`;
  if (!stories) {
    stories = new Map();
    P.forEach((q, i) => { const k = key(q[FROM], q[TO], q), list = stories.get(k); if (list) list.push(i); else stories.set(k, [i]); });
  }
  return stories.get(key(a, b, p)) || [];
}
function story_of(i) {
  const p = P[i], kind = name(p[KIND]), is = k => j => name(P[j][KIND]) === k;
  const opens = (a, b) => sameMessage(p, a, b).some(j => j <= i && is("REQUEST_SEND")(j));
  const back = ANSWERS.includes(kind) || (kind === "RNDV_DONE" && opens(p[TO], p[FROM]));
  const [a, b] = back ? [p[TO], p[FROM]] : [p[FROM], p[TO]];
  const answer = j => ANSWERS.includes(name(P[j][KIND]));
  const there = sameMessage(p, a, b).filter(j => !answer(j));
  const answers = sameMessage(p, b, a).filter(j => answer(j) || is("RNDV_DONE")(j));
  return [...there, ...answers].sort((x, y) => x - y);
}
function centre(i) {
  const p = P[i], span = view.to - view.from, mid = (begin(p) + end(p)) / 2;
  if (begin(p) < view.from || end(p) > view.to) view.from = mid - span / 2, view.to = mid + span / 2;
  redraw();
}
function step(by) {
  let i = picked < 0 ? (by > 0 ? -1 : P.length) : picked;
  do i += by; while (i >= 0 && i < P.length && !shown(P[i]));
  if (i < 0 || i >= P.length) return false;
  // Slow motion looks at a few packets at a time.
  const near = P.slice(Math.max(0, i - 6), i + 7), span = Math.max(2000, end(near[near.length - 1]) - begin(near[0]));
  if (!tale && view.to - view.from > 4 * span) view = {...view, from: begin(P[i]) - span / 2, to: begin(P[i]) + span / 2};
  show(i); centre(i);
  return true;
}
function play() {
  if (timer) { clearInterval(timer); timer = 0; }
  else timer = setInterval(() => { if (!step(1)) play(); }, 700);
  $("play").className = timer ? "on" : "";
}
// Teaching: the next long message alone, its packets one after the other.
function teach() {
  const from = tale ? picked : -1;
  const next = P.findIndex((p, j) => j > from && name(p[KIND]) === "REQUEST_SEND" && !(tale && tale.has(p)));
  if (tale && next < 0) { endTale(); fit(); return; }
  if (next < 0) return;
  const story = story_of(next);
  tale = new Set(story.map(j => P[j])); kept = null; $("teach").className = "on";
  const a = begin(P[story[0]]), b = Math.max(...story.map(j => end(P[j])));
  view = {...view, from: a - (b - a) * 0.15 - 500, to: b + (b - a) * 0.15 + 500};
  show(story[0]);
  if (!timer) play();
}
function endTale() { tale = null; $("teach").className = ""; refilter(); }
function fit() { const d = lastTime - firstTime; view = {from: firstTime - d * 0.01, to: lastTime + d * 0.02, left: 0, gap: 0}; redraw(); }

// The nearest arrow within some pixels of a point.
function nearest(px, py) {
  let best = 9, found = -1;
  for (const i of visible()) {
    const p = P[i], x0 = track(p[FROM], p[METHOD]), x1 = track(p[TO], p[METHOD]), y0 = y(begin(p)), y1 = y(end(p));
    const dx = x1 - x0, dy = y1 - y0, u = Math.max(0, Math.min(1, ((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy || 1)));
    const d = Math.hypot(px - x0 - u * dx, py - y0 - u * dy);
    if (d < best) best = d, found = i;
  }
  return found;
}
