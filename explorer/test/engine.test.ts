import assert from "node:assert/strict";
import { test } from "node:test";
import { binOf, binsOf, codesOf } from "../src/data/bins";
import type { Engine, Rows } from "../src/data/engine";
import { Marks } from "../src/data/marks";
import { Masks, columnsOf } from "../src/data/masks";
import { sortedRows } from "../src/data/sorting";
import type { NumberColumn } from "../src/meta";

const AGE = Float32Array.of(10, 20, NaN, 40, 50, 20);
const KIND = Uint8Array.of(0, 1, 1, 255, 2, 0);
const COLUMN: NumberColumn = { key: "age", name: "age", kind: "number", min: 0, max: 100, low: 2.5, high: 50.5, missing: 0, quality: false, time: false };
const range: Rows = { kind: "range", column: "age", low: 20, high: 40 };
const kinds: Rows = { kind: "categories", column: "kind", codes: [1, 255] };

function masks(): Masks {
  return new Masks(6, (key) => (key === "age" ? AGE : KIND), () => [[0, 2]]);
}

const rowsOf = (set: Rows): number[] => [...masks().of(set)].flatMap((yes, i) => (yes ? [i] : []));

test("sets of rows are computed exactly", () => {
  assert.deepEqual(rowsOf(range), [1, 3, 5]);
  assert.deepEqual(rowsOf(kinds), [1, 2, 3]);
  assert.deepEqual(rowsOf({ kind: "all", of: [range, kinds] }), [1, 3]);
  assert.deepEqual(rowsOf({ kind: "any", of: [range, kinds] }), [1, 2, 3, 5]);
  assert.deepEqual(rowsOf({ kind: "not", of: range }), [0, 2, 4]);
  assert.deepEqual(rowsOf({ kind: "missing", column: "age" }), [2]);
  assert.deepEqual(rowsOf({ kind: "missing", column: "kind" }), [3]);
  assert.deepEqual(rowsOf({ kind: "cluster", level: 0, index: 0 }), [0, 1]);
  assert.deepEqual(rowsOf({ kind: "all", of: [] }), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(rowsOf({ kind: "any", of: [] }), []);
  assert.deepEqual([...masks().sums(range)], [0, 0, 1, 1, 2, 2, 3]);
  assert.deepEqual(columnsOf({ kind: "all", of: [range, { kind: "not", of: kinds }, range] }), ["age", "kind"]);
});

test("a row at the end of a range is in it, though its value is rounded here", () => {
  const masks = new Masks(2, () => Float32Array.of(0.1, 0.7), () => []);
  assert.deepEqual([...masks.of({ kind: "range", column: "x", low: 0.1, high: 0.7 })], [1, 1]);
});

test("two lists of places are two sets", () => {
  const of = (ranges: [number, number][]): Rows => ({ kind: "places", ranges });
  const both = new Masks(6, () => AGE, (set) => (set.kind === "places" ? set.ranges : []));
  assert.deepEqual([...both.of(of([[0, 1]]))], [1, 0, 0, 0, 0, 0]);
  assert.deepEqual([...both.of(of([[2, 4]]))], [0, 0, 1, 1, 0, 0]);
});

test("bins take every value, also beyond the scale", () => {
  const bins = binsOf(COLUMN);
  assert.deepEqual(bins, { n: 48, start: 2.5, step: 1 });
  assert.deepEqual([-5, 2.5, 3.49, 3.5, 50.5, 900].map((v) => binOf(bins, v)), [0, 0, 0, 1, 47, 47]);
  const years = binsOf({ ...COLUMN, low: 1990, high: 2010, min: 1900, max: 2020 });
  assert.deepEqual(years, { n: 21, start: 1989.5, step: 1 });
  assert.deepEqual([1900, 1990, 1991, 2010, 2020].map((v) => binOf(years, v)), [0, 0, 1, 20, 20]);
  assert.equal(binOf(binsOf({ ...COLUMN, low: 7, high: 7 }), 7), 0);
  assert.deepEqual([...codesOf(COLUMN, Float32Array.of(2.5, NaN, 60))], [0, 255, 47]);
});

test("rows without a value are last in both orders, equal ones the other way round", () => {
  assert.deepEqual([...sortedRows(AGE, false)], [0, 1, 5, 3, 4, 2]);
  assert.deepEqual([...sortedRows(AGE, true)], [4, 3, 5, 1, 0, 2]);
});

interface Asked { set: Rows; begin: number; end: number; answer: () => void }

function slowEngine(asked: Asked[]): Engine {
  const marks = (set: Rows, _level: number, begin: number, end: number): Promise<Uint32Array> =>
    new Promise((resolve) => asked.push({ set, begin, end, answer: () => resolve(Uint32Array.from({ length: end - begin }, (_, i) => begin + i)) }));
  return { marks } as unknown as Engine;
}

const tile = (index: number) => ({ level: -1, index, begin: 4 * index, n: 4 });
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("marks: neighbouring tiles in one question, once each; old answers stand in; old questions are dropped", async () => {
  const asked: Asked[] = [];
  let arrivals = 0;
  const marks = new Marks(slowEngine(asked), () => arrivals++, assert.fail);
  assert.equal(marks.of("filter", tile(0)), undefined);
  marks.look("filter", range);
  for (const i of [0, 1, 3]) assert.equal(marks.of("filter", tile(i)), undefined);
  await settle();
  assert.deepEqual(asked.map((q) => [q.begin, q.end]), [[0, 8]]);
  assert.ok(marks.busy);
  marks.look("filter", kinds); // the question about tile 3 is not asked any more
  asked[0]!.answer();
  await settle();
  assert.equal(asked.length, 1);
  assert.equal(marks.of("filter", tile(0)), undefined, "the answer came too late for the set of before");
  await settle();
  asked[1]!.answer();
  await settle();
  assert.deepEqual([asked[1]!.set, [...marks.of("filter", tile(0))!]], [kinds, [0, 1, 2, 3]]);
  marks.look("filter", { kind: "not", of: range });
  assert.deepEqual([...marks.of("filter", tile(0))!], [0, 1, 2, 3], "until the new answer is here");
  marks.look("filter", range);
  assert.deepEqual([...marks.of("filter", tile(1))!], [4, 5, 6, 7], "kept from before");
  marks.look("filter", null);
  assert.equal(marks.of("filter", tile(0)), undefined);
  assert.ok(arrivals >= 2);
});
