// A browser for want of one: runs the scripts of a page of rmqtrace chart on elements that only remember, and prints what the
// page shows then.   node dom.js PAGE [part behind #]
const fs = require("fs"), vm = require("vm");
const page = fs.readFileSync(process.argv[2], "utf8");
const known = {};
function element(tag) {
  return {
    tag, textContent: "", innerHTML: "", className: "", style: {}, children: [], clientWidth: 1000, clientHeight: 700, on: {},
    append(...more) { this.children.push(...more); },
    insertCell() { const cell = element("td"); this.append(cell); return cell; },
    addEventListener(what, does) { this.on[what] = does; },
    dispatchEvent(e) { this.on[e.type]({...e, offsetX: e.clientX, offsetY: e.clientY, preventDefault() {}}); },
    getBoundingClientRect() { return {left: 0, top: 0}; },
    getContext() { return new Proxy({}, {get: (all, key) => key in all ? all[key] : () => {}}); },
  };
}
function byId(id) { return known[id] ||= element(/<(\w+) id="/.exec((page.match(new RegExp(`<\\w+[^>]*? id="${id}"`)) || ["<i id=\""])[0].replace(/ .* id=/, " id="))[1]); }
const world = vm.createContext({
  document: {getElementById: byId, createElement: element}, window: {devicePixelRatio: 1, addEventListener() {}},
  location: {hash: "#" + (process.argv[3] || "")}, requestAnimationFrame: f => f(), setInterval: () => 1, clearInterval() {}, console,
  Path2D: class { moveTo() {} lineTo() {} },
  MouseEvent: class { constructor(type, more) { Object.assign(this, {type}, more); } },
});
for (const [, script] of page.matchAll(/<script>\n([\s\S]*?)<\/script>/g)) vm.runInContext(script, world);
function print(e, id) {
  if (typeof e === "string") return console.log(e);
  const attributes = (id ? ` id="${id}"` : "") + (e.className ? ` class="${e.className}"` : "");
  console.log(`<${e.tag}${attributes}>${e.textContent || e.innerHTML}</${e.tag}>`);
  e.children.forEach(c => print(c));
}
for (const [id, e] of Object.entries(known)) print(e, id);
