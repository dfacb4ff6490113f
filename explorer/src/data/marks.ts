// Which items of a tile are in a set: kept per set and tile, asked for in stretches of neighbouring tiles, one question at a
// time. Who looks at a set (its owner) sees the answers to its last one until new ones are here; questions about a set that
// is no longer looked at are not asked.
import { EVERY_ROW, type Engine, type Rows } from "./engine";

export interface Stretch {
  level: number;
  index: number; // of the tile
  begin: number;
  n: number;
}

type Known = Map<string, Uint32Array>; // by level and tile

interface Look {
  name: string;
  set: Rows;
  known: Known;
  before: Known;
  wanted: Map<string, Stretch>;
  asking: boolean;
  failed: boolean;
}

const SETS = 6; // whose answers are kept for when they are looked at again
const LONGEST = 1 << 20; // items of a question

export class Marks {
  private readonly looks = new Map<string, Look>();
  private readonly kept = new Map<string, Known>(); // least recently used first

  constructor(private readonly engine: Engine, private readonly arrived: () => void, private readonly failed: (error: unknown) => void) {}

  get busy(): boolean {
    return [...this.looks.values()].some((look) => look.asking || (look.wanted.size > 0 && !look.failed));
  }

  /** What an owner looks at from now on; null: nothing. */
  look(owner: string, set: Rows | null): void {
    const name = JSON.stringify(set);
    const before = this.looks.get(owner);
    if (before?.name === name) return;
    if (!set || name === JSON.stringify(EVERY_ROW)) {
      this.looks.delete(owner);
      return;
    }
    const stale: Known = new Map([...(before?.before ?? []), ...(before?.known ?? [])]);
    this.looks.set(owner, { name, set, known: this.knownOf(name), before: stale, wanted: new Map(), asking: false, failed: false });
  }

  looksAt(owner: string): boolean {
    return this.looks.has(owner);
  }

  /** How many rows of each item are in the owner's set, as far as it is known; asks where it is not. */
  of(owner: string, tile: Stretch): Uint32Array | undefined {
    const look = this.looks.get(owner);
    if (!look) return undefined;
    const place = `${tile.level}/${tile.index}`;
    const here = look.known.get(place);
    if (here) return here;
    const { level, index, begin, n } = tile;
    look.wanted.set(place, { level, index, begin, n });
    if (!look.asking && !look.failed) {
      look.asking = true;
      queueMicrotask(() => void this.ask(owner, look));
    }
    return look.before.get(place);
  }

  /** As `of`, but of the set that is looked at now, never of the one before. */
  settled(owner: string, tile: Stretch): Uint32Array | undefined {
    const counts = this.of(owner, tile);
    return this.looks.get(owner)?.known.has(`${tile.level}/${tile.index}`) ? counts : undefined;
  }

  private knownOf(name: string): Known {
    const known: Known = this.kept.get(name) ?? new Map<string, Uint32Array>();
    this.kept.delete(name);
    this.kept.set(name, known);
    for (const old of this.kept.keys()) {
      if (this.kept.size <= SETS) break;
      this.kept.delete(old);
    }
    return known;
  }

  private async ask(owner: string, look: Look): Promise<void> {
    try {
      while (look.wanted.size && this.looks.get(owner) === look) {
        const run = firstRun([...look.wanted.values()]);
        const [first, last] = [run[0]!, run[run.length - 1]!];
        const counts = await this.engine.marks(look.set, first.level, first.begin, last.begin + last.n);
        for (const tile of run) {
          const place = `${tile.level}/${tile.index}`;
          look.known.set(place, counts.subarray(tile.begin - first.begin, tile.begin - first.begin + tile.n));
          look.wanted.delete(place);
        }
      }
    } catch (error) {
      look.failed = true;
      this.failed(error);
    } finally {
      look.asking = false;
      this.arrived();
    }
  }
}

/** Tiles of one level that follow each other without a gap. */
function firstRun(tiles: Stretch[]): Stretch[] {
  tiles.sort((a, b) => a.level - b.level || a.begin - b.begin);
  const run = [tiles[0]!];
  for (const tile of tiles.slice(1)) {
    const last = run[run.length - 1]!;
    if (tile.level !== last.level || tile.begin !== last.begin + last.n || tile.begin + tile.n - run[0]!.begin > LONGEST) break;
    run.push(tile);
  }
  return run;
}
