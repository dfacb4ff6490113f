import assert from "node:assert/strict";
import test from "node:test";
import { cell, line } from "../src/csv";
import { StoreError, readMeta } from "../src/meta";
import { inPlaces } from "../src/ui/dom";
import { parseNodes, parseOutlines, parsePieces, parseRows } from "../src/parse";

test("a tile of rows", () => {
  const buffer = new ArrayBuffer(4 * 8);
  new Float32Array(buffer, 0, 4).set([1, 2, 3, 4]);
  new Uint32Array(buffer, 16, 4).set([10, 11, 0, 1]);
  const tile = parseRows(buffer, 2);
  assert.deepEqual([[...tile.x], [...tile.y], [...tile.row], [...tile.parent]], [[1, 2], [3, 4], [10, 11], [0, 1]]);
  assert.throws(() => parseRows(buffer, 3), StoreError);
  assert.throws(() => parseRows(buffer, 1), StoreError);
});

test("a tile of nodes has one more bound of children than nodes", () => {
  const tile = parseNodes(new Uint32Array([0, 0, 0, 5, 100, 20, 23, 7, 9]).buffer, 1);
  assert.deepEqual([tile.size[0], tile.firstRow[0], [...tile.children], tile.parent[0], tile.cluster[0]], [5, 100, [20, 23], 7, 9]);
});

test("outlines: nodes without rings, with several", () => {
  const points = new Float32Array([0, 0, 1, 0, 1, 1, 5, 5, 6, 5, 6, 6]);
  const head = new Uint32Array([3, 1, 0, 1, 3, 3]);
  const buffer = new Uint8Array([...new Uint8Array(head.buffer), ...new Uint8Array(points.buffer)]).buffer;
  const outlines = parseOutlines(buffer);
  assert.deepEqual(outlines.map((o) => o.rings.length), [1, 0, 1]);
  assert.deepEqual([...outlines[2]!.rings[0]!], [5, 5, 6, 5, 6, 6]);
});

test("pieces: clusters that do not lie in one place, by their number", () => {
  const head = new Uint32Array([2, 4, 9, 3, 0]);
  const places = new Float32Array([1.5, -2, 0.25, 8, 0.5, 1]);
  const buffer = new Uint8Array([...new Uint8Array(head.buffer), ...new Uint8Array(places.buffer)]).buffer;
  const split = parsePieces(buffer);
  assert.deepEqual(split.get(4), { places: 3, x: 1.5, y: 0.25, radius: 0.5 });
  assert.deepEqual([split.size, split.get(9)!.places, split.get(0)], [2, 0, undefined]);
  assert.throws(() => parsePieces(buffer.slice(0, 40)), StoreError);
  assert.deepEqual([inPlaces(3), inPlaces(0), inPlaces(1), inPlaces(null), inPlaces(undefined)], [" in 3 places", ", scattered", "", "", ""]);
});

test("meta that is not one is refused with a reason", () => {
  assert.throws(() => readMeta(null), StoreError);
  assert.throws(() => readMeta({ format: "nestmap-explorer", version: 1 }), /version 1/);
  assert.throws(() => readMeta({ format: "nestmap-explorer", version: 3, levels: [], maps: [] }), /no map/);
});

test("one row in one place still has an area", () => {
  const meta = readMeta({ format: "nestmap-explorer", version: 3, n_rows: 1, levels: [], maps: [{ bounds: [2, 2, 2, 2], tiles: { rows: {} } }] });
  assert.deepEqual(meta.maps[0]!.bounds, [1, 1, 3, 3]);
  assert.equal(meta.maps[0]!.pieces.size, 0); // stores before there were pieces
});

test("the first view is the frame, where there are rows beyond it; else all of the map", () => {
  const map = { bounds: [0, 0, 90, 10], frame: [0, 0, 10, 10], beyond: [{ side: "right", n_rows: 4, box: [80, 5, 90, 6] }, { side: "up", n_rows: 1, box: [0, 0, 1, 1] }], tiles: { rows: {} } };
  const read = (own: object) => readMeta({ format: "nestmap-explorer", version: 3, n_rows: 9, levels: [], maps: [{ ...map, ...own }] }).maps[0]!;
  assert.deepEqual(read({}).frame, [0, 0, 10, 10]);
  assert.deepEqual(read({}).beyond, [{ side: "right", nRows: 4, box: [80, 5, 90, 6] }]);
  for (const own of [{ beyond: [] }, { frame: undefined }, { frame: [0, 1] }]) {
    assert.deepEqual(read(own).frame, [0, 0, 90, 10]);
    assert.deepEqual(read(own).beyond, []);
  }
});

test("CSV quotes, and defuses formulas", () => {
  assert.equal(line(["a,b", 'say "hi"', null, 1.5, "two\nlines"]), '"a,b","say ""hi""",,1.5,"two\nlines"\r\n');
  assert.equal(cell("=HYPERLINK(1)"), "'=HYPERLINK(1)");
  assert.equal(cell(-3), "-3");
});
