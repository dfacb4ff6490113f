import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_FILTERS, onlyCategory, passing, setFilter, toggleCategory } from "../src/filters";

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
