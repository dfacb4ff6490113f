// Colours of items: one RGBA per row or node of a tile, computed here and sent to the GPU once per change.
import { THEMES, css, hueLevel, levelColors, numberColor, baseColors, type Rgb, type Theme } from "./colors";
import type { Column, Meta } from "./meta";
import { countItems } from "./data/sets";
import { lastAtMost } from "./ranges";
import type { Store } from "./state";
import { firstRow, sizeOf, type Tile, type TileFiles } from "./tiles";
import type { NodeId, Tree } from "./tree";

const FAINT = 26; // alpha of what is not selected
const SCALE = 256;

export class Painter {
  version = 0; // grows with every change of colours
  private levels = new Map<number, Rgb[]>();
  private lowest = Infinity;
  private categories: Rgb[] = [];
  private numbers: Rgb[] = [];
  private readonly painted = new WeakMap<Tile, { version: number; rgba: Uint8Array; final: boolean }>();

  constructor(private readonly meta: Meta, private readonly tree: Tree, private readonly tiles: TileFiles, private readonly store: Store) {
    this.reset();
  }

  get theme(): Theme {
    return THEMES[this.store.now.theme];
  }

  get column(): Column | null {
    return this.meta.columns.find((c) => c.key === this.store.now.color) ?? null;
  }

  /** Colours have to be computed again. */
  reset(): void {
    this.version++;
    this.levels = new Map();
    this.lowest = Infinity;
    const column = this.column;
    this.categories = column?.kind === "category" ? categoryColors(column.categories, this.theme) : [];
    this.numbers = Array.from({ length: SCALE }, (_, i) => numberColor(i / (SCALE - 1), this.theme));
  }

  /** Colours of the nodes of a level, or of its nearest ancestors that have colours; undefined until they are here. */
  ofLevel(level: number): Rgb[] | undefined {
    const sizes = this.meta.levels.map((l) => l.nNodes);
    const hue = hueLevel(sizes, 0);
    if (level > hue) return sizes[level] ? Array<Rgb>(sizes[level]!).fill(this.theme.quiet) : undefined;
    if (level < this.lowest) {
      for (let k = level; k <= hue; k++) if (!this.tree.level(k)) return undefined;
      this.levels = levelColors(sizes, hue, level, this.theme, (k) => this.tree.level(k)!);
      this.lowest = level;
    }
    return this.levels.get(level);
  }

  ofNode({ level, index }: NodeId): string {
    if (!this.tree.held(level)) return css(this.theme.quiet);
    return css(this.ofLevel(level)?.[index] ?? this.theme.quiet);
  }

  /** Colours of the level are still on their way. */
  waiting(level: number): boolean {
    return this.tree.held(level) && this.ofLevel(level) === undefined;
  }

  ofCategory(category: number): string {
    return css(this.categories[category] ?? this.theme.quiet);
  }

  /** From 0, the low end of the scale, to 1. */
  ofNumber(at: number): string {
    return css(this.numbers[Math.round(at * (SCALE - 1))]!);
  }

  /** RGBA of the items of a tile, and whether they are final (files may be on their way). */
  paint(tile: Tile): { rgba: Uint8Array; final: boolean } {
    const before = this.painted.get(tile);
    if (before?.final && before.version === this.version) return before;
    const state = this.store.now;
    const rgba = new Uint8Array(4 * tile.n);
    const column = this.column;
    const final = column ? this.paintColumn(tile, column, rgba) : this.paintLevel(tile, rgba, state.focus);
    if (state.chosen?.ranges) fade(tile, rgba, countItems(state.chosen.ranges, (i) => firstRow(tile, i), (i) => sizeOf(tile, i), tile.n));
    const done = { version: this.version, rgba, final };
    this.painted.set(tile, done);
    return done;
  }

  private paintLevel(tile: Tile, rgba: Uint8Array, focus: number): boolean {
    const level = Math.max(focus, tile.level);
    const data = this.tree.held(level) ? this.tree.level(level) : undefined;
    const colors = data && this.ofLevel(level);
    if (!data || !colors) {
      for (let i = 0; i < tile.n; i++) set(rgba, i, this.theme.quiet, 255);
      return !this.tree.held(level);
    }
    let node = lastAtMost(data.firstRow, firstRow(tile, 0));
    for (let i = 0; i < tile.n; i++) {
      const row = firstRow(tile, i);
      while (node + 1 < data.n && data.firstRow[node + 1]! <= row) node++;
      set(rgba, i, colors[node]!, 255);
    }
    return true;
  }

  private paintColumn(tile: Tile, column: Column, rgba: Uint8Array): boolean {
    const values = this.tiles.peekColors(column, tile.level, tile.index);
    const quiet = this.theme.quiet;
    for (let i = 0; i < tile.n; i++) {
      const value = values?.[i];
      if (value === undefined) set(rgba, i, quiet, 120);
      else if (column.kind === "number") {
        const at = (value - column.low) / (column.high - column.low || 1);
        if (Number.isNaN(at)) set(rgba, i, quiet, 90);
        else set(rgba, i, this.numbers[Math.round(Math.min(Math.max(at, 0), 1) * (SCALE - 1))]!, 255);
      } else set(rgba, i, this.categories[value] ?? quiet, 255);
    }
    return values !== undefined;
  }
}

export function categoryColors(categories: readonly string[], theme: Theme): Rgb[] {
  const colors = baseColors(categories.length, theme);
  return colors.map((color, i) => (categories[i] === "(other)" ? theme.quiet : color));
}

/** What is not selected is faint; a node is as strong as its share of rows that are. */
function fade(tile: Tile, rgba: Uint8Array, counts: ArrayLike<number>): void {
  for (let i = 0; i < tile.n; i++) {
    const most = FAINT + (255 - FAINT) * (counts[i]! / sizeOf(tile, i));
    rgba[4 * i + 3] = Math.min(rgba[4 * i + 3]!, most);
  }
}

function set(rgba: Uint8Array, i: number, [r, g, b]: Rgb, alpha: number): void {
  rgba[4 * i] = r;
  rgba[4 * i + 1] = g;
  rgba[4 * i + 2] = b;
  rgba[4 * i + 3] = alpha;
}
