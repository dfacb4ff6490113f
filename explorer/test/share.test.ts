import assert from "node:assert/strict";
import test from "node:test";
import { readLink } from "../src/link";
import { SvgBrush, escapeXml } from "../src/svg";
import { fitted, moved, readStops } from "../src/tour";

const KNOWN = { levels: [{ nNodes: 50 }], nRows: 100, columns: [] };

test("stops are read, and what is none is left out", () => {
  const stop = { title: "a", text: "b", view: "#x=1", width: 900, height: 600 };
  const others = [null, 3, { title: "a" }, { title: 1, view: "#" }, { title: "a", view: "https://elsewhere" }];
  assert.deepEqual(readStops([stop, ...others, { title: "c", view: "#", width: -1, text: 5 }]),
    [stop, { title: "c", text: "", view: "#", width: 1200, height: 800 }]);
  assert.deepEqual(readStops({}), []);
  assert.equal(readStops(Array(500).fill(stop)).length, 100);
});

test("a smaller map shows at least what the author saw", () => {
  const view = { x: 1, y: 2, scale: 10 };
  assert.deepEqual(fitted(view, { width: 1000, height: 800 }, { width: 400, height: 800 }), { ...view, scale: 4 });
});

test("stops move up and down, not out", () => {
  assert.deepEqual(moved(["a", "b", "c"], 0, 1), ["b", "a", "c"]);
  assert.deepEqual(moved(["a", "b", "c"], 2, -1), ["a", "c", "b"]);
  assert.deepEqual(moved(["a", "b", "c"], 2, 1), ["a", "b", "c"]);
});

test("an address counts stops from 1", () => {
  assert.equal(readLink("#stop=1", KNOWN).stop, 0);
  assert.deepEqual(["#stop=0", "#stop=-1", "#stop=x", "#stop=1e9", "#"].map((hash) => readLink(hash, KNOWN).stop), [null, null, null, null, null]);
});

test("SVG: what is drawn is written, texts are escaped", () => {
  const brush = new SvgBrush();
  brush.beginPath();
  brush.moveTo(0, 1.234);
  brush.lineTo(5, 6);
  brush.closePath();
  brush.fillStyle = "#ff0000";
  brush.globalAlpha = 0.5;
  brush.fill();
  brush.setLineDash([6, 4]);
  brush.stroke();
  brush.fillText("</text><script>alert(1)</script>&\u0001\ud800", 1, 2);
  const text = brush.document(10, 20, "<b>");
  assert.match(text, /<path d="M0 1\.23L5 6Z" fill-rule="evenodd" fill="#ff0000" opacity="0\.5"\/>/);
  assert.match(text, /stroke-dasharray="6 4"/);
  assert.match(text, /<title>&#60;b&#62;<\/title>/);
  assert.doesNotMatch(text, /<script|\u0001|\ud800/);
  assert.equal(escapeXml("a \u{1f600} b"), "a \u{1f600} b");
});
