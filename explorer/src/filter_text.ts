// Filters as they stand in the address: c0:1,3 (categories), c1:2.5~7 (a range), c1:2.5~7? (and rows without a value), c1:?
import { levelOf, type Condition } from "./filters";
import { MISSING } from "./data/bins";
import type { Column } from "./meta";

export function writeFilter(column: string, condition: Condition): string {
  if (condition.kind === "missing") return `${column}:?`;
  if (condition.kind === "categories") return `${column}:${condition.codes.join()}`;
  return `${column}:${condition.low}~${condition.high}${condition.missing ? "?" : ""}`;
}

interface Known {
  columns: readonly Column[];
  levels: readonly { nNodes: number }[];
}

/** Reads one filter; null if this map has nothing that it could be about. */
export function readFilter(text: string, known: Known): [string, Condition] | null {
  const match = /^([\w.]+):(.+)$/.exec(text);
  if (!match) return null;
  const [name, value] = [match[1]!, match[2]!];
  const column = known.columns.find((c) => c.key === name);
  const level = levelOf(name);
  const nodes = level === null ? 0 : (known.levels[level]?.nNodes ?? 0);
  const condition = column?.kind === "number" ? readNumbers(value) : readCodes(value, (code) => code < (column ? column.categories.length : nodes) || (!!column && code === MISSING));
  return condition && (column || nodes) ? [name, condition] : null;
}

function readNumbers(text: string): Condition | null {
  if (text === "?") return { kind: "missing" };
  const match = /^([^~?]+)~([^~?]+)(\??)$/.exec(text);
  const [low, high] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || !Number.isFinite(low) || !Number.isFinite(high)) return null;
  return match[3] ? { kind: "range", low, high, missing: true } : { kind: "range", low, high };
}

function readCodes(text: string, exists: (code: number) => boolean): Condition | null {
  if (!/^\d+(,\d+)*$/.test(text)) return null;
  const codes = [...new Set(text.split(",").map(Number))].filter(exists).sort((a, b) => a - b);
  return codes.length ? { kind: "categories", codes } : null;
}
