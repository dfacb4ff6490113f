import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rows } from "../src/data/engine";
import { combine, countItems, inverse, rangesOf, readRows } from "../src/data/sets";
import { complementRanges, intersectRanges, type Ranges } from "../src/ranges";
import { boxAgainst } from "../src/region";
import { Selecting } from "../src/selecting";
import type { Shared } from "../src/shared";
import { Store, type State } from "../src/state";

const places = (...ranges: [number, number][]): Rows => ({ kind: "places", ranges });
const cluster: Rows = { kind: "cluster", level: 1, index: 2 };
const none = () => undefined;

function members(ranges: Ranges | null, n: number): boolean[] {
  assert.ok(ranges);
  return Array.from({ length: n }, (_, i) => ranges.some(([a, b]) => i >= a && i < b));
}

test("sets join as sets of rows do, in any order of steps", () => {
  const n = 40;
  const random = (seed: number) => {
    const marks = Array.from({ length: n }, (_, i) => Math.sin(seed * 12.9898 + i * 78.233) > 0.2);
    return { marks, set: places(...marks.flatMap((in_, i): [number, number][] => (in_ ? [[i, i + 1]] : []))) };
  };
  let now: Rows | null = null;
  let truth = Array<boolean>(n).fill(false);
  for (const [step, how] of (["replace", "add", "subtract", "add", "intersect", "subtract", "add"] as const).entries()) {
    const { marks, set } = random(step + 1);
    now = combine(now, set, how);
    truth = truth.map((old, i) => (how === "replace" ? marks[i]! : how === "add" ? old || marks[i]! : how === "subtract" ? old && !marks[i]! : old && marks[i]!));
    assert.deepEqual(members(rangesOf(now, n, none), n), truth, `${step} ${how}`);
    assert.deepEqual(members(rangesOf(inverse(now), n, none), n), truth.map((each) => !each));
  }
});

test("sets stay short", () => {
  assert.deepEqual(combine(places([0, 2]), places([1, 4]), "add"), places([0, 4]));
  assert.deepEqual(combine(cluster, cluster, "add"), cluster);
  assert.deepEqual(inverse(inverse(cluster)), cluster);
  const three = combine(combine(cluster, places([0, 1]), "add"), { kind: "search", query: "x" }, "add");
  assert.equal(three.kind === "any" && three.of.length, 3);
});

test("nothing is selected: what is taken out of it is nothing, what is added is the set", () => {
  assert.deepEqual(rangesOf(combine(null, cluster, "subtract"), 9, () => [2, 4]), []);
  assert.deepEqual(rangesOf(combine(null, cluster, "intersect"), 9, () => [2, 4]), []);
  assert.deepEqual(combine(null, cluster, "add"), cluster);
});

test("ranges of what needs columns or texts are not made up", () => {
  assert.equal(rangesOf({ kind: "all", of: [cluster, { kind: "search", query: "x" }] }, 9, () => [2, 4]), null);
  assert.equal(rangesOf(cluster, 9, none), null);
  assert.deepEqual(rangesOf({ kind: "all", of: [] }, 9, none), [[0, 9]]);
  assert.deepEqual(rangesOf({ kind: "all", of: [] }, 0, none), []);
});

test("ranges: shared and other rows", () => {
  assert.deepEqual(intersectRanges([[0, 5], [8, 10]], [[3, 9]]), [[3, 5], [8, 9]]);
  assert.deepEqual(complementRanges([[0, 2], [5, 6]], 9), [[2, 5], [6, 9]]);
  assert.deepEqual(complementRanges([], 3), [[0, 3]]);
});

test("of a node as many rows are marked as are in the set", () => {
  const sizes = [4, 3, 3];
  const counts = countItems([[1, 2], [3, 5], [9, 10]], (i) => [0, 4, 7][i]!, (i) => sizes[i]!, 3);
  assert.deepEqual([...counts], [2, 1, 1]);
});

test("sets that anybody may have written are checked", () => {
  const known = { nRows: 10, levels: [{ nNodes: 5 }, { nNodes: 3 }], columns: [{ key: "c0" }] };
  const good: Rows[] = [
    cluster, places([0, 3], [5, 10]), { kind: "search", query: "x" }, { kind: "missing", column: "c0" },
    { kind: "range", column: "c0", low: -1, high: 2 }, { kind: "all", of: [{ kind: "not", of: cluster }] },
  ];
  for (const set of good) assert.deepEqual(readRows(JSON.parse(JSON.stringify(set)), known), set);
  const bad: unknown[] = [
    null, 3, {}, { kind: "cluster", level: 1, index: 3 }, { kind: "cluster", level: 7, index: 0 }, { kind: "places", ranges: [[0, 11]] },
    { kind: "places", ranges: [[0]] }, { kind: "missing", column: "__proto__" }, { kind: "range", column: "c0", low: "a", high: 2 },
    { kind: "all", of: [cluster, null] }, { kind: "not" },
  ];
  for (const set of bad) assert.equal(readRows(set, known), null, JSON.stringify(set));
  let deep: unknown = cluster;
  for (let i = 0; i < 100; i++) deep = { kind: "not", of: deep };
  assert.equal(readRows(deep, known), null);
});

test("a box lies inside a ring, outside of it, or across its line", () => {
  const ring = [0, 0, 10, 0, 10, 10, 5, 2, 0, 10]; // a notch from above
  assert.equal(boxAgainst(ring, [1, 0.5, 2, 1]), "inside");
  assert.equal(boxAgainst(ring, [4.5, 5, 5.5, 6]), "outside");
  assert.equal(boxAgainst(ring, [4, 1, 6, 3]), "across");
  assert.equal(boxAgainst(ring, [-5, -5, 20, 20]), "across");
  assert.equal(boxAgainst(ring, [20, 20, 30, 30]), "outside");
});

test("of a selection that nobody answers for, the rows of the one before are not shown", async () => {
  const store = new Store({ selection: null, chosen: null, byCluster: false } as unknown as State);
  const engine = { ranges: () => Promise.reject(new Error("no answer")) };
  const told: unknown[] = [];
  const selecting = new Selecting({ store, engine, meta: { nRows: 9 }, tree: {} } as unknown as Shared, (error) => told.push(error));
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
  selecting.take(places([2, 5]), "replace");
  await settle();
  assert.equal(store.now.chosen?.count, 3);
  selecting.take({ kind: "search", query: "x" }, "replace");
  await settle();
  assert.deepEqual([store.now.chosen, told.length], [null, 1]);
});
