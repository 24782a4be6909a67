// SPDX-License-Identifier: BSD-3-Clause
// A browser for want of one: runs the scripts of a page of rmqtrace chart on elements that only remember, and prints what the
// page shows then.   node dom.js PAGE [part behind #]
"use strict";
const fs = require("fs"), vm = require("vm");
const WIDTH = 1400, HEIGHT = 900, ASIDE = 360, HEADER = 60, LINE = 28;

// The page after its scripts have run: its elements by id, and the scripts' own names through run().
function open(page, hash) {
  const known = {};
  function element(tag, id) {
    return {
      tag, id, textContent: "", innerHTML: "", className: "", style: {}, children: [], on: {},
      // As the page's style lays it out: a header, a line that is there when it says something, and the rest.
      get offsetTop() { return id === "stage" ? HEADER + (known.cut?.textContent ? LINE : 0) : 0; },
      get clientWidth() { return WIDTH - ASIDE; },
      get clientHeight() { return parseFloat(this.style.height) || 150; },
      append(...more) { this.children.push(...more); },
      insertCell() { const cell = element("td"); this.append(cell); return cell; },
      addEventListener(what, does) { this.on[what] = does; },
      dispatchEvent(e) { this.on[e.type]({...e, offsetX: e.clientX, offsetY: e.clientY, preventDefault() {}}); },
      getBoundingClientRect() { return {left: 0, top: 0}; },
      getContext() {
        const measureText = text => ({width: 6.5 * text.length});
        return new Proxy({measureText}, {get: (all, key) => key in all ? all[key] : () => {}});
      },
    };
  }
  function byId(id) {
    const tag = (page.match(new RegExp(`<(\\w+)[^>]*? id="${id}"`)) || ["", "i"])[1];
    return known[id] ||= element(tag, id);
  }
  const world = vm.createContext({
    document: {getElementById: byId, createElement: tag => element(tag)}, window: {devicePixelRatio: 1, innerHeight: HEIGHT, addEventListener() {}},
    location: {hash: "#" + (hash || "")}, requestAnimationFrame: f => f(), setInterval: () => 1, clearInterval() {}, console,
    Path2D: class { moveTo() {} lineTo() {} },
    MouseEvent: class { constructor(type, more) { Object.assign(this, {type}, more); } },
  });
  for (const [, script] of page.matchAll(/<script>\n([\s\S]*?)<\/script>/g)) vm.runInContext(script, world);
  return {known, innerHeight: HEIGHT, run: text => vm.runInContext(text, world)};
}
module.exports = {open};

function print(e, id) {
  if (typeof e === "string") return console.log(e);
  const attributes = (id ? ` id="${id}"` : "") + (e.className ? ` class="${e.className}"` : "");
  console.log(`<${e.tag}${attributes}>${e.textContent || e.innerHTML}</${e.tag}>`);
  e.children.forEach(c => print(c));
}
if (require.main === module) {
  const {known} = open(fs.readFileSync(process.argv[2], "utf8"), process.argv[3]);
  for (const [id, e] of Object.entries(known)) print(e, id);
}
