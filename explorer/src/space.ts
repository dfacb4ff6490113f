// A map in space: places are turned here, so that all other parts see a plane, the one the reader looks at.
import type { Box } from "./camera";
import type { MapMeta } from "./meta";
import type { Tile } from "./tiles";

export interface Turn {
  yaw: number; // degrees about the upright axis
  pitch: number; // and about the level one
}

/** Places of a tile as they are in the store. */
export interface Solid {
  x: Float32Array;
  y: Float32Array;
  z: Float32Array;
}

const STEEPEST = 90; // degrees

export class Space {
  turn: Turn = { yaw: 0, pitch: 0 };
  version = 0; // grows with every turn
  private readonly boxes: { box: Box; flat: Box; reach: [number, number] }[] = [];
  private readonly radius: number;
  private matrix = matrixOf(this.turn);

  constructor(map: MapMeta) {
    const { tiles, space, bounds } = map;
    this.middle = space!.middle;
    this.radius = (bounds[2] - bounds[0]) / 2;
    for (const [level, own] of Object.entries(tiles))
      own.box.forEach((box, t) => this.boxes.push({ box, flat: [...box], reach: space!.reach[level]![t]! }));
  }

  private readonly middle: readonly [number, number, number];

  turnTo({ yaw, pitch }: Turn): void {
    this.turn = { yaw: ((yaw % 360) + 360) % 360, pitch: Math.min(Math.max(pitch, -STEEPEST), STEEPEST) };
    this.matrix = matrixOf(this.turn);
    this.version++;
    for (const { box, flat, reach } of this.boxes) box.splice(0, 4, ...this.around(flat, reach));
  }

  /** Brings a tile's places up to date; true if they changed. */
  place(tile: Tile): boolean {
    const { solid } = tile;
    if (!solid || tile.turned === this.version) return false;
    const [cx, cy] = this.middle;
    const [ox, oy] = tile.origin;
    for (let i = 0; i < tile.n; i++) {
      const [x, y, depth] = this.turned(ox + solid.x[i]! - cx, oy + solid.y[i]! - cy, solid.z[i]!);
      tile.x[i] = cx + x - ox;
      tile.y[i] = cy + y - oy;
      tile.near![i] = 0.5 + depth / (2 * this.radius);
    }
    tile.turned = this.version;
    return true;
  }

  /** Right, up and towards the reader, from the middle of the map. */
  private turned(x: number, y: number, z: number): [number, number, number] {
    const [a, b, c, d, e, f, g, h, i] = this.matrix;
    return [a! * x + b! * y + c! * z, d! * x + e! * y + f! * z, g! * x + h! * y + i! * z];
  }

  /** The part of the plane that a box in space may take. */
  private around([x0, y0, x1, y1]: Box, [z0, z1]: [number, number]): Box {
    const [cx, cy] = this.middle;
    const corners = [x0, x1].flatMap((x) => [y0, y1].flatMap((y) => [z0, z1].map((z) => this.turned(x - cx, y - cy, z))));
    const xs = corners.map((corner) => cx + corner[0]);
    const ys = corners.map((corner) => cy + corner[1]);
    return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  }
}

/** Rows: what is right, up and near on the screen, of a turn about the upright axis and then the level one. */
export function matrixOf({ yaw, pitch }: Turn): number[] {
  const [a, b] = [(yaw * Math.PI) / 180, (pitch * Math.PI) / 180];
  const [ca, sa, cb, sb] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
  return [ca, 0, sa, sb * sa, cb, -sb * ca, -cb * sa, sb, cb * ca];
}
