import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestItem } from "../src/hit";
import { boxRing, rowsInRing } from "../src/region";
import type { Shared } from "../src/shared";
import type { Tile } from "../src/tiles";

const ROWS_PER_TILE = 10;

/** Tiles of ten rows in a line, each one wide: row i lies at (i / 10, 0.5). Nodes stand for a tile each. */
function strip(nTiles: number): { shared: Shared; loaded: string[] } {
  const loaded: string[] = [];
  const box = Array.from({ length: nTiles }, (_, t) => [t, 0, t + 0.9, 1]);
  const begin = box.map((_, t) => t * ROWS_PER_TILE);
  const end = begin.map((b) => b + ROWS_PER_TILE);
  const whole = { begin: [0], end: [nTiles], box: [[0, 0, nTiles, 1]] };
  const load = (_map: number, level: number, t: number): Promise<Tile> => {
    loaded.push(`${level}/${t}`);
    const n = level < 0 ? ROWS_PER_TILE : nTiles;
    const x = Float32Array.from({ length: n }, (_, i) => (level < 0 ? t + i / ROWS_PER_TILE : i + 0.45));
    const nodes = level < 0 ? null : { size: new Uint32Array(n).fill(ROWS_PER_TILE), firstRow: Uint32Array.from({ length: n }, (_, i) => i * ROWS_PER_TILE) };
    return Promise.resolve({ level, index: t, begin: level < 0 ? t * ROWS_PER_TILE : 0, n, origin: [0, 0], x, y: new Float32Array(n).fill(0.5), nodes } as unknown as Tile);
  };
  const meta = { maps: [{ tiles: { rows: { begin, end, box }, "0": whole } }] };
  return { shared: { meta, tiles: { load } } as unknown as Shared, loaded };
}

test("over clusters, rows at the line of a lasso are taken one by one, and tiles inside are not loaded", async () => {
  const { shared, loaded } = strip(100);
  const found = await rowsInRing(shared, 0, 0, boxRing([10.25, -1, 60.55, 2]));
  assert.deepEqual(found, { ranges: [[103, 606]], exact: true });
  assert.deepEqual(loaded.sort(), ["-1/10", "-1/60"]);
});

test("a line across too many tiles takes clusters by their middle, and says so", async () => {
  const { shared, loaded } = strip(100);
  const found = await rowsInRing(shared, 0, 0, boxRing([10.2, 0.2, 70.7, 0.8]));
  assert.deepEqual(found, { ranges: [[100, 710]], exact: false });
  assert.deepEqual(loaded, ["0/0"]);
});

test("where rows are drawn, they are taken one by one however many tiles there are", async () => {
  const { shared } = strip(100);
  const found = await rowsInRing(shared, 0, -1, boxRing([10.25, 0.2, 70.75, 0.8]));
  assert.deepEqual(found, { ranges: [[103, 708]], exact: true });
});

test("what is not wanted does not answer, even where it is nearest", () => {
  const tile = { level: -1, n: 3, origin: [0, 0], x: Float32Array.of(0, 1, 2), y: new Float32Array(3), nodes: null } as unknown as Tile;
  const nearest = (x: number, wanted: (i: number) => boolean) => nearestItem([tile], x, 0, 1.5, () => 0, (_, i) => wanted(i))?.at;
  assert.equal(nearest(1.1, () => true), 1);
  assert.equal(nearest(1.1, (i) => i !== 1), 2);
  assert.equal(nearest(-1, (i) => i > 0), undefined);
});
