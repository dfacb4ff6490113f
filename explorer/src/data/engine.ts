// Questions about sets of rows, and who answers them: the server from its column store, or the page from columns that
// it loads. Rows are places in the tree order, as everywhere in the page.
import type { Ranges } from "../ranges";

/** A set of rows, as JSON that both sides understand. An empty "all" holds every row, an empty "any" none. */
export type Rows =
  | { kind: "all"; of: readonly Rows[] }
  | { kind: "any"; of: readonly Rows[] }
  | { kind: "not"; of: Rows }
  | { kind: "range"; column: string; low: number; high: number } // low <= value <= high; missing values are not in it
  | { kind: "categories"; column: string; codes: readonly number[] } // 255: missing, or the rest beyond 254
  | { kind: "missing"; column: string }
  | { kind: "cluster"; level: number; index: number }
  | { kind: "places"; ranges: Ranges } // lasso, box, rows by hand
  | { kind: "search"; query: string };

export const EVERY_ROW: Rows = { kind: "all", of: [] };

/** How many rows of a set fall into each bin of a column: for numbers the bins of its chart, for categories its codes. */
export interface Chart {
  column: string;
  counts: readonly number[];
  missing: number;
}

export interface Charts {
  count: number; // rows in the set
  charts: readonly Chart[];
}

export interface Page {
  rows: Uint32Array; // places, in the asked order
  total: number;
}

export interface Order {
  column: string | null; // null: tree order
  descending: boolean;
}

/** What a set holds that other rows do not, and rows to look at. */
export interface Summary {
  count: number;
  traits: readonly string[];
  clusters: readonly { level: number; index: number; count: number }[]; // most rows first
  typical: readonly number[];
  odd: readonly number[];
}

export interface Engine {
  /** Rows of the set, and for each column how they are distributed. */
  charts(set: Rows, columns: readonly string[]): Promise<Charts>;
  /** For the items of a tile: how many of the rows below each are in the set (for rows 0 or 1). */
  marks(set: Rows, level: number, begin: number, end: number): Promise<Uint32Array>;
  /** Some rows of the set, in an order: the window of a table. */
  page(set: Rows, order: Order, offset: number, limit: number): Promise<Page>;
  /** The set as sorted ranges, where it has at most `most` of them; else null. */
  ranges(set: Rows, most: number): Promise<Ranges | null>;
  /** The set against `other` (all other rows if null). */
  summary(set: Rows, other: Rows | null): Promise<Summary>;
}
