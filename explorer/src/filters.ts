// The filters of the page: at most one per column, all of them hold at once. Every change of them is a function here.
import type { Rows } from "./data/engine";

/** What a column lets through. "only" and "hide" of a category are both such a list of codes: they cannot contradict. */
export type Condition =
  | { kind: "range"; low: number; high: number; missing?: boolean } // missing: rows without a value pass, too
  | { kind: "categories"; codes: readonly number[] }
  | { kind: "missing" };

export type Filters = ReadonlyMap<string, Condition>; // by the key of the column

export const NO_FILTERS: Filters = new Map();

export function setFilter(filters: Filters, column: string, condition: Condition | null): Filters {
  const next = new Map(filters);
  if (condition) next.set(column, condition);
  else next.delete(column);
  return next;
}

/** Shows or hides a category among `all` codes of its column; the last one that is shown cannot be hidden: then all are. */
export function toggleCategory(filters: Filters, column: string, code: number, all: readonly number[]): Filters {
  const now = filters.get(column);
  const shown = new Set(now?.kind === "categories" ? now.codes : all);
  if (!shown.delete(code)) shown.add(code);
  return setCategories(filters, column, [...shown], all);
}

/** Only this category; once more: all. */
export function onlyCategory(filters: Filters, column: string, code: number): Filters {
  const now = filters.get(column);
  const already = now?.kind === "categories" && now.codes.length === 1 && now.codes[0] === code;
  return setFilter(filters, column, already ? null : { kind: "categories", codes: [code] });
}

function setCategories(filters: Filters, column: string, codes: readonly number[], all: readonly number[]): Filters {
  const everything = !codes.length || codes.length >= all.length;
  return setFilter(filters, column, everything ? null : { kind: "categories", codes: [...codes].sort((a, b) => a - b) });
}

/** A click on a category: the first one alone, further ones with it, a second click takes it away again. */
export function pickCategory(filters: Filters, column: string, code: number, all: readonly number[]): Filters {
  return filters.get(column)?.kind === "categories" ? toggleCategory(filters, column, code, all) : onlyCategory(filters, column, code);
}

/** A click on the rows without a value: beside a range they come along or not; without one, only they are left. */
export function pickMissing(filters: Filters, column: string): Filters {
  const now = filters.get(column);
  if (now?.kind !== "range") return setFilter(filters, column, now?.kind === "missing" ? null : { kind: "missing" });
  const { low, high } = now;
  return setFilter(filters, column, now.missing ? { kind: "range", low, high } : { kind: "range", low, high, missing: true });
}

const LEVEL = "level.";

/** Clusters of a level are filtered like categories of a column of this name. */
export const levelColumn = (level: number): string => `${LEVEL}${level}`;

/** The level that a name stands for; null for columns. */
export function levelOf(column: string): number | null {
  return column.startsWith(LEVEL) ? Number(column.slice(LEVEL.length)) : null;
}

/** The rows that pass all filters, but for that of one column: its own chart shows what it takes away. */
export function passing(filters: Filters, except: string | null = null): Rows {
  const of = [...filters].filter(([column]) => column !== except).map(([column, condition]) => asRows(column, condition));
  return of.length === 1 ? of[0]! : { kind: "all", of };
}

function asRows(column: string, condition: Condition): Rows {
  const level = levelOf(column);
  if (level !== null) {
    const of = condition.kind === "categories" ? condition.codes.map((index): Rows => ({ kind: "cluster", level, index })) : [];
    return { kind: "any", of };
  }
  if (condition.kind === "missing") return { kind: "missing", column };
  if (condition.kind === "categories") return { kind: "categories", column, codes: condition.codes };
  const range: Rows = { kind: "range", column, low: condition.low, high: condition.high };
  return condition.missing ? { kind: "any", of: [range, { kind: "missing", column }] } : range;
}
