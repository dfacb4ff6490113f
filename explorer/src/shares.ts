// What the GPU is told about items beside their colours. Four bytes for each item of a tile: its share of rows that pass the
// filters, its share of rows that a time window has left behind, its size by a column, and one that is not used.
import type { Marks } from "./data/marks";
import { ROWS, type NumberColumn } from "./meta";
import { shareOf } from "./paint";
import type { Shared } from "./shared";
import type { Tile } from "./tiles";

export const FILTER = "filter"; // owners in Marks
export const GHOSTS = "ghosts";
const WHOLE = 255;
const BYTES = 4;

type Known = Uint32Array | Uint8Array | Float32Array | undefined;

export class Shares {
  private readonly made = new WeakMap<Tile, { from: Known[]; bytes: Uint8Array }>();

  constructor(private readonly marks: Marks, private readonly files: Pick<Shared, "meta" | "tiles" | "store">) {}

  /** Some rows are filtered out. */
  get active(): boolean {
    return this.marks.looksAt(FILTER);
  }

  get haunted(): boolean {
    return this.marks.looksAt(GHOSTS);
  }

  /** The column that gives rows their size. */
  get sizeColumn(): NumberColumn | null {
    const { meta, store } = this.files;
    const column = meta.columns.find((c) => c.key === store.now.size);
    return column?.kind === "number" ? column : null;
  }

  get sized(): boolean {
    return this.files.store.now.size !== null;
  }

  /** The bytes of a tile; the same array until they change. Before anything is known all items are whole. */
  of(tile: Tile): Uint8Array {
    const [kept, ghosts] = [this.marks.of(FILTER, tile), this.marks.of(GHOSTS, tile)];
    const column = tile.level === ROWS ? this.sizeColumn : null;
    const values = column ? this.files.tiles.peekColors(column, tile.level, tile.index) : undefined;
    const before = this.made.get(tile);
    const from: Known[] = [kept, ghosts, values];
    if (before && from.every((part, i) => part === before.from[i])) return before.bytes;
    const bytes = new Uint8Array(BYTES * tile.n);
    for (let i = 0; i < tile.n; i++) {
      const size = tile.nodes ? tile.nodes.size[i]! : 1;
      bytes[BYTES * i] = kept ? toByte(kept[i]!, size) : WHOLE;
      bytes[BYTES * i + 1] = ghosts ? toByte(ghosts[i]!, size) : 0;
      if (column && values) bytes[BYTES * i + 2] = WHOLE * shareOf(column, values[i]!) || 0; // missing values are the smallest
    }
    this.made.set(tile, { from, bytes });
    return bytes;
  }

  /** Whether an item has rows that pass. */
  passes(tile: Tile, i: number): boolean {
    return !this.active || this.of(tile)[BYTES * i]! > 0;
  }

  /** Rows that pass in each node of a level that is held whole. */
  ofLevel(level: number, n: number): Uint32Array | undefined {
    return this.marks.of(FILTER, { level, index: -1, begin: 0, n });
  }
}

/** A single row among thousands is still seen. */
function toByte(count: number, size: number): number {
  return count ? Math.max(Math.round((WHOLE * count) / size), 1) : 0;
}
