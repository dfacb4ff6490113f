// The hierarchy as the page knows it: levels small enough are held whole, of others only tiles.
import type { Cache } from "./cache";
import { bareNames } from "./labels";
import type { Meta } from "./meta";
import { parseJson, parseOutlines, parsePieces, type Outline, type Split } from "./parse";
import { lastAtMost } from "./ranges";
import type { Tile, TileFiles } from "./tiles";

export interface NodeId {
  level: number; // ROWS is no node
  index: number;
}

export interface Node extends NodeId {
  size: number;
  firstRow: number;
  children: [number, number];
  parent: number;
  cluster: number;
}

export interface Level {
  level: number;
  n: number;
  x: Float64Array;
  y: Float64Array;
  radius: Float32Array;
  size: Uint32Array;
  firstRow: Uint32Array;
  children: Uint32Array;
  parent: Uint32Array;
  cluster: Uint32Array;
}

export interface Panel {
  name: string;
  size: number;
  typical: [number, string][];
  odd: [number, string][];
  traits: string[];
  why: string[]; // what makes the name true
}

const HELD = 20000; // nodes of a level that is held whole
export const FIRST_PICTURE = 8192; // nodes of a level that may come first
const SPACE_SHARE = 0.25; // of the frame that a map in space takes on the screen, about
const PANEL_CHUNK = 256;

export const sameNode = (a: NodeId | null, b: NodeId | null): boolean =>
  a === b || (!!a && !!b && a.level === b.level && a.index === b.index);

export class Tree {
  readonly top: number;
  readonly edited = new Map<string, { node: Node; name: string }>();
  private readonly levels = new Map<string, Level>();
  private readonly pending = new Map<string, Promise<Level>>();
  private readonly names = new Map<number, string[]>();
  private readonly bare = new Map<number, string[]>(); // as the map shows them
  private readonly outlines = new Map<string, Outline[]>(); // by file
  private readonly pieces = new Map<string, ReadonlyMap<number, Split>>(); // by file
  private readonly asked = new Set<string>();
  private readonly parts = new WeakMap<Level, readonly Tile[]>(); // of levels of maps in space
  private readonly taken = new WeakMap<Tile, number>(); // the turn that a level has from its tile
  private readonly gaps = new Map<number, number>();

  constructor(readonly meta: Meta, private readonly cache: Cache, private readonly tiles: TileFiles) {
    this.top = meta.levels.length - 1;
  }

  /** Is the level small enough to be held whole? */
  held(level: number): boolean {
    return (this.meta.levels[level]?.nNodes ?? Infinity) <= HELD;
  }

  /** The finest level that is held whole; the top if none is. */
  get lowest(): number {
    for (let k = 0; k < this.top; k++) if (this.held(k)) return k;
    return this.top;
  }

  /** A whole level if it is here; asks for it otherwise. */
  level(level: number, map = 0): Level | undefined {
    const here = this.levels.get(`${map}/${level}`);
    if (here && this.tiles.spaces[map]) this.turn(here, map);
    if (!here && this.held(level)) this.loadLevel(level, map).catch(() => undefined); // told by the cache
    return here;
  }

  loadLevel(level: number, map = 0): Promise<Level> {
    const key = `${map}/${level}`;
    const before = this.pending.get(key);
    if (before) return before;
    const promise = this.readLevel(level, map).then((data) => {
      this.levels.set(key, data);
      return data;
    });
    this.pending.set(key, promise);
    promise.catch(() => setTimeout(() => this.pending.delete(key), 8000));
    return promise;
  }

  private async readLevel(level: number, map: number): Promise<Level> {
    const tiles = this.meta.maps[map]!.tiles[String(level)]!;
    const parts = await Promise.all(tiles.begin.map((_, t) => this.tiles.load(map, level, t)));
    const n = this.meta.levels[level]!.nNodes;
    const data: Level = {
      level, n, x: new Float64Array(n), y: new Float64Array(n), radius: new Float32Array(n), size: new Uint32Array(n),
      firstRow: new Uint32Array(n), children: new Uint32Array(n + 1), parent: new Uint32Array(n), cluster: new Uint32Array(n),
    };
    if (this.tiles.spaces[map]) this.parts.set(data, parts);
    for (const tile of parts) {
      const nodes = tile.nodes!;
      takePlaces(data, tile);
      for (const key of ["radius", "size", "firstRow", "children", "parent", "cluster"] as const)
        data[key].set(nodes[key], tile.begin);
    }
    return data;
  }

  /** Of a map in space: places as the reader sees them now. */
  private turn(data: Level, map: number): void {
    for (const tile of this.parts.get(data) ?? []) if (this.tiles.spaces[map]!.place(tile) || tile.turned !== this.taken.get(tile)) {
      takePlaces(data, tile);
      this.taken.set(tile, tile.turned);
    }
  }

  /**
   * How far apart rows lie where there are rows, in units of the map: clusters take only a part of it.
   * Measured on the finest level that comes with the first picture.
   */
  rowGap(map: number): number {
    const known = this.gaps.get(map);
    if (known !== undefined) return known;
    const [x0, y0, x1, y1] = this.meta.maps[map]!.frame;
    const whole = (x1 - x0) * (y1 - y0);
    if (this.tiles.spaces[map]) return Math.sqrt((SPACE_SHARE * whole) / Math.max(this.meta.nRows, 1));
    const finest = this.meta.levels.findIndex((l) => l.nNodes <= FIRST_PICTURE);
    const level = finest < 0 ? undefined : this.level(finest, map);
    if (!level) return Math.sqrt((0.4 * whole) / Math.max(this.meta.nRows, 1));
    const taken = level.radius.reduce((sum, r) => sum + Math.PI * r * r, 0);
    const gap = Math.sqrt(Math.min(Math.max(taken, 1e-4 * whole), whole) / Math.max(this.meta.nRows, 1));
    this.gaps.set(map, gap);
    return gap;
  }

