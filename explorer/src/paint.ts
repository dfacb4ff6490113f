// Colours of items: one RGBA per row or node of a tile, computed here and sent to the GPU once per change.
import { THEMES, css, hueLevel, levelColors, numberColor, baseColors, type Rgb, type Theme } from "./colors";
import { tileOf } from "./choose";
import { levelKey, type Column, type Meta, type NumberColumn } from "./meta";
import type { Marks } from "./data/marks";
import { countItems } from "./data/sets";
import { lastAtMost } from "./ranges";
import type { Chosen } from "./selecting";
import type { Store } from "./state";
import { firstRow, sizeOf, type Tile, type TileFiles } from "./tiles";
import type { NodeId, Tree } from "./tree";

export const SELECTION = "selection"; // owner in Marks
const FAINT = 26; // alpha of what is not selected
const SCALE = 256;

export class Painter {
  version = 0; // grows with every change of colours
  private levels = new Map<number, Rgb[]>();
  private lowest = Infinity;
  private categories: Rgb[] = [];
  private numbers: Rgb[] = [];
  private pending = 0; // colours of clusters in lists that are on their way
  private readonly painted = new WeakMap<Tile, { version: number; rgba: Uint8Array; final: boolean }>();

  constructor(private readonly meta: Meta, private readonly tree: Tree, private readonly tiles: TileFiles, private readonly store: Store, private readonly marks: Marks) {
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
    if (level > hue) return this.ofCoarse(level);
    if (level < this.lowest) {
      for (let k = level; k <= hue; k++) if (!this.tree.level(k)) return undefined;
      this.levels = levelColors(sizes, hue, level, this.theme, (k) => this.tree.level(k)!);
      this.lowest = level;
    }
    return this.levels.get(level);
  }

  /** A cluster above those that have a hue each has that of its largest child, which comes first. */
  private ofCoarse(level: number): Rgb[] | undefined {
    const data = this.tree.level(level);
    const below = this.ofLevel(level - 1);
    return data && below && Array.from({ length: data.n }, (_, i) => below[data.children[i]!] ?? this.theme.quiet);
  }

  /** As the map shows it: by its level, or by the column in effect. */
  ofNode({ level, index }: NodeId): string {
    const { column } = this;
    if (column) return css(this.ofValue(column, this.valueOf(column, level, index)).rgb);
    if (!this.tree.held(level)) return css(this.theme.quiet);
    return css(this.ofLevel(level)?.[index] ?? this.theme.quiet);
  }

  /** Colours of the level are still on their way. */
  waiting(level: number): boolean {
    if (this.column) return this.pending > 0;
    return this.tree.held(level) && this.ofLevel(level) === undefined;
  }

  ofCategory(category: number): string {
    return css(this.categories[category] ?? this.theme.quiet);
  }

  /** The value of a node, whose file is asked for where it is not here. */
  private valueOf(column: Column, level: number, index: number): number | undefined {
    const tiles = this.meta.maps[0]!.tiles[levelKey(level)]!;
    const t = tileOf(tiles, index);
    const values = this.tiles.peekColors(column, level, t);
    if (values) return values[index - tiles.begin[t]!];
    this.pending++;
    this.tiles.loadColors(column, level, t).catch(() => undefined).finally(() => this.pending--); // told by the cache
    return undefined;
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
    const colored = column ? this.paintColumn(tile, column, rgba) : this.paintLevel(tile, rgba, state.focus);
    const counts = state.chosen && this.countSelected(tile, state.chosen);
    if (counts) fade(tile, rgba, counts);
    const done = { version: this.version, rgba, final: colored && counts !== undefined };
    this.painted.set(tile, done);
    return done;
  }

  /** Rows of the selection in each item; undefined while they are on their way. */
  private countSelected(tile: Tile, { ranges }: Chosen): Uint32Array | undefined {
    if (!ranges) return this.marks.settled(SELECTION, tile);
    return countItems(ranges, (i) => firstRow(tile, i), (i) => sizeOf(tile, i), tile.n);
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
    for (let i = 0; i < tile.n; i++) {
      const { rgb, alpha } = this.ofValue(column, values?.[i]);
      set(rgba, i, rgb, alpha);
    }
    return values !== undefined;
  }

  /** Missing values and those on their way are quiet. */
  private ofValue(column: Column, value: number | undefined): { rgb: Rgb; alpha: number } {
    const { quiet } = this.theme;
    if (value === undefined) return { rgb: quiet, alpha: 120 };
    if (column.kind === "category") return { rgb: this.categories[value] ?? quiet, alpha: 255 };
    const at = shareOf(column, value);
    return Number.isNaN(at) ? { rgb: quiet, alpha: 90 } : { rgb: this.numbers[Math.round(at * (SCALE - 1))]!, alpha: 255 };
  }
}

/** Where a number lies on its scale, from 0 to 1; NaN for missing ones. */
export function shareOf(column: NumberColumn, value: number): number {
  return Math.min(Math.max((value - column.low) / (column.high - column.low || 1), 0), 1);
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
