import assert from "node:assert/strict";
import test from "node:test";
import { Cache } from "../src/cache";
import type { Condition, Filters } from "../src/filters";
import { groupRings, strips, triangulate } from "../src/gl/coasts";
import { bareNames, placeLabels, wrapName, type Candidate } from "../src/labels";
import { Layers } from "../src/layers";
import { readLink, writeLink } from "../src/link";
import type { Column, Meta } from "../src/meta";
import { countRows, insideRings, joinRanges, lastAtMost } from "../src/ranges";
import { Search } from "../src/search";
import type { Config } from "../src/source";

const COLUMNS: Column[] = [
  { key: "c0", name: "kind", kind: "category", categories: ["a", "b", "c"], counts: [1, 1, 1] },
  { key: "c1", name: "age", kind: "number", min: 0, max: 9, low: 0, high: 9, missing: 1, quality: false, time: false },
];
const KNOWN = { levels: [{ nNodes: 50 }, { nNodes: 5 }], nRows: 100, columns: COLUMNS };

const FILTERS: Filters = new Map<string, Condition>([
  ["c0", { kind: "categories", codes: [0, 255] }], ["c1", { kind: "range", low: -0.5, high: 2e-7, missing: true }], ["level.1", { kind: "categories", codes: [4] }],
]);

test("a link says what it was given", () => {
  const link = { view: { x: 1.25, y: -3.5, scale: 80 }, level: 1, color: "c0", size: "c1", time: "c1", cluster: { level: 0, index: 7 }, row: 3, compare: true, stop: 4, tears: true, turn: { yaw: 30.5, pitch: -12 }, filters: FILTERS, selection: { kind: "cluster", level: 1, index: 2 } } as const;
  assert.deepEqual(readLink(writeLink(link), KNOWN), link);
  const ranges = Array.from({ length: 200 }, (_, i): [number, number] => [2 * i, 2 * i + 1]);
  assert.ok(writeLink({ ...link, selection: { kind: "places", ranges } }).length < 200, "a long selection is left out");
});

test("links to what does not exist are left out", () => {
  const link = readLink('#x=abc&z=-1&level=9&color=<b>&size=c0&time=c7&cluster=0.50&row=100&sel={"kind":"cluster"}', KNOWN);
  assert.deepEqual(link, { view: null, level: null, color: "level", size: null, time: null, cluster: null, row: null, compare: false, stop: null, tears: false, turn: null, filters: new Map(), selection: null });
  const wild = ["c0:3", "c0:1~2", "c1:a~b", "c1:1,2", "c9:1", "level.1:5", "level.7:0", "", "c0", "c1:1~Infinity"].map((f) => `filter=${f}`).join("&");
  assert.equal(readLink(`#${wild}`, KNOWN).filters.size, 0);
  assert.deepEqual(readLink("#filter=c1:?", KNOWN).filters.get("c1"), { kind: "missing" });
});

test("ranges: joined and counted", () => {
  const ranges = joinRanges([[5, 8], [1, 3], [3, 4], [7, 10], [20, 20]]);
  assert.deepEqual(ranges, [[1, 4], [5, 10]]);
  assert.equal(countRows(ranges), 8);
  assert.deepEqual([-1, 0, 4, 5, 99].map((v) => lastAtMost([0, 5, 9], v)), [-1, 0, 0, 1, 2]);
});

const SQUARE = Float32Array.of(0, 0, 10, 0, 10, 10, 0, 10);
const HOLE = Float32Array.of(4, 4, 6, 4, 6, 6, 4, 6);
const ISLET = Float32Array.of(20, 0, 21, 0, 21, 1);

test("holes are no land, islets are", () => {
  const rings = [SQUARE, HOLE, ISLET];
  assert.deepEqual([[1, 1], [5, 5], [20.9, 0.5], [15, 5]].map(([x, y]) => insideRings(rings, x!, y!)), [true, false, true, false]);
  assert.deepEqual(groupRings(rings).map((g) => g.length), [2, 1]);
  const { place, indices } = triangulate([{ rings }]);
  let area = 0;
  for (let t = 0; t < indices.length; t += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => [place[2 * indices[t + k]!]!, place[2 * indices[t + k]! + 1]!]) as [number, number][];
    area += Math.abs((b![0]! - a![0]!) * (c![1]! - a![1]!) - (b![1]! - a![1]!) * (c![0]! - a![0]!)) / 2;
  }
  assert.ok(Math.abs(area - (100 - 4 + 0.5)) < 1e-6);
});

