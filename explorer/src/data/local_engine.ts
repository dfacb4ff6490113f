// Answers in the page itself, exactly: for folders without a server and for small data. It holds the columns that were asked
// about, four bytes per row and column of numbers, one of categories, and some sets at a byte per row: a million rows and
// five columns of numbers take 20 MB, and 5 more for their bins. Each answer is a few passes over these.
import { ROWS, levelKey } from "../meta";
import { lastAtMost, type Ranges } from "../ranges";
import type { Search } from "../search";
import type { Shared } from "../shared";
import { codesOf } from "./bins";
import { Columns } from "./columns";
import type { Charts, Engine, Order, Page, Rows, Summary } from "./engine";
import { Masks, columnsOf } from "./masks";
import { sortedRows } from "./sorting";
import { summarize } from "./summary";

const MOST_FOUND = 1_000_000; // rows of a search that make a set

type Parts = Pick<Shared, "meta" | "tiles" | "cache" | "source" | "tree">;

export class LocalEngine implements Engine {
  private readonly columns: Columns;
  private readonly masks: Masks;
  private readonly codes = new Map<string, Uint8Array>();
  private readonly orders = new Map<string, Uint32Array>();
  private readonly resolved = new Map<string, Ranges>(); // clusters and searches

  /** `search` makes a search of its own for each question: a search drops what was asked before. */
  constructor(private readonly shared: Parts, private readonly search: () => Search) {
    this.columns = new Columns(shared);
    this.masks = new Masks(shared.meta.nRows, (key) => this.columns.here(key), (set) => this.placesOf(set));
  }

  async charts(set: Rows, columns: readonly string[]): Promise<Charts> {
    await Promise.all([this.prepare(set), ...columns.map((key) => this.columns.load(key))]);
    const mask = this.masks.of(set);
    let count = 0;
    for (let i = 0; i < mask.length; i++) count += mask[i]!;
    return { count, charts: columns.map((key) => this.chart(key, mask)) };
  }

  private chart(key: string, mask: Uint8Array): Charts["charts"][number] {
    const column = this.columns.column(key);
    let codes = this.codes.get(key);
    if (!codes) this.codes.set(key, (codes = codesOf(column, this.columns.here(key))));
    const counts = new Uint32Array(256);
    for (let i = 0; i < codes.length; i++) counts[codes[i]!]! += mask[i]!;
    return { column: key, counts: [...counts.subarray(0, 255)], missing: counts[255]! };
  }

  async marks(set: Rows, level: number, begin: number, end: number): Promise<Uint32Array> {
    await this.prepare(set);
    if (level === ROWS) return Uint32Array.from(this.masks.of(set).subarray(begin, end));
    const bounds = await this.bounds(level, begin, end);
    const sums = this.masks.sums(set);
    return Uint32Array.from({ length: end - begin }, (_, i) => sums[bounds[i + 1]!]! - sums[bounds[i]!]!);
  }

  /** First rows of some nodes of a level, and the end of the last one's. */
  private async bounds(level: number, begin: number, end: number): Promise<Uint32Array> {
    const { meta, tiles } = this.shared;
    const all = meta.maps[0]!.tiles[levelKey(level)]!;
    const bounds = new Uint32Array(end - begin + 1);
    for (let t = Math.max(lastAtMost(all.begin, begin), 0); t < all.begin.length && all.begin[t]! < end; t++) {
      const tile = await tiles.load(0, level, t);
      const nodes = tile.nodes!;
      for (let i = Math.max(begin - tile.begin, 0); i < tile.n && tile.begin + i < end; i++) {
        bounds[tile.begin + i - begin] = nodes.firstRow[i]!;
        bounds[tile.begin + i - begin + 1] = nodes.firstRow[i]! + nodes.size[i]!;
      }
    }
    return bounds;
  }

  async page(set: Rows, order: Order, offset: number, limit: number): Promise<Page> {
    await Promise.all([this.prepare(set), order.column ? this.columns.load(order.column) : null]);
    const mask = this.masks.of(set);
    const sorted = order.column ? this.order(order.column, order.descending) : null;
    const rows: number[] = [];
    let total = 0;
    for (let i = 0; i < mask.length; i++) {
      const row = sorted ? sorted[i]! : order.descending ? mask.length - 1 - i : i;
      if (!mask[row]) continue;
      if (total >= offset && rows.length < limit) rows.push(row);
      total++;
    }
    return { rows: Uint32Array.from(rows), total };
  }

  private order(column: string, descending: boolean): Uint32Array {
    const name = `${column} ${descending}`;
    let order = this.orders.get(name);
    if (!order) this.orders.set(name, (order = sortedRows(this.columns.here(column), descending)));
    return order;
  }

  async ranges(set: Rows, most: number): Promise<Ranges | null> {
    await this.prepare(set);
    const mask = this.masks.of(set);
    const ranges: [number, number][] = [];
    for (let i = 0; i < mask.length; i++) {
      if (!mask[i]) continue;
      const begin = i;
      while (i < mask.length && mask[i]) i++;
      if (ranges.length === most) return null;
      ranges.push([begin, i]);
    }
    return ranges;
  }

  async summary(set: Rows, other: Rows | null): Promise<Summary> {
    const against: Rows = other ?? { kind: "not", of: set };
    const { meta, tree } = this.shared;
    const keys = meta.columns.map((c) => c.key);
    const [own, its] = [await this.charts(set, keys), await this.charts(against, keys)];
    const level = meta.labelLevel;
    const counts = meta.levels.length && tree.held(level) ? await this.marks(set, level, 0, meta.levels[level]!.nNodes) : new Uint32Array();
    return summarize(meta.columns, own, its, level, counts);
  }

  /** Loads what a set needs: columns, and where its clusters and searches are. */
  private async prepare(set: Rows): Promise<void> {
    await Promise.all([...columnsOf(set).map((key) => this.columns.load(key)), this.resolve(set)]);
  }

  private async resolve(set: Rows): Promise<void> {
    if (set.kind === "all" || set.kind === "any") await Promise.all(set.of.map((part) => this.resolve(part)));
    else if (set.kind === "not") await this.resolve(set.of);
    else if (set.kind === "cluster" || set.kind === "search") {
      const name = JSON.stringify(set);
      if (this.resolved.has(name)) return;
      this.resolved.set(name, set.kind === "cluster" ? await this.rowsOfCluster(set.level, set.index) : await this.rowsFound(set.query));
    }
  }

  private async rowsOfCluster(level: number, index: number): Promise<Ranges> {
    const { firstRow, size } = await this.shared.tree.node({ level, index });
    return [[firstRow, firstRow + size]];
  }

  private async rowsFound(query: string): Promise<Ranges> {
    const hits = await this.search().find(query, MOST_FOUND);
    if (!hits || !hits.complete || hits.rows.length < hits.total) throw new Error(`Too many rows are found by “${query}”: search for more letters.`);
    return hits.rows.map((row) => [row, row + 1]);
  }

  private placesOf(set: Rows): Ranges {
    return set.kind === "places" ? set.ranges : this.resolved.get(JSON.stringify(set))!;
  }
}
