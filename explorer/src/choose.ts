// The hierarchy as level of detail: which level is drawn, which has names, which tiles a view needs.
import type { Box, Size } from "./camera";
import { ROWS, levelKey, type MapMeta, type Meta, type Tiles } from "./meta";

export interface Budget {
  rows: number;
  nodes: number;
}

export function overlaps(a: Box, b: Box): boolean {
  return a[0] <= b[2] && a[2] >= b[0] && a[1] <= b[3] && a[3] >= b[1];
}

/** Tiles of a level that a view sees, nearest to its centre first. */
export function visibleTiles(tiles: Tiles, view: Box): number[] {
  const x = (view[0] + view[2]) / 2;
  const y = (view[1] + view[3]) / 2;
  const seen: [number, number][] = [];
  tiles.box.forEach((box, t) => {
    if (!overlaps(box, view)) return;
    const dx = Math.max(box[0] - x, 0, x - box[2]);
    const dy = Math.max(box[1] - y, 0, y - box[3]);
    const middle = Math.hypot((box[0] + box[2]) / 2 - x, (box[1] + box[3]) / 2 - y);
    seen.push([Math.hypot(dx, dy) + 1e-3 * middle, t]);
  });
  return seen.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, t]) => t);
}

/** Items of the tiles that a view sees; counting stops beyond `most`. */
export function countVisible(tiles: Tiles, view: Box, most: number): number {
  let n = 0;
  for (let t = 0; t < tiles.box.length && n <= most; t++) if (overlaps(tiles.box[t]!, view)) n += tiles.end[t]! - tiles.begin[t]!;
  return n;
}

/** The finest level whose items in view stay within the budget; the top level if none does. */
export function drawnLevel(map: MapMeta, nLevels: number, view: Box, budget: Budget): number {
  for (let level = ROWS; level < nLevels; level++) {
    const tiles = map.tiles[levelKey(level)]!;
    const most = level === ROWS ? budget.rows : budget.nodes;
    if (countVisible(tiles, view, most) <= most) return level;
  }
  return nLevels - 1;
}

/** Pixels between neighbouring nodes of a level if they were spread evenly over the map. */
export function spacing(meta: Meta, map: MapMeta, level: number, scale: number): number {
  const [x0, y0, x1, y1] = map.frame;
  const n = level === ROWS ? meta.nRows : meta.levels[level]!.nNodes;
  return Math.sqrt(((x1 - x0) * (y1 - y0)) / Math.max(n, 1)) * scale;
}

/** The level that fits a zoom: the finest whose nodes are `room` pixels apart, and that the page can name or colour. */
export function focusLevel(meta: Meta, map: MapMeta, scale: number, room: number, known: (level: number) => boolean): number {
  const top = meta.levels.length - 1;
  for (let level = 0; level < top; level++)
    if (known(level) && spacing(meta, map, level, scale) >= room) return level;
  return top;
}

/** A coarser level with clearly fewer nodes, for the large names; null if there is none. */
export function coarserLevel(meta: Meta, level: number): number | null {
  const nodes = (k: number) => meta.levels[k]!.nNodes;
  for (let k = level + 1; k < meta.levels.length; k++)
    if (nodes(k) * 2.5 <= nodes(level) && nodes(k) > 1) return k;
  return null;
}

interface Items {
  n: number;
  origin: readonly [number, number];
  x: Float32Array;
  y: Float32Array;
}

/** Items whose centre is in a view. */
export function countInside(tiles: readonly Items[], [x0, y0, x1, y1]: Box): number {
  let count = 0;
  for (const { n, origin, x, y } of tiles) {
    const [left, bottom, right, top] = [x0 - origin[0], y0 - origin[1], x1 - origin[0], y1 - origin[1]];
    for (let i = 0; i < n; i++) if (x[i]! >= left && x[i]! <= right && y[i]! >= bottom && y[i]! <= top) count++;
  }
  return count;
}

/**
 * The largest radius at which so many discs take no more room than the view has. Close up, a coarse level that stands in
 * for a finer one would be hundreds of discs as large as the view, one over the other: seconds for a frame.
 */
export function roomyRadius(count: number, { width, height }: Size): number {
  return Math.min(Math.sqrt((width * height) / (Math.PI * Math.max(count, 1))), 120);
}

export function tileOf(tiles: Tiles, item: number): number {
  let low = 0;
  let high = tiles.begin.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tiles.begin[middle]! <= item) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Radius of rows in pixels: from dots far out to discs close up; depends on the zoom only, so panning changes nothing. */
export function pointRadius(gap: number): number {
  return Math.min(Math.max(0.42 * gap ** 0.85, 1.0), 8);
}

export function pointOpacity(gap: number): number {
  return Math.min(0.35 + 0.22 * Math.max(gap, 0.4), 0.92);
}
