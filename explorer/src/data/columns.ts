// Whole columns of rows in the page: four bytes per row for numbers, one for categories, each loaded when first asked for.
import { ROWS, levelKey, type Column } from "../meta";
import type { Shared } from "../shared";
import type { Values } from "./masks";

const AT_ONCE = 4; // files under way: what the map needs goes between them

export class Columns {
  private readonly held = new Map<string, Values>();
  private readonly pending = new Map<string, Promise<Values>>();

  constructor(private readonly shared: Pick<Shared, "meta" | "tiles" | "cache" | "source">) {}

  get busy(): boolean {
    return this.pending.size > 0;
  }

  column(key: string): Column {
    const column = this.shared.meta.columns.find((c) => c.key === key);
    if (!column) throw new Error(`This map has no column ${key}.`);
    return column;
  }

  /** A column that was loaded before. */
  here(key: string): Values {
    const values = this.held.get(key);
    if (!values) throw new Error(`Column ${key} was not loaded.`);
    return values;
  }

  load(key: string): Promise<Values> {
    const held = this.held.get(key);
    if (held) return Promise.resolve(held);
    const before = this.pending.get(key);
    if (before) return before;
    const promise = this.read(this.column(key)).finally(() => this.pending.delete(key));
    this.pending.set(key, promise);
    return promise;
  }

  private async read(column: Column): Promise<Values> {
    const { meta } = this.shared;
    const { begin, end } = meta.maps[0]!.tiles[levelKey(ROWS)]!;
    const values = column.kind === "category" ? new Uint8Array(meta.nRows) : new Float32Array(meta.nRows);
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < begin.length) {
        const t = next++;
        const part = await this.part(column, t);
        if (part.length !== end[t]! - begin[t]!) throw new Error(`Values of ${column.name} do not fit the rows of tile ${t}.`);
        values.set(part, begin[t]!);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    this.held.set(column.key, values);
    return values;
  }

  /** Not by the cache: what is held here would be there a second time. */
  private async part(column: Column, t: number): Promise<Values> {
    const { tiles, source } = this.shared;
    const here = tiles.peekColors(column, ROWS, t);
    if (here) return here;
    const wish = tiles.colorWish(column, ROWS, t);
    return wish.parse(await source.get(wish.name));
  }
}
