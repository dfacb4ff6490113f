// Tiles: a stretch of one level in tree order, with places relative to an origin of its own.
import type { Cache, Wish } from "./cache";
import type { Box } from "./camera";
import { tileOf } from "./choose";
import { ROWS, levelKey, type Column, type Meta } from "./meta";
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
  constructor(private readonly meta: Meta, private readonly cache: Cache) {}

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
        return { map, level, index, begin, n, origin: tiles.origin[index]!, box: tiles.box[index]!, rows, nodes, x, y, arrived: performance.now() };
      },
    };
  }

  peek(map: number, level: number, index: number): Tile | undefined {
    return this.cache.peek<Tile>(tileName(map, level, index));
  }

  load(map: number, level: number, index: number): Promise<Tile> {
    return this.cache.load(this.wish(map, level, index));
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

  colorWish(column: Column, level: number, index: number): Wish<Uint8Array | Float32Array> {
    return {
      name: `colors/${column.key}/${levelKey(level)}/${index}.bin`,
      parse: (bytes) => (column.kind === "category" ? new Uint8Array(bytes) : new Float32Array(bytes)),
    };
  }

  peekColors(column: Column, level: number, index: number): Uint8Array | Float32Array | undefined {
    return this.cache.peek(this.colorWish(column, level, index).name);
  }
}

export function place(tile: Tile, i: number): [number, number] {
  return [tile.origin[0] + tile.x[i]!, tile.origin[1] + tile.y[i]!];
}
