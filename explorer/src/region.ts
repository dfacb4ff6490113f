// A part of the map that a reader drew: which rows lie in it, exactly where that takes few tiles, else by cluster.
import type { Box } from "./camera";
import { overlaps } from "./choose";
import { rowsInside } from "./hit";
import { ROWS, levelKey } from "./meta";
import { insideRings, joinRanges, type Ranges } from "./ranges";
import type { Shared } from "./shared";
import type { Tile } from "./tiles";

const MOST_TILES = 40; // of rows, loaded to take the border exactly: at most 330,000 rows, some 4 MB on the way

export interface Region {
  ranges: Ranges;
  exact: boolean; // else rows of clusters whose middle lies inside
}

export type Ring = readonly number[]; // x, y, x, y, … in the map

export function boxRing([x0, y0, x1, y1]: Box): Ring {
  return [x0, y0, x1, y0, x1, y1, x0, y1];
}

/** Where a box lies: inside the ring, outside of it, or across its line. */
export function boxAgainst(ring: Ring, box: Box): "inside" | "outside" | "across" {
  const n = ring.length;
  for (let i = 0, j = n - 2; i < n; j = i, i += 2)
    if (crosses(ring[j]!, ring[j + 1]!, ring[i]!, ring[i + 1]!, box)) return "across";
  return insideRings([ring], (box[0] + box[2]) / 2, (box[1] + box[3]) / 2) ? "inside" : "outside";
}

/** Does a line reach into a box? (Liang and Barsky) */
function crosses(x0: number, y0: number, x1: number, y1: number, [left, bottom, right, top]: Box): boolean {
  let [from, to] = [0, 1];
  const edges = [[x0 - x1, x0 - left], [x1 - x0, right - x0], [y0 - y1, y0 - bottom], [y1 - y0, top - y0]] as const;
  for (const [p, q] of edges) {
    if (p === 0 && q < 0) return false;
    if (p < 0) from = Math.max(from, q / p);
    if (p > 0) to = Math.min(to, q / p);
  }
  return from <= to;
}

/** Rows inside a ring. `level` is the drawn one: what is taken by cluster is what the reader sees. */
export async function rowsInRing(shared: Shared, map: number, level: number, ring: Ring): Promise<Region> {
  const { tiles, meta } = shared;
  const around = boundsOf(ring);
  const files = meta.maps[map]!.tiles[levelKey(ROWS)]!;
  const whole: [number, number][] = [];
  const across: number[] = [];
  files.box.forEach((box, t) => {
    const where = overlaps(box, around) ? boxAgainst(ring, box) : "outside";
    if (where === "inside") whole.push([files.begin[t]!, files.end[t]!]);
    if (where === "across") across.push(t);
  });
  if (across.length <= MOST_TILES || level === ROWS) {
    const border = await Promise.all(across.map((t) => tiles.load(map, ROWS, t)));
    return { ranges: joinRanges([...whole, ...rowsInside(border, ring)]), exact: true };
  }
  return { ranges: rowsInside(await nodesAround(shared, map, level, around), ring), exact: false };
}

function nodesAround({ tiles, meta }: Shared, map: number, level: number, around: Box): Promise<Tile[]> {
  const files = meta.maps[map]!.tiles[levelKey(level)]!;
  const near = files.box.map((box, t) => (overlaps(box, around) ? t : -1)).filter((t) => t >= 0);
  return Promise.all(near.map((t) => tiles.load(map, level, t)));
}

function boundsOf(ring: Ring): Box {
  const box: Box = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < ring.length; i += 2) {
    box[0] = Math.min(box[0], ring[i]!);
    box[1] = Math.min(box[1], ring[i + 1]!);
    box[2] = Math.max(box[2], ring[i]!);
    box[3] = Math.max(box[3], ring[i + 1]!);
  }
  return box;
}
