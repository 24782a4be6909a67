// SPDX-License-Identifier: BSD-3-Clause
// Mouse, keys, buttons, and what stands behind # in the address.
"use strict";
let drag = null;
// The middle of what is in view, by a point of the bar.
function bar(px) { scrollTo((px - LEFT) / plotWidth() * gap() * LANES.length - plotWidth() / 2); }
canvas.addEventListener("mousedown", e => { drag = {x: e.offsetX, y: e.offsetY, view: {...view}, moved: false}; });
window.addEventListener("mouseup", () => { drag = null; });
canvas.addEventListener("mousemove", e => {
  if (!drag) return;
  const dy = e.offsetY - drag.y, dx = e.offsetX - drag.x;
  drag.moved = drag.moved || Math.hypot(dx, dy) > 4;
  const per = (drag.view.to - drag.view.from) / (bottom() - TOP);
  if (drag.x < MAP) return;
  if (drag.y > bottom()) { bar(e.offsetX); return redraw(); }
  view = {...view, from: drag.view.from - dy * per, to: drag.view.to - dy * per};
  scrollTo(drag.view.left - dx);
  redraw();
});
canvas.addEventListener("click", e => {
  if (e.offsetX < MAP) {
    const all = view.to - view.from, mid = firstTime + (e.offsetY - TOP) / (bottom() - TOP) * (lastTime - firstTime);
    view.from = mid - all / 2; view.to = mid + all / 2; return redraw();
  }
  if (e.offsetY > bottom()) { bar(e.offsetX); return redraw(); }
  if (e.shiftKey) return measure(timeNear(e.offsetX, e.offsetY));
  show(nearest(e.offsetX, e.offsetY));
});
canvas.addEventListener("wheel", e => {
  e.preventDefault();
  if (e.shiftKey) { scrollTo(view.left + e.deltaY + e.deltaX); return redraw(); }
  if (e.offsetY < TOP) { widen(Math.exp(-e.deltaY * 0.0015), Math.max(LEFT, e.offsetX)); return redraw(); }
  const at = time(e.offsetY), f = Math.exp(e.deltaY * 0.0015);
  if ((view.to - view.from) * f < 50) return;
  view = {...view, from: at - (at - view.from) * f, to: at + (view.to - at) * f};
  redraw();
}, {passive: false});
window.addEventListener("keydown", e => {
  if (e.target.tagName === "INPUT") return;
  if (e.key === "n" || e.key === "ArrowRight") step(1);
  else if (e.key === "p" || e.key === "ArrowLeft") step(-1);
  else if (e.key === "Escape") { marks = []; $("measure").textContent = ""; redraw(); }
  else if (e.key === "f") { endTale(); fit(); }
  else if (e.key === "t") teach();
  else if (e.key === "+" || e.key === "-") wider(e.key === "+");
  else if (e.key === " ") { e.preventDefault(); play(); }
});
function wider(yes) { widen(yes ? 1.5 : 1 / 1.5, LEFT + plotWidth() / 2); redraw(); }
window.addEventListener("resize", redraw);
$("next").onclick = () => step(1); $("prev").onclick = () => step(-1); $("play").onclick = play; $("fit").onclick = () => { endTale(); fit(); };
$("teach").onclick = teach; $("wider").onclick = () => wider(true); $("narrower").onclick = () => wider(false);
$("search").oninput = e => {
  const words = e.target.value.trim().split(/\s+/).filter(Boolean).map(w => w.split("="));
  query = p => words.every(([key, value]) =>
    key === "tag" ? p[TAG] == value : key === "msg" ? p[MSG] == value : key === "rank" ? p[FROM] == value || p[TO] == value :
    key === "length" ? p[LENGTH] == value : name(p[KIND]).toLowerCase().includes(key.toLowerCase()) || (D.methods[p[METHOD]] || "") === key);
  refilter();
};
for (const k of kindsHere) {
  const label = document.createElement("label"), box = document.createElement("input"), dot = document.createElement("i");
  box.type = "checkbox"; box.checked = true; dot.style.background = colour[k];
  box.onchange = () => { if (box.checked) hidden.delete(k); else hidden.add(k); refilter(); };
  label.append(box, dot, name(k)); $("kinds").append(label);
}
show(-1); fit(); draw();
// #teach: the first long message, as the button does. #click=N: clicks on the N-th packet (from 0), as a person would;
// #measure=N: shift-clicks both of its ends. #view=FROM,TO: microseconds.
if (location.hash === "#teach") { teach(); play(); draw(); }
function act(x, py, shiftKey) {
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new MouseEvent("click", {clientX: box.left + x, clientY: box.top + py, bubbles: true, shiftKey}));
}
const wish = /(click|measure)=(\d+)/.exec(location.hash);
if (wish && P[+wish[2]]) {
  const p = P[+wish[2]], around = Math.max(2000, 4 * (end(p) - begin(p)));
  view = {...view, from: begin(p) - around / 2, to: end(p) + around / 2}; draw();
  const x0 = track(p[FROM], p[METHOD]), x1 = track(p[TO], p[METHOD]);
  if (wish[1] === "click") act((x0 + x1) / 2, (y(begin(p)) + y(end(p))) / 2, false);
  else { act(x0, y(begin(p)), true); act(x1, y(end(p)), true); }
  draw();
}
const part = /view=([\d.]+),([\d.]+)/.exec(location.hash);
if (part) { view = {...view, from: part[1] * 1000, to: part[2] * 1000}; draw(); }
