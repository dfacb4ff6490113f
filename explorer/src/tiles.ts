// Tiles: a stretch of one level in tree order, with places relative to an origin of its own.
import type { Cache, Wish } from "./cache";
import type { Box } from "./camera";
import { tileOf } from "./choose";
import { ROWS, levelKey, type Column, type Meta } from "./meta";
import { Space, type Solid } from "./space";
import { parseNodes, parseRows, type NodeTile, type RowTile } from "./parse";

export interface Tile {
  map: number;
  level: number;
  index: number;
  begin: number;
  n: number;
  origin: [number, number];
  box: Box;
  rows: RowTile | null; // of rows
  nodes: NodeTile | null; // of a level
  x: Float32Array;
  y: Float32Array;
  arrived: number;
  solid: Solid | null; // of a map in space: places as they are in the store, once the third coordinate is here
  near: Float32Array | null; // 1: nearest to the reader
  turned: number; // the turn that x and y are of
}

export function firstRow(tile: Tile, i: number): number {
  return tile.nodes ? tile.nodes.firstRow[i]! : tile.begin + i;
}

export function sizeOf(tile: Tile, i: number): number {
  return tile.nodes ? tile.nodes.size[i]! : 1;
}

export function tileName(map: number, level: number, index: number): string {
  return `m${map}/${levelKey(level)}/${index}.bin`;
}

export class TileFiles {
  readonly spaces: readonly (Space | null)[];

  constructor(private readonly meta: Meta, private readonly cache: Cache) {
    this.spaces = meta.maps.map((map) => (map.space ? new Space(map) : null));
  }

  wish(map: number, level: number, index: number): Wish<Tile> {
    const tiles = this.meta.maps[map]!.tiles[levelKey(level)]!;
    const name = tileName(map, level, index);
    const begin = tiles.begin[index]!;
    const n = tiles.end[index]! - begin;
    return {
      name,
      parse: (bytes) => {
        const rows = level === ROWS ? parseRows(bytes, n, name) : null;
        const nodes = level === ROWS ? null : parseNodes(bytes, n, name);
        const { x, y } = (rows ?? nodes)!;
        const tile: Tile = {
          map, level, index, begin, n, origin: tiles.origin[index]!, box: tiles.box[index]!, rows, nodes, x, y, arrived: performance.now(), solid: null, near: null, turned: -1,
        };
        if (this.spaces[map]) void this.deepen(tile);
        return tile;
      },
    };
  }

  peek(map: number, level: number, index: number): Tile | undefined {
    const tile = this.cache.peek<Tile>(tileName(map, level, index));
    if (tile) this.spaces[map]?.place(tile);
    return tile;
  }

  /** With places as they are turned now. */
  async load(map: number, level: number, index: number): Promise<Tile> {
    const tile = await this.cache.load(this.wish(map, level, index));
    const space = this.spaces[map];
    if (space) {
      await this.deepen(tile);
      space.place(tile);
    }
    return tile;
  }

  /** Asks for the third coordinate; until it is here, the tile is as from the front. */
  private async deepen(tile: Tile): Promise<void> {
    if (tile.solid) return;
    const name = `m${tile.map}/depth/${levelKey(tile.level)}/${tile.index}.bin`;
    await this.cache.load({ name, parse: (bytes) => new Float32Array(bytes) }).then((z) => {
      if (tile.solid) return; // it was asked for twice, and may be turned by now
      tile.solid = { x: tile.x.slice(), y: tile.y.slice(), z };
      tile.near = new Float32Array(tile.n).fill(1);
      this.cache.onArrival(name);
    }, () => undefined); // told by the cache
  }

  /** The tile with an item, if it is here, and the item's place in it. */
  find(map: number, level: number, item: number): { tile: Tile; at: number } | undefined {
    const tile = this.peek(map, level, tileOf(this.meta.maps[map]!.tiles[levelKey(level)]!, item));
    return tile && { tile, at: item - tile.begin };
  }

  async locate(map: number, level: number, item: number): Promise<{ tile: Tile; at: number }> {
    const tile = await this.load(map, level, tileOf(this.meta.maps[map]!.tiles[levelKey(level)]!, item));
    return { tile, at: item - tile.begin };
  }

  copiesWish(map: number, index: number): Wish<Uint32Array> {
    return { name: `m${map}/copies/${index}.bin`, parse: (bytes) => new Uint32Array(bytes) };
  }

  /** How many rows lie at the place of each row of a tile; asks for it if it is not here. Undefined also where each has its own. */
  copies(map: number, index: number): Uint32Array | undefined {
    if (!this.meta.maps[map]!.copies.has(index)) return undefined;
    const wish = this.copiesWish(map, index);
    const here = this.cache.peek<Uint32Array>(wish.name);
    if (!here) this.cache.load(wish).catch(() => undefined); // told by the cache
    return here;
  }

  /** How many rows lie at the place of a row, itself included. */
  async copiesOf(map: number, row: number): Promise<number> {
    const tiles = this.meta.maps[map]!.tiles[levelKey(ROWS)]!;
    const index = tileOf(tiles, row);
    if (!this.meta.maps[map]!.copies.has(index)) return 1;
    return (await this.cache.load(this.copiesWish(map, index)))[row - tiles.begin[index]!]!;
  }

  colorWish(column: Column, level: number, index: number): Wish<Uint8Array | Float32Array> {
    return {
      name: `colors/${column.key}/${levelKey(level)}/${index}.bin`,
      parse: (bytes) => (column.kind === "category" ? new Uint8Array(bytes) : new Float32Array(bytes)),
    };
  }

  loadColors(column: Column, level: number, index: number): Promise<Uint8Array | Float32Array> {
    return this.cache.load(this.colorWish(column, level, index));
  }

  peekColors(column: Column, level: number, index: number): Uint8Array | Float32Array | undefined {
    return this.cache.peek(this.colorWish(column, level, index).name);
  }
}

export function place(tile: Tile, i: number): [number, number] {
  return [tile.origin[0] + tile.x[i]!, tile.origin[1] + tile.y[i]!];
}
