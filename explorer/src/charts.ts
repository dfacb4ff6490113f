// The charts of the rail, kept up to date with the filters: each column under the filters of all others. One question at a
// time; while it is answered, only the last state that came in waits.
import type { Chart, Engine } from "./data/engine";
import { EVERY_ROW, type Rows } from "./data/engine";
import { passing, type Filters } from "./filters";

const KEPT = 1000; // charts, for filters that were there before: more than any rail has at once, each of some 2 kB

export interface ChartPair {
  all: Chart;
  some: Chart; // of the rows that the other columns let through
}

export class ChartBook {
  count: number | null = null; // rows that pass all filters
  busy = false;
  private readonly kept = new Map<string, { count: number; chart: Chart | null }>();
  private next: (() => Promise<void>) | null = null;

  constructor(private readonly engine: Pick<Engine, "charts">, private readonly done: (charts: ReadonlyMap<string, ChartPair>) => void, private readonly failed: (error: unknown) => void) {}

  /** Charts of these columns under these filters, as soon as there is time for them. */
  ask(filters: Filters, columns: readonly string[]): void {
    this.next = () => this.answer(filters, columns);
    if (!this.busy) void this.work();
  }

  private async work(): Promise<void> {
    this.busy = true;
    while (this.next) {
      const step = this.next;
      this.next = null;
      await step().catch(this.failed);
    }
    this.busy = false;
  }

  private async answer(filters: Filters, columns: readonly string[]): Promise<void> {
    const all = await this.charts(EVERY_ROW, columns);
    const open = columns.filter((key) => !filters.has(key));
    const some = await this.charts(passing(filters), open);
    for (const key of columns) if (filters.has(key)) for (const [name, chart] of await this.charts(passing(filters, key), [key])) some.set(name, chart);
    this.count = this.kept.get(`${JSON.stringify(passing(filters))} `)!.count;
    this.done(new Map(columns.map((key) => [key, { all: all.get(key)!, some: some.get(key)! }])));
  }

  /** Charts of one set; those that are known are not asked for again. */
  private async charts(set: Rows, columns: readonly string[]): Promise<Map<string, Chart>> {
    const name = JSON.stringify(set);
    const unknown = columns.filter((key) => !this.kept.has(`${name} ${key}`));
    if (unknown.length || !this.kept.has(`${name} `)) {
      const { count, charts } = await this.engine.charts(set, unknown);
      this.keep(`${name} `, count, null);
      for (const chart of charts) this.keep(`${name} ${chart.column}`, count, chart);
    }
    return new Map(columns.map((key) => [key, this.touch(`${name} ${key}`)]));
  }

  private touch(name: string): Chart {
    const found = this.kept.get(name)!;
    this.keep(name, found.count, found.chart);
    return found.chart!;
  }

  private keep(name: string, count: number, chart: Chart | null): void {
    this.kept.delete(name);
    this.kept.set(name, { count, chart });
    for (const old of this.kept.keys()) {
      if (this.kept.size <= KEPT) break;
      this.kept.delete(old);
    }
  }
}
