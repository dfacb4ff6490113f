// A window on the rows of a set in an order: which row stands at a position, asked for page by page.
import { countRows, type Ranges } from "../ranges";
import type { Engine, Order, Rows } from "./engine";

const PAGE = 200; // rows that are asked for at once
const MOST_PAGES = 100; // held

export interface RowWindow {
  readonly total: number | null; // null: not yet known
  /** The row at a position; undefined while it is on its way. */
  at(i: number): number | undefined;
}

/** Rows of a set in tree order. */
export function rowWindow(engine: Engine, set: Rows, ranges: Ranges | null, arrived: () => void, failed: (error: unknown) => void): RowWindow {
  return ranges ? new RangeWindow(ranges) : new PagedWindow(engine, set, { column: null, descending: false }, arrived, failed);
}

/** Ranges in tree order, or backwards: nobody has to be asked. */
export class RangeWindow implements RowWindow {
  readonly total: number;
  private readonly before: Float64Array; // rows in the ranges before each

  constructor(private readonly ranges: Ranges, private readonly backwards = false) {
    this.total = countRows(ranges);
    this.before = new Float64Array(ranges.length);
    for (let k = 1; k < ranges.length; k++) this.before[k] = this.before[k - 1]! + ranges[k - 1]![1] - ranges[k - 1]![0];
  }

  at(i: number): number | undefined {
    if (i < 0 || i >= this.total) return undefined;
    const n = this.backwards ? this.total - 1 - i : i;
    let [low, high] = [0, this.ranges.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.before[middle]! <= n) low = middle;
      else high = middle - 1;
    }
    return this.ranges[low]![0] + n - this.before[low]!;
  }
}

/** Pages of an engine's answer; the one used longest ago goes first. */
export class PagedWindow implements RowWindow {
  total: number | null = null;
  private readonly pages = new Map<number, Uint32Array | null>(); // null: on its way
  private closed = false;

  constructor(
    private readonly engine: Engine, private readonly set: Rows, private readonly order: Order,
    private readonly arrived: () => void, private readonly failed: (error: unknown) => void,
  ) {
    this.ask(0);
  }

  /** Answers that come from now on are of no use. */
  close(): void {
    this.closed = true;
  }

  at(i: number): number | undefined {
    if (this.total !== null && (i < 0 || i >= this.total)) return undefined;
    const p = Math.floor(i / PAGE);
    const page = this.pages.get(p);
    if (page === undefined) this.ask(p);
    if (!page) return undefined;
    this.pages.delete(p);
    this.pages.set(p, page);
    return page[i - p * PAGE];
  }

  private ask(p: number): void {
    this.pages.set(p, null);
    this.engine.page(this.set, this.order, p * PAGE, PAGE).then(({ rows, total }) => {
      if (this.closed) return;
      this.total = total;
      this.pages.set(p, rows);
      for (const old of this.pages.keys()) {
        if (this.pages.size <= MOST_PAGES) break;
        this.pages.delete(old);
      }
      this.arrived();
    }, (error: unknown) => this.closed || this.failed(error));
  }
}
