import assert from "node:assert/strict";
import test from "node:test";
import { coarserLevel, countInside, drawnLevel, focusLevel, pointRadius, roomyRadius, tileOf, visibleTiles } from "../src/choose";
import { ROWS, readMeta, type Tiles } from "../src/meta";

function row(n: number, each: number): Tiles { // n tiles side by side
  const at = [...Array(n).keys()];
  return {
    begin: at.map((i) => i * each), end: at.map((i) => (i + 1) * each),
    origin: at.map((i) => [i + 0.5, 0.5]), box: at.map((i) => [i, 0, i + 0.9, 1]),
  };
}

const META = readMeta({
  format: "nestmap-explorer", version: 3, title: "t", n_rows: 80000, label_level: 1, levels: [{ n_nodes: 8000 }, { n_nodes: 200 }, { n_nodes: 6 }],
  maps: [{ name: "m", layout: "islands", bounds: [0, 0, 10, 1], tiles: { rows: row(10, 8000), "0": row(10, 800), "1": row(1, 200), "2": row(1, 6) } }],
});
const MAP = META.maps[0]!;

test("visible tiles, nearest to the centre first", () => {
  assert.deepEqual(visibleTiles(MAP.tiles.rows!, [2.2, 0, 4.8, 1]), [3, 4, 2]);
  assert.deepEqual(visibleTiles(MAP.tiles.rows!, [20, 0, 21, 1]), []);
});

test("rows when they fit the budget, else nodes, else the top", () => {
  const all: [number, number, number, number] = [0, 0, 10, 1];
  assert.equal(drawnLevel(MAP, 3, all, { rows: 80000, nodes: 100 }), ROWS);
  assert.equal(drawnLevel(MAP, 3, all, { rows: 79999, nodes: 8000 }), 0);
  assert.equal(drawnLevel(MAP, 3, all, { rows: 1, nodes: 300 }), 1);
  assert.equal(drawnLevel(MAP, 3, all, { rows: 1, nodes: 1 }), 2);
  assert.equal(drawnLevel(MAP, 3, [3, 0, 3.5, 1], { rows: 8000, nodes: 1 }), ROWS);
});

test("zooming in makes the focus finer, never coarser", () => {
  const levels = [1, 10, 100, 1000, 1e5].map((scale) => focusLevel(META, MAP, scale, 100, () => true));
  assert.deepEqual(levels, [2, 2, 2, 1, 0]);
  assert.equal(focusLevel(META, MAP, 1e5, 100, (k) => k > 0), 1);
});

test("the level of large names has clearly fewer nodes", () => {
  assert.equal(coarserLevel(META, 0), 1);
  assert.equal(coarserLevel(META, 2), null);
});

test("the tile of an item", () => {
  const { rows } = MAP.tiles as { rows: Tiles };
  for (const item of [0, 7999, 8000, 79999]) {
    const t = tileOf(rows, item);
    assert.ok(rows.begin[t]! <= item && item < rows.end[t]!);
  }
});

test("points grow with the zoom within bounds", () => {
  const sizes = [0.01, 1, 5, 20, 1000].map(pointRadius);
  assert.ok(sizes.every((r, i) => i === 0 || r >= sizes[i - 1]!));
  assert.ok(sizes[0]! >= 1 && sizes[4]! <= 10);
});

test("discs that stand in for others never take more than the view", () => {
  const tile = { n: 4, origin: [100, 0] as const, x: Float32Array.of(0, 1, 2, 9), y: Float32Array.of(0, 1, 2, 3) };
  assert.equal(countInside([tile, tile], [99, -1, 102, 4]), 6);
  for (const count of [0, 1, 50, 5000]) {
    const radius = roomyRadius(count, { width: 800, height: 500 });
    assert.ok(count * Math.PI * radius ** 2 <= 800 * 500 * 1.0001 && radius > 1);
  }
});
