// Sets of rows as expressions: put together, kept short, read from JSON, and as ranges where no column is asked.
import { complementRanges, intersectRanges, joinRanges, type Ranges } from "../ranges";
import type { Rows } from "./engine";

/** How a new set joins what is selected already. */
export type How = "replace" | "add" | "subtract" | "intersect";

export const NO_ROW: Rows = { kind: "any", of: [] };

export function combine(before: Rows | null, next: Rows, how: How): Rows {
  if (how === "replace") return next;
  if (how === "intersect") return before ? both(before, next) : NO_ROW;
  if (how === "subtract") return before ? both(before, inverse(next)) : NO_ROW;
  return before ? either(before, next) : next;
}

export function inverse(set: Rows): Rows {
  return set.kind === "not" ? set.of : { kind: "not", of: set };
}

export const both = (a: Rows, b: Rows): Rows => joined("all", a, b);
export const either = (a: Rows, b: Rows): Rows => joined("any", a, b);

/** Nested sets of the same kind become one list, sets by hand become one, what is there twice is said once. */
function joined(kind: "all" | "any", a: Rows, b: Rows): Rows {
  const parts = [a, b].flatMap((set) => (set.kind === kind ? [...set.of] : [set]));
  const byHand = parts.filter((set) => set.kind === "places");
  const others = parts.filter((set) => set.kind !== "places");
  const merge = kind === "any" ? (p: Ranges, q: Ranges) => joinRanges([...p, ...q]) : intersectRanges;
  const rest: Rows[] = byHand.length ? [{ kind: "places", ranges: byHand.map((set) => set.ranges).reduce(merge) }] : [];
  const said = new Set<string>();
  const of = [...others, ...rest].filter((set) => {
    const text = JSON.stringify(set);
    return said.has(text) ? false : said.add(text);
  });
  return of.length === 1 ? of[0]! : { kind, of };
}

type RangeOf = (level: number, index: number) => readonly [number, number] | undefined;

/** The set as ranges of all `n` rows; null if columns or texts have to be asked for it. */
export function rangesOf(set: Rows, n: number, cluster: RangeOf): Ranges | null {
  const every: Ranges = n ? [[0, n]] : [];
  switch (set.kind) {
    case "places":
      return intersectRanges(set.ranges, every);
    case "cluster": {
      const range = cluster(set.level, set.index);
      return range ? [[range[0], range[1]]] : null;
    }
    case "not": {
      const inside = rangesOf(set.of, n, cluster);
      return inside && complementRanges(inside, n);
    }
    case "all":
    case "any": {
      const parts = set.of.map((each) => rangesOf(each, n, cluster));
      if (parts.some((part) => part === null)) return null;
      const known = parts as Ranges[];
      return set.kind === "any" ? joinRanges(known.flat()) : known.reduce(intersectRanges, every);
    }
    default:
      return null;
  }
}

/** All clusters that a set names. */
export function clustersIn(set: Rows): { level: number; index: number }[] {
  if (set.kind === "cluster") return [set];
  if (set.kind === "not") return clustersIn(set.of);
  return set.kind === "all" || set.kind === "any" ? set.of.flatMap(clustersIn) : [];
}

export interface KnownRows {
  nRows: number;
  levels: readonly { nNodes: number }[];
  columns: readonly { key: string }[];
}

const DEEPEST = 20; // sets inside one another
const MOST_PARTS = 1000; // sets in a list

/** A set from JSON that anybody may have written; null for what is none, or asks for what this map does not have. */
export function readRows(raw: unknown, known: KnownRows, deep = 0): Rows | null {
  if (!raw || typeof raw !== "object" || deep > DEEPEST) return null;
  const data = raw as Record<string, unknown>;
  const { kind } = data;
  const column = typeof data.column === "string" && known.columns.some((c) => c.key === data.column) ? data.column : null;
  if (kind === "all" || kind === "any") {
    const of = Array.isArray(data.of) && data.of.length <= MOST_PARTS ? data.of.map((each) => readRows(each, known, deep + 1)) : [null];
    return of.every((each) => each !== null) ? { kind, of } : null;
  }
  if (kind === "not") {
    const of = readRows(data.of, known, deep + 1);
    return of && { kind, of };
  }
  if (kind === "cluster") {
    const { level, index } = data;
    const nodes = typeof level === "number" ? (known.levels[level]?.nNodes ?? 0) : 0;
    return isWhole(index) && index < nodes ? { kind, level: level as number, index } : null;
  }
  if (kind === "places") return readPlaces(data.ranges, known.nRows);
  if (kind === "search") return typeof data.query === "string" ? { kind, query: data.query.slice(0, 200) } : null;
  if (column === null) return null;
  if (kind === "missing") return { kind, column };
  if (kind === "categories") return Array.isArray(data.codes) && data.codes.every(isWhole) ? { kind, column, codes: data.codes } : null;
  const isRange = kind === "range" && Number.isFinite(data.low) && Number.isFinite(data.high);
  return isRange ? { kind, column, low: data.low as number, high: data.high as number } : null;
}

function readPlaces(raw: unknown, nRows: number): Rows | null {
  if (!Array.isArray(raw)) return null;
  const isPair = (pair: unknown): pair is [number, number] => Array.isArray(pair) && pair.length === 2 && pair.every(isWhole);
  return raw.every(isPair) && raw.every(([, end]) => end <= nRows) ? { kind: "places", ranges: joinRanges(raw) } : null;
}

const isWhole = (value: unknown): value is number => typeof value === "number" && Number.isInteger(value) && value >= 0;

/** How many rows of each item are in the set, by its first row and its size. */
export function countItems(ranges: Ranges, first: (i: number) => number, size: (i: number) => number, n: number): Uint32Array {
  const counts = new Uint32Array(n);
  let at = n ? firstEndingAfter(ranges, first(0)) : 0;
  for (let i = 0; i < n; i++) {
    const begin = first(i);
    const end = begin + size(i);
    while (at < ranges.length && ranges[at]![1] <= begin) at++;
    for (let k = at; k < ranges.length && ranges[k]![0] < end; k++)
      counts[i]! += Math.min(ranges[k]![1], end) - Math.max(ranges[k]![0], begin);
  }
  return counts;
}

/** The first range that does not end before a row. */
function firstEndingAfter(ranges: Ranges, row: number): number {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle]![1] <= row) low = middle + 1;
    else high = middle;
  }
  return low;
}
