import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_FILTERS, levelColumn, onlyCategory, passing, pickCategory, pickMissing, setFilter, toggleCategory } from "../src/filters";

const ALL = [0, 1, 2];

test("only and hide of a category cannot contradict", () => {
  const hidden = toggleCategory(NO_FILTERS, "kind", 1, ALL);
  assert.deepEqual(hidden.get("kind"), { kind: "categories", codes: [0, 2] });
  const only = onlyCategory(hidden, "kind", 1);
  assert.deepEqual(only.get("kind"), { kind: "categories", codes: [1] });
  assert.equal(onlyCategory(only, "kind", 1).size, 0);
  assert.equal(toggleCategory(only, "kind", 1, ALL).size, 0, "nothing left to show: all are");
  assert.equal(toggleCategory(hidden, "kind", 1, ALL).size, 0);
});

test("a column's own chart does not see its own filter", () => {
  const both = setFilter(setFilter(NO_FILTERS, "year", { kind: "range", low: 1990, high: 2000, missing: true }), "kind", { kind: "categories", codes: [2] });
  assert.deepEqual(passing(both, "year"), { kind: "categories", column: "kind", codes: [2] });
  assert.deepEqual(passing(both, "kind"), {
    kind: "any", of: [{ kind: "range", column: "year", low: 1990, high: 2000 }, { kind: "missing", column: "year" }],
  });
  assert.deepEqual(passing(NO_FILTERS), { kind: "all", of: [] });
});

test("clicks on bars gather categories, and give all back when none or all are left", () => {
  const one = pickCategory(NO_FILTERS, "kind", 2, ALL);
  const two = pickCategory(one, "kind", 0, ALL);
  assert.deepEqual(two.get("kind"), { kind: "categories", codes: [0, 2] });
  assert.equal(pickCategory(two, "kind", 1, ALL).size, 0);
  assert.equal(pickCategory(one, "kind", 2, ALL).size, 0);
});

test("rows without a value: alone, or beside a range", () => {
  const alone = pickMissing(NO_FILTERS, "year");
  assert.deepEqual(passing(alone), { kind: "missing", column: "year" });
  assert.equal(pickMissing(alone, "year").size, 0);
  const range = setFilter(NO_FILTERS, "year", { kind: "range", low: 1, high: 2 });
  const both = pickMissing(range, "year");
  assert.deepEqual(both.get("year"), { kind: "range", low: 1, high: 2, missing: true });
  assert.deepEqual(pickMissing(both, "year").get("year"), { kind: "range", low: 1, high: 2 });
});

test("clusters of a level are filtered like categories", () => {
  const chosen = pickCategory(NO_FILTERS, levelColumn(3), 7, [6, 7, 8]);
  assert.deepEqual(passing(chosen), { kind: "any", of: [{ kind: "cluster", level: 3, index: 7 }] });
});
