// SPDX-License-Identifier: BSD-3-Clause
// Judges the picture of rmqtrace chart by its pixels: whether lanes and arrows fill the stage.
//   node chart_pixels.js SCREENSHOT.png
"use strict";
const fs = require("fs"), zlib = require("zlib");

// {width, height, at(x, y): [red, green, blue]} of a PNG of 8 bits a channel that is not interlaced.
function decode(file) {
  let header, parts = [];
  for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at)) {
    const data = file.subarray(at + 8, at + 8 + file.readUInt32BE(at)), type = file.toString("latin1", at + 4, at + 8);
    if (type === "IHDR") header = {width: data.readUInt32BE(0), height: data.readUInt32BE(4), bits: data[8], colour: data[9], interlaced: data[12]};
    if (type === "IDAT") parts.push(data);
  }
  const {width, height} = header, channels = {2: 3, 6: 4}[header.colour];
  if (header.bits !== 8 || header.interlaced || !channels) throw new Error("a PNG of another kind");
  const raw = zlib.inflateSync(Buffer.concat(parts)), row = width * channels, out = Buffer.alloc(row * height);
  for (let y = 0; y < height; ++y) {
    const filter = raw[y * (row + 1)];
    for (let x = 0; x < row; ++x) {
      const left = x >= channels ? out[y * row + x - channels] : 0, up = y ? out[(y - 1) * row + x] : 0;
      const corner = y && x >= channels ? out[(y - 1) * row + x - channels] : 0, guess = left + up - corner;
      const near = [left, up, corner].reduce((a, b) => Math.abs(guess - b) < Math.abs(guess - a) ? b : a);
      out[y * row + x] = raw[y * (row + 1) + 1 + x] + [0, left, up, (left + up) >> 1, near][filter];
    }
  }
  return {width, height, at: (x, y) => [...out.subarray(y * row + x * channels, y * row + x * channels + 3)]};
}

const picture = decode(fs.readFileSync(process.argv[2])), right = picture.width - 360 - 4, left = 130;
// Arrows have colours; lanes, times and paper are nearly grey.
const isColoured = ([r, g, b]) => Math.max(r, g, b) - Math.min(r, g, b) > 60;
function coloured(from, to) {
  let n = 0;
  for (let y = Math.floor(from * picture.height); y < Math.floor(to * picture.height); ++y)
    for (let x = left; x < right; ++x) n += isColoured(picture.at(x, y));
  return n;
}
for (const [from, to] of [[0.15, 0.4], [0.4, 0.7], [0.7, 0.97]]) {
  const n = coloured(from, to);
  if (n >= 50) continue;
  console.error(`chart_pixels: between ${from} and ${to} of the height only ${n} pixels are of arrows`);
  process.exit(1);
}
