import assert from "node:assert/strict";
import { test } from "node:test";
import { advance, onScale, withEnds } from "../src/playing";

const WHOLE = { low: 0, high: 100 };

test("a window moves on, keeps its width, and ends at the end", () => {
  assert.deepEqual(advance({ low: 0, high: 10 }, WHOLE, 5, false), { low: 5, high: 15 });
  assert.deepEqual(advance({ low: 88, high: 98 }, WHOLE, 5, false), { low: 90, high: 100 });
  assert.equal(advance({ low: 90, high: 100 }, WHOLE, 5, false), null);
  assert.deepEqual(advance({ low: 0, high: 10 }, WHOLE, 5, true), { low: 0, high: 15 });
});

test("at the ends of the scale the window takes what lies beyond", () => {
  const column = { key: "c", name: "c", kind: "number", min: -50, max: 900, low: 0, high: 100, missing: 0, quality: false, time: false } as const;
  assert.deepEqual(withEnds({ low: 0, high: 10 }, column), { low: -50, high: 10 });
  assert.deepEqual(withEnds({ low: 90, high: 100 }, column), { low: 90, high: 900 });
  assert.deepEqual(onScale({ low: -50, high: 10 }, WHOLE), { low: 0, high: 10 });
});
