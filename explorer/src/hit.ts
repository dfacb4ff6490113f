// What lies under the pointer, and which rows lie inside a lasso.
import type { Box } from "./camera";
import { insideRings, joinRanges, type Ranges } from "./ranges";
import { firstRow, place, sizeOf, type Tile } from "./tiles";

export interface Item {
  tile: Tile;
  at: number;
}

type OfItem<T> = (tile: Tile, i: number) => T;

/** The wanted item nearest to a place of the map within `reach` units; of nodes, within their discs. */
export function nearestItem(tiles: Iterable<Tile>, x: number, y: number, reach: number, radius: OfItem<number>, wanted: OfItem<boolean>): Item | null {
  let best: Item | null = null;
  let least = Infinity;
  for (const tile of tiles) {
    const [dx, dy] = [x - tile.origin[0], y - tile.origin[1]];
    for (let i = 0; i < tile.n; i++) {
      const distance = Math.hypot(tile.x[i]! - dx, tile.y[i]! - dy);
      if (distance < least && distance <= Math.max(reach, radius(tile, i)) && wanted(tile, i)) {
        least = distance;
        best = { tile, at: i };
      }
    }
  }
  return best;
}

/** The place of the item inside a box that is nearest to a place. */
export function nearestInside(tiles: Iterable<Tile>, x: number, y: number, [x0, y0, x1, y1]: Box): [number, number] | null {
  let best: [number, number] | null = null;
  let least = Infinity;
  for (const tile of tiles)
    for (let i = 0; i < tile.n; i++) {
      const [px, py] = place(tile, i);
      const distance = Math.hypot(px - x, py - y);
      if (distance < least && px >= x0 && px <= x1 && py >= y0 && py <= y1) [best, least] = [[px, py], distance];
    }
  return best;
}

/** Rows (or all rows of nodes) inside a ring of places. */
export function rowsInside(tiles: Iterable<Tile>, ring: readonly number[]): Ranges {
  const parts: [number, number][] = [];
  for (const tile of tiles)
    for (let i = 0; i < tile.n; i++) {
      const [x, y] = place(tile, i);
      if (!insideRings([ring], x, y)) continue;
      const first = firstRow(tile, i);
      parts.push([first, first + sizeOf(tile, i)]);
    }
  return joinRanges(parts);
}