  async node({ level, index }: NodeId): Promise<Node> {
    const { tile, at } = await this.tiles.locate(0, level, index);
    const nodes = tile.nodes!;
    return {
      level, index, size: nodes.size[at]!, firstRow: nodes.firstRow[at]!, parent: nodes.parent[at]!,
      children: [nodes.children[at]!, nodes.children[at + 1]!], cluster: nodes.cluster[at]!,
    };
  }

  /** The node of a held level that a row belongs to, if the level is here. */
  nodeOfRow(row: number, level: number): number | undefined {
    const data = this.level(level);
    return data && lastAtMost(data.firstRow, row);
  }

  /** Ancestors from the top down to the given node itself, on the levels that are held. */
  async path(id: NodeId): Promise<NodeId[]> {
    const { firstRow } = await this.node(id);
    return [...(await this.pathOfRow(firstRow, id.level + 1)), id];
  }

  async pathOfRow(row: number, lowest = 0): Promise<NodeId[]> {
    const path: NodeId[] = [];
    for (let level = this.top; level >= lowest; level--) {
      if (!this.held(level)) break;
      const data = await this.loadLevel(level);
      path.push({ level, index: lastAtMost(data.firstRow, row) });
    }
    return path;
  }

  /** A name if the store or the user has one, else null. */
  name({ level, index }: NodeId): string | null {
    const edited = this.edited.get(`${level}.${index}`);
    if (edited) return edited.name || null;
    const names = this.names.get(level);
    if (!names) this.askOnce(`names/${level}.json`, this.meta.named.has(level), parseJson, (value) => {
      const all = Array.isArray(value) ? value.map((v) => (typeof v === "string" ? v.trim() : "")) : [];
      this.names.set(level, all);
      this.bare.set(level, bareNames(all));
    });
    return names?.[index] || null;
  }

  /** The name as it is written on the map. */
  label(id: NodeId): string | null {
    const name = this.name(id);
    return name === null || this.edited.has(`${id.level}.${id.index}`) ? name : this.bare.get(id.level)![id.index]!;
  }

  /** Names of the level are still on their way. */
  waiting(level: number): boolean {
    return this.meta.named.has(level) && !this.names.has(level);
  }

  title(id: NodeId): string {
    const name = this.name(id);
    if (name) return name;
    const cluster = this.levels.get(`0/${id.level}`)?.cluster[id.index];
    return `Cluster ${cluster ?? id.index} of level ${id.level}`;
  }

  setName(node: Node, name: string): void {
    this.edited.set(`${node.level}.${node.index}`, { node, name });
  }

  /** Rings of the clusters of a level, relative to the middle of the map; asks for them if they are not here. */
  outline(level: number, map: number): Outline[] | undefined {
    const name = `m${map}/outlines/${level}.bin`;
    const here = this.outlines.get(name);
    if (!here) this.askOnce(name, this.meta.outlined.has(level), parseOutlines, (value) => {
      this.outlines.set(name, value);
    });
    return here;
  }

  /** Clusters of a level that do not lie in one place of a map; asks for them if they are not here. */
  split(level: number, map: number): ReadonlyMap<number, Split> | undefined {
    const name = `m${map}/pieces/${level}.bin`;
    const here = this.pieces.get(name);
    if (!here) this.askOnce(name, this.meta.maps[map]!.pieces.has(level), parsePieces, (value) => {
      this.pieces.set(name, value);
    });
    return here;
  }

  /** In how many places of the map a cluster lies, 0 if it is scattered; null where nothing is known or it is in one. */
  async places({ level, index }: NodeId, map = 0): Promise<number | null> {
    if (!this.meta.maps[map]!.pieces.has(level)) return null;
    const name = `m${map}/pieces/${level}.bin`;
    const split = this.split(level, map) ?? (await this.cache.load({ name, parse: parsePieces }));
    return split.get(index)?.places ?? null;
  }

  async panel({ level, index }: NodeId): Promise<Panel | null> {
    if (!this.meta.panels.has(level)) return null;
    const name = `panels/${level}/${Math.floor(index / PANEL_CHUNK)}.json`;
    const chunk = (await this.cache.load({ name, parse: parseJson })) as Partial<Panel>[];
    const raw = chunk[index % PANEL_CHUNK];
    if (!raw) return null;
    return {
      name: raw.name ?? "", size: raw.size ?? 0, typical: raw.typical ?? [], odd: raw.odd ?? [], traits: raw.traits ?? [],
      why: raw.why ?? [],
    };
  }

  private askOnce<T>(name: string, exists: boolean, parse: (b: ArrayBuffer) => T, then: (value: T) => void): void {
    if (!exists || this.asked.has(name)) return;
    this.asked.add(name);
    this.cache.load({ name, parse }).then((value) => {
      then(value);
      this.cache.onArrival();
    }, () => undefined); // told by the cache
  }
}

function takePlaces(data: Level, tile: Tile): void {
  for (let i = 0; i < tile.n; i++) {
    data.x[tile.begin + i] = tile.origin[0] + tile.x[i]!;
    data.y[tile.begin + i] = tile.origin[1] + tile.y[i]!;
  }
}