test("borders: two vertices per corner, degenerate rings left out", () => {
  assert.equal(strips([{ rings: [SQUARE, Float32Array.of(1, 1, 1, 1, 1, 1)] }]).side.length, 8);
});

const name = (key: string, x: number, weight: number): Candidate =>
  ({ key, name: key, x, y: 0, lines: [key], font: 12, width: 50, height: 14, weight, large: false });

test("names do not overlap; the heavier wins; what is shown stays", () => {
  const all = [name("a", 0, 1), name("b", 10, 5), name("c", 200, 1), ...[3, 4, 5, 6].map((i) => name(`d${i}`, i, 0.1))];
  const first = placeLabels(all, new Map(), 99);
  assert.equal(first[0]!.key, "b");
  for (const p of first) for (const q of first) {
    if (p === q) continue;
    const [py, qy] = [p.y + p.shift * 19, q.y + q.shift * 19];
    assert.ok(Math.abs(p.x - q.x) >= 50 || Math.abs(py - qy) >= 14);
  }
  assert.ok(first.length < all.length);
  const kept = placeLabels([name("a", 0, 4), name("b", 10, 5)], new Map([["a", 0]]), 1);
  assert.equal(kept[0]!.key, "a");
});

test("numbers that tell equal names apart are not on the map", () => {
  assert.deepEqual(bareNames(["Shirt", "Shirt (2)", "Paris (75)", "", "Shirt (12)"]), ["Shirt", "Shirt", "Paris (75)", "", "Shirt"]);
});

test("long names are cut, markup stays text", () => {
  const lines = wrapName(`<b>${"long ".repeat(5000)}`, 20);
  assert.equal(lines.length, 2);
  assert.ok(lines.every((l) => l.length <= 27) && lines[1]!.endsWith("…"));
  assert.deepEqual(wrapName("", 20), [""]);
});

test("a finer level fades in, the coarser one stays until it is here", () => {
  const layers = new Layers();
  layers.update(3, { fraction: 1, fallback: null }, 0);
  layers.update(2, { fraction: 0, fallback: 3 }, 1000);
  assert.equal(new Map(layers.drawn).get(3), 1);
  for (let t = 1000; t < 2500; t += 50) layers.update(2, { fraction: 1, fallback: null }, t);
  assert.deepEqual(layers.drawn, [[2, 1]]);
});

const bytes = (n: number) => new ArrayBuffer(n);
const wish = (name: string) => ({ name, parse: (b: ArrayBuffer) => b.byteLength });

test("files: each is asked for once, a missing one not again and again, the oldest is let go", async () => {
  const asked: string[] = [];
  const source = {
    transferred: 0,
    get: async (name: string) => {
      asked.push(name);
      if (name === "missing") throw new Error("gone");
      return bytes(10);
    },
  };
  const cache = new Cache(source, 25);
  const told: string[] = [];
  const released: unknown[] = [];
  cache.onFailure = (error) => told.push(error.message);
  cache.onRelease = (value) => released.push(value);
  assert.deepEqual(await Promise.all([cache.load(wish("a")), cache.load(wish("a"))]), [10, 10]);
  for (let i = 0; i < 3; i++) await assert.rejects(cache.load(wish("missing")), /gone/);
  await cache.load(wish("b"));
  assert.equal(cache.peek("a"), 10); // now b is the oldest
  await cache.load(wish("c"));
  assert.equal(cache.peek("b"), undefined);
  assert.deepEqual([asked, told, released], [["a", "missing", "b", "c"], ["gone"], [10]]);
});

test("wishes are met in order, a few at a time, and replaced", async () => {
  const asked: string[] = [];
  let open: (() => void)[] = [];
  const source = { transferred: 0, get: (name: string) => new Promise<ArrayBuffer>((done) => {
    asked.push(name);
    open.push(() => done(bytes(1)));
  }) };
  const cache = new Cache(source);
  cache.want("map", [..."abcdefgh"].map(wish));
  assert.equal(asked.join(""), "abcdef");
  cache.want("map", [..."xy"].map(wish)); // the view moved on
  open.forEach((finish) => finish());
  open = [];
  await new Promise((done) => setTimeout(done, 5));
  assert.equal(asked.join(""), "abcdefxy");
});

test("a page without a server looks for what the server would: without spaces around, and nothing for no letters", async () => {
  const cache = { load: () => Promise.resolve(["an ant", "a bee"]) } as unknown as Cache;
  const search = new Search({ nRows: 2, searchable: true } as Meta, cache, { transport: "static" } as Config);
  assert.deepEqual((await search.find(" Bee "))?.rows, [1]);
  assert.deepEqual(await search.find("  "), { total: 0, rows: [], complete: true });
});
