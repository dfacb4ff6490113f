// Sets of rows as one byte per row, computed here from columns that are held whole. One pass over the rows per condition:
// about a millisecond for a million rows.
import type { Ranges } from "../ranges";
import { MISSING } from "./bins";
import type { Rows } from "./engine";

export type Values = Float32Array | Uint8Array; // of all rows, in tree order

/** What a set still needs before it can be computed: a column, or the places of a cluster or a search. */
export function columnsOf(set: Rows): string[] {
  if (set.kind === "all" || set.kind === "any") return [...new Set(set.of.flatMap(columnsOf))];
  if (set.kind === "not") return columnsOf(set.of);
  return "column" in set ? [set.column] : [];
}

const MOST_BYTES = 64 << 20; // of masks that are kept

interface Mask {
  rows: Uint8Array;
  sums: Uint32Array | null; // sums[i]: rows of the set before place i
}

export class Masks {
  private readonly kept = new Map<string, Mask>(); // least recently used first
  private readonly names = new WeakMap<Ranges, number>();
  private named = 0;

  /** `values` answers for columns that are here, `places` for clusters and searches. */
  constructor(
    private readonly nRows: number, private readonly values: (column: string) => Values,
    private readonly places: (set: Rows) => Ranges,
  ) {}

  /** 1 for each row in the set. Not to be written to. */
  of(set: Rows): Uint8Array {
    return this.mask(set).rows;
  }

  /** How many rows of the set lie before each place. */
  sums(set: Rows): Uint32Array {
    const mask = this.mask(set);
    if (mask.sums) return mask.sums;
    const sums = new Uint32Array(this.nRows + 1);
    let sum = 0;
    for (let i = 0; i < this.nRows; i++) sums[i + 1] = sum += mask.rows[i]!;
    return (mask.sums = sums);
  }

  private mask(set: Rows): Mask {
    const name = this.name(set);
    const mask = this.kept.get(name) ?? { rows: this.compute(set), sums: null };
    this.kept.delete(name);
    this.kept.set(name, mask);
    const most = Math.max(MOST_BYTES / Math.max(this.nRows, 1), 4);
    for (const old of this.kept.keys()) {
      if (this.kept.size <= most) break;
      this.kept.delete(old);
    }
    return mask;
  }

  /** Long lists of places are told apart by which they are, not by what they hold. */
  private name(set: Rows): string {
    if (set.kind === "places") {
      if (!this.names.has(set.ranges)) this.names.set(set.ranges, this.named++);
      return `places ${this.names.get(set.ranges)}`;
    }
    if (set.kind === "all" || set.kind === "any") return `${set.kind}(${set.of.map((part) => this.name(part)).join()})`;
    return set.kind === "not" ? `not(${this.name(set.of)})` : JSON.stringify(set);
  }

  private compute(set: Rows): Uint8Array {
    const out = new Uint8Array(this.nRows);
    if (set.kind === "all") this.all(set.of, out);
    else if (set.kind === "any") for (const part of set.of) unite(out, this.of(part));
    else if (set.kind === "not") invert(out, this.of(set.of));
    else if (set.kind === "range") inRange(out, this.values(set.column), set.low, set.high);
    else if (set.kind === "categories") hasCode(out, this.values(set.column), set.codes);
    else if (set.kind === "missing") isMissing(out, this.values(set.column));
    else for (const [begin, end] of this.places(set)) out.fill(1, begin, end);
    return out;
  }

  private all(parts: readonly Rows[], out: Uint8Array): void {
    if (parts.length) out.set(this.of(parts[0]!));
    else out.fill(1);
    for (const part of parts.slice(1)) {
      const mask = this.of(part);
      for (let i = 0; i < out.length; i++) out[i]! &= mask[i]!;
    }
  }
}

function unite(out: Uint8Array, mask: Uint8Array): void {
  for (let i = 0; i < out.length; i++) out[i]! |= mask[i]!;
}

function invert(out: Uint8Array, mask: Uint8Array): void {
  for (let i = 0; i < out.length; i++) out[i] = 1 - mask[i]!;
}

/** Values are float32 here: ends are rounded alike, so that a row at an end stays inside. */
function inRange(out: Uint8Array, values: Values, lowest: number, highest: number): void {
  const [low, high] = [Math.fround(lowest), Math.fround(highest)];
  for (let i = 0; i < out.length; i++) {
    const value = values[i]!;
    out[i] = Number(value >= low) & Number(value <= high); // without a branch; NaN is in no range
  }
}

function hasCode(out: Uint8Array, values: Values, codes: readonly number[]): void {
  const wanted = new Uint8Array(256);
  for (const code of codes) wanted[code] = 1;
  for (let i = 0; i < out.length; i++) out[i] = wanted[values[i]!]!;
}

function isMissing(out: Uint8Array, values: Values): void {
  const bytes = values instanceof Uint8Array;
  for (let i = 0; i < out.length; i++) {
    const value = values[i]!;
    out[i] = (bytes ? value === MISSING : value !== value) ? 1 : 0;
  }
}
