// Binary files of the store as typed arrays; a file of another length is refused, not read past its end.
import { StoreError } from "./meta";

export interface RowTile {
  n: number;
  x: Float32Array;
  y: Float32Array;
  row: Uint32Array;
  parent: Uint32Array;
}

export interface NodeTile {
  n: number;
  x: Float32Array;
  y: Float32Array;
  radius: Float32Array;
  size: Uint32Array;
  firstRow: Uint32Array;
  children: Uint32Array; // n + 1
  parent: Uint32Array;
  cluster: Uint32Array;
}

export interface Outline {
  rings: Float32Array[]; // x, y, x, y, … relative to the centre of the map
}

/** A cluster that does not lie in one place: in how many (0: scattered), and where its largest piece is. */
export interface Split {
  places: number;
  x: number; // relative to the centre of the map
  y: number;
  radius: number;
}

class Reader {
  private at = 0;
  constructor(private readonly buffer: ArrayBuffer, private readonly name: string) {}

  floats(n: number): Float32Array {
    return new Float32Array(this.buffer, this.step(4 * n), n);
  }

  ints(n: number): Uint32Array {
    return new Uint32Array(this.buffer, this.step(4 * n), n);
  }

  end(): void {
    if (this.at !== this.buffer.byteLength) throw new StoreError(`${this.name} is longer than it should be.`);
  }

  private step(bytes: number): number {
    const at = this.at;
    if (at + bytes > this.buffer.byteLength) throw new StoreError(`${this.name} is cut off.`);
    this.at += bytes;
    return at;
  }
}

export function parseRows(buffer: ArrayBuffer, n: number, name = "a tile"): RowTile {
  const read = new Reader(buffer, name);
  const tile = { n, x: read.floats(n), y: read.floats(n), row: read.ints(n), parent: read.ints(n) };
  read.end();
  return tile;
}

export function parseNodes(buffer: ArrayBuffer, n: number, name = "a tile"): NodeTile {
  const read = new Reader(buffer, name);
  const tile = {
    n, x: read.floats(n), y: read.floats(n), radius: read.floats(n), size: read.ints(n), firstRow: read.ints(n),
    children: read.ints(n + 1), parent: read.ints(n), cluster: read.ints(n),
  };
  read.end();
  return tile;
}

export function parseOutlines(buffer: ArrayBuffer, name = "outlines"): Outline[] {
  const read = new Reader(buffer, name);
  const nNodes = read.ints(1)[0]!;
  const nRings = read.ints(nNodes);
  const total = nRings.reduce((sum, n) => sum + n, 0);
  const nPoints = read.ints(total);
  let ring = 0;
  const outlines: Outline[] = [];
  for (const count of nRings) {
    const rings: Float32Array[] = [];
    for (let r = 0; r < count; r++) rings.push(read.floats(2 * nPoints[ring++]!));
    outlines.push({ rings });
  }
  read.end();
  return outlines;
}

/** By the number of the cluster in its level. */
export function parsePieces(buffer: ArrayBuffer, name = "pieces"): Map<number, Split> {
  const read = new Reader(buffer, name);
  const n = read.ints(1)[0]!;
  const [node, places, x, y, radius] = [read.ints(n), read.ints(n), read.floats(n), read.floats(n), read.floats(n)];
  read.end();
  return new Map(Array.from(node, (index, i) => [index, { places: places[i]!, x: x[i]!, y: y[i]!, radius: radius[i]! }]));
}

export function parseJson(buffer: ArrayBuffer): unknown {
  return JSON.parse(new TextDecoder().decode(buffer));
}
