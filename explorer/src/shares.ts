// What part of each item the filters let through, as the GPU takes it: for each item of a tile two bytes, its share of rows
// that pass, and its share of rows that a time window has left behind.
import type { Marks } from "./data/marks";
import type { Tile } from "./tiles";

export const FILTER = "filter"; // owners in Marks
export const GHOSTS = "ghosts";
const WHOLE = 255;

type Counts = Uint32Array | undefined;

export class Shares {
  private readonly made = new WeakMap<Tile, { kept: Counts; ghosts: Counts; bytes: Uint8Array }>();

  constructor(private readonly marks: Marks) {}

  /** Some rows are filtered out. */
  get active(): boolean {
    return this.marks.looksAt(FILTER);
  }

  get haunted(): boolean {
    return this.marks.looksAt(GHOSTS);
  }

  /** Shares of the items of a tile; the same array until they change. Before anything is known all are whole. */
  of(tile: Tile): Uint8Array {
    const [kept, ghosts] = [this.marks.of(FILTER, tile), this.marks.of(GHOSTS, tile)];
    const before = this.made.get(tile);
    if (before && before.kept === kept && before.ghosts === ghosts) return before.bytes;
    const bytes = new Uint8Array(2 * tile.n);
    for (let i = 0; i < tile.n; i++) {
      const size = tile.nodes ? tile.nodes.size[i]! : 1;
      bytes[2 * i] = kept ? toByte(kept[i]!, size) : WHOLE;
      bytes[2 * i + 1] = ghosts ? toByte(ghosts[i]!, size) : 0;
    }
    this.made.set(tile, { kept, ghosts, bytes });
    return bytes;
  }

  /** Whether an item has rows that pass. */
  passes(tile: Tile, i: number): boolean {
    return !this.active || this.of(tile)[2 * i]! > 0;
  }

  /** Rows that pass in each node of a level that is held whole. */
  ofLevel(level: number, n: number): Counts {
    return this.marks.of(FILTER, { level, index: -1, begin: 0, n });
  }
}

/** A single row among thousands is still seen. */
function toByte(count: number, size: number): number {
  return count ? Math.max(Math.round((WHOLE * count) / size), 1) : 0;
}
