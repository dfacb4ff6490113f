import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine, Order, Rows } from "../src/data/engine";
import { PagedWindow, RangeWindow } from "../src/data/window";
import { Scroll } from "../src/ui/scroll";

test("a window on ranges: rows at positions, also backwards", () => {
  const ranges: [number, number][] = [[2, 5], [9, 10], [20, 22]];
  const rows = [2, 3, 4, 9, 20, 21];
  const there = new RangeWindow(ranges);
  const back = new RangeWindow(ranges, true);
  assert.deepEqual(rows.map((_, i) => there.at(i)), rows);
  assert.deepEqual(rows.map((_, i) => back.at(i)), [...rows].reverse());
  assert.deepEqual([there.at(-1), there.at(6), new RangeWindow([]).at(0)], [undefined, undefined, undefined]);
});

/** Answers with every second row of many, descending or not, and counts how often it is asked. */
class FakeEngine implements Engine {
  asked: [number, number][] = [];
  constructor(private readonly total: number) {}

  page(_set: Rows, order: Order, offset: number, limit: number) {
    this.asked.push([offset, limit]);
    const n = Math.max(Math.min(limit, this.total - offset), 0);
    const row = (i: number) => 2 * (order.descending ? this.total - 1 - i : i);
    return Promise.resolve({ rows: Uint32Array.from({ length: n }, (_, k) => row(offset + k)), total: this.total });
  }

  charts = () => Promise.reject(new Error("not asked for"));
  marks = () => Promise.reject(new Error("not asked for"));
  ranges = () => Promise.reject(new Error("not asked for"));
  summary = () => Promise.reject(new Error("not asked for"));
}

const EVERY: Rows = { kind: "all", of: [] };

test("a window on an engine asks for pages once, and knows the rest", async () => {
  const engine = new FakeEngine(1_000_000);
  let arrived = 0;
  const rows = new PagedWindow(engine, EVERY, { column: "c0", descending: true }, () => arrived++, assert.fail);
  assert.equal(rows.at(0), undefined);
  assert.equal(rows.total, null);
  await Promise.resolve().then(() => undefined);
  assert.equal(rows.total, 1_000_000);
  assert.equal(rows.at(3), 2 * (1_000_000 - 4));
  assert.equal(rows.at(999_999), undefined);
  await Promise.resolve().then(() => undefined);
  assert.equal(rows.at(999_999), 0);
  rows.at(5);
  assert.equal(engine.asked.length, 2);
  assert.equal(arrived, 2);
});

test("an answer for a window that is closed changes nothing", async () => {
  const rows = new PagedWindow(new FakeEngine(5), EVERY, { column: null, descending: false }, () => assert.fail("told"), assert.fail);
  rows.close();
  await Promise.resolve().then(() => undefined);
  assert.equal(rows.total, null);
});

test("few lines scroll pixel by pixel", () => {
  const scroll = new Scroll(32);
  scroll.resize(100, 320);
  assert.equal(scroll.height, 3200);
  scroll.dragTo(48);
  assert.equal(scroll.top, 1.5);
  assert.deepEqual(scroll.seen, [1, 12]);
  assert.equal(scroll.pixels, 48);
  scroll.dragTo(1e9);
  assert.deepEqual(scroll.seen, [90, 100]);
});

test("of ten million lines each can be reached, and the bar stays within what browsers bear", () => {
  const scroll = new Scroll(32);
  const n = 10_000_000;
  scroll.resize(n, 320);
  assert.ok(scroll.isScaled && scroll.height <= 8_000_000);
  for (const i of [0, 1, 4_999_999, n - 11, n - 1]) {
    scroll.reveal(i);
    const [first, last] = scroll.seen;
    assert.ok(first <= i && i < last, `${i} is in ${first}…${last}`);
    assert.ok(scroll.pixels >= 0 && scroll.pixels <= scroll.height - 320);
  }
  scroll.dragTo(scroll.height - 320);
  assert.equal(scroll.seen[1], n);
  scroll.dragTo(0);
  scroll.moveTo(scroll.top + 3); // a wheel moves by lines, not by shares
  assert.equal(scroll.top, 3);
});

test("a line in sight is not moved", () => {
  const scroll = new Scroll(32);
  scroll.resize(100, 320);
  scroll.moveTo(20);
  scroll.reveal(25);
  assert.equal(scroll.top, 20);
  scroll.reveal(30);
  assert.equal(scroll.top, 21);
  scroll.reveal(3);
  assert.equal(scroll.top, 3);
});
