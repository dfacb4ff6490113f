// meta.json: what the store holds, checked once so that the rest of the page can trust it.

export interface Tiles {
  begin: number[];
  end: number[];
  origin: [number, number][];
  box: [number, number, number, number][];
}

export type Side = "left" | "right" | "bottom" | "top";

/** Rows beyond one side of the frame that lie together. */
export interface Beyond {
  side: Side;
  nRows: number;
  box: [number, number, number, number];
}

export interface MapMeta {
  name: string;
  layout: string;
  bounds: [number, number, number, number]; // of all rows
  frame: [number, number, number, number]; // of the rows that the first view shows
  beyond: Beyond[];
  tiles: Record<string, Tiles>;
  pieces: Set<number>; // levels with clusters that do not lie in one place
  tears: Set<number>; // levels whose clusters have links to true neighbours far off
  copies: Set<number>; // tiles of rows with some at one place
  space: { middle: [number, number, number]; reach: Record<string, [number, number][]> } | null; // of a map in 3-D: how deep tiles are
}

export interface CategoryColumn {
  key: string;
  name: string;
  kind: "category";
  categories: string[];
  counts: number[];
}

export interface NumberColumn {
  key: string;
  name: string;
  kind: "number";
  min: number;
  max: number;
  low: number; // 1% of the values lie below: the scale of colours begins here
  high: number; // and ends here, where 99% lie below
  missing: number;
  quality: boolean;
  time: boolean; // seconds since 1970
}

export type Column = CategoryColumn | NumberColumn;

export interface Meta {
  title: string;
  description: string; // of a map that is shared
  nRows: number;
  labelLevel: number;
  levels: { nNodes: number }[];
  maps: MapMeta[];
  columns: Column[];
  fields: string[];
  named: Set<number>;
  outlined: Set<number>;
  panels: Set<number>;
  neighbors: number;
  images: { width: number; height: number } | null;
  chunk: number;
  canSave: boolean;
  searchable: boolean;
}

const VERSION = 3;
export const ROWS = -1; // the level of rows, below level 0

export function levelKey(level: number): string {
  return level === ROWS ? "rows" : String(level);
}

export class StoreError extends Error {}

/** The store was written again since the page was opened: what comes now does not fit what is here. */
export class RebuiltError extends StoreError {
  constructor() {
    super("The run was built again since this page was opened. Reload the page to see it.");
  }
}

type Json = Record<string, unknown>;

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown, otherwise = ""): string => (typeof value === "string" ? value : otherwise);
const number = (value: unknown, otherwise: number): number =>
  typeof value === "number" && Number.isFinite(value) ? value : otherwise;

export function readMeta(raw: unknown): Meta {
  const data = raw as Json | null;
  if (!data || typeof data !== "object" || data.format !== "nestmap-explorer")
    throw new StoreError("meta.json does not describe a nestmap explorer store.");
  if (data.version !== VERSION)
    throw new StoreError(`This store has version ${String(data.version)}; this page reads version ${VERSION}. Write the store again.`);
  const levels = list(data.levels).map((l) => ({ nNodes: number((l as Json).n_nodes, 0) }));
  const maps = list(data.maps).map(readMap);
  if (!maps.length) throw new StoreError("The store holds no map.");
  for (const map of maps)
    for (const key of ["rows", ...levels.keys()])
      if (!map.tiles[String(key)]) throw new StoreError(`Map "${map.name}" has no tiles of level ${key}.`);
  const images = data.images as Json | null | undefined;
  const levelSet = (value: unknown) => new Set(list(value).map(Number).filter((k) => k >= 0 && k < levels.length));
  return {
    title: text(data.title, "Untitled map") || "Untitled map",
    description: text(data.description),
    nRows: number(data.n_rows, 0),
    labelLevel: Math.max(0, Math.min(number(data.label_level, 0), levels.length - 1)),
    levels,
    maps: maps.slice(0, 2),
    columns: list(data.columns).map(readColumn).filter((c): c is Column => c !== null),
    fields: list(data.fields).map((f) => text(f, "?")),
    named: levelSet(data.named_levels),
    outlined: levelSet(data.outlined_levels),
    panels: levelSet(data.panel_levels),
    neighbors: number(data.neighbors, 0),
    images: images ? { width: number(images.width, 32), height: number(images.height, 32) } : null,
    chunk: number(data.chunk, 1024),
    canSave: data.can_save === true,
    searchable: data.searchable !== false,
  };
}

function readBox(value: unknown): [number, number, number, number] | null {
  const box = list(value).map(Number);
  return box.length === 4 && box.every(Number.isFinite) ? (box as [number, number, number, number]) : null;
}

const SIDES: readonly unknown[] = ["left", "right", "bottom", "top"];

function readBeyond(raw: unknown): Beyond | null {
  const data = raw as Json;
  const box = readBox(data.box);
  const nRows = number(data.n_rows, 0);
  return box && nRows > 0 && SIDES.includes(data.side) ? { side: data.side as Side, nRows, box } : null;
}

function readMap(raw: unknown): MapMeta {
  const data = raw as Json;
  const b = readBox(data.bounds);
  if (!b) throw new StoreError("A map of the store has no bounds.");
  let [x0, y0, x1, y1] = b;
  const pad = Math.max(x1 - x0, y1 - y0) > 0 ? 0 : 1; // one row, or all rows in one place
  [x0, y0, x1, y1] = [x0 - pad, y0 - pad, x1 + pad, y1 + pad];
  const frame = readBox(data.frame);
  const beyond = frame ? list(data.beyond).map(readBeyond).filter((each) => each !== null) : [];
  return {
    name: text(data.name, "map"),
    layout: text(data.layout, "descent"),
    bounds: [x0, y0, x1, y1],
    frame: frame && beyond.length ? frame : [x0, y0, x1, y1], // older stores do not say
    beyond,
    tiles: (data.tiles ?? {}) as Record<string, Tiles>,
    pieces: new Set(list(data.piece_levels).map(Number)), // older stores do not say
    tears: new Set(list(data.tear_levels).map(Number)),
    copies: new Set(list(data.copies).map(Number)),
    space: (data.space ?? null) as MapMeta["space"],
  };
}

function readColumn(raw: unknown): Column | null {
  const data = raw as Json;
  const key = text(data.key);
  const name = text(data.name) || key;
  if (!key) return null;
  if (data.kind === "category") {
    const categories = list(data.categories).map((c) => text(c, String(c)));
    const counts = list(data.counts).map((c) => number(c, 0));
    return { key, name, kind: "category", categories, counts };
  }
  if (data.kind !== "number") return null;
  const min = number(data.min, 0);
  const max = Math.max(number(data.max, 1), min);
  const low = number(data.low, min);
  return {
    key, name, kind: "number", min, max, low, high: Math.max(number(data.high, max), low),
    missing: number(data.missing, 0), quality: data.quality === true,
    time: data.time === true,
  };
}
