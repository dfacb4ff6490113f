import assert from "node:assert/strict";
import test from "node:test";
import { Cache } from "../src/cache";
import { ROWS, type MapMeta, type Meta } from "../src/meta";
import { Space, matrixOf } from "../src/space";
import { TileFiles, type Tile } from "../src/tiles";

const near = (a: ArrayLike<number>, b: readonly number[]) => b.forEach((v, i) => assert.ok(Math.abs(a[i]! - v) < 1e-5, `${Array.from(a)} is not ${b}`));

function space(): { own: Space; map: MapMeta; tile: Tile } {
  const map = {
    bounds: [0, 0, 20, 20], tiles: { rows: { begin: [0], end: [2], origin: [[10, 10]], box: [[9, 10, 12, 10]] } },
    space: { middle: [10, 10, 0], reach: { rows: [[-3, 3]] } },
  } as unknown as MapMeta;
  const tile = {
    n: 2, origin: [10, 10], x: Float32Array.of(2, -1), y: Float32Array.of(0, 0), near: new Float32Array(2), turned: -1,
    solid: { x: Float32Array.of(2, -1), y: Float32Array.of(0, 0), z: Float32Array.of(0, 3) },
  } as unknown as Tile;
  return { own: new Space(map), map, tile };
}

test("a turn is a rotation", () => {
  const m = matrixOf({ yaw: 33, pitch: -71 });
  for (let i = 0; i < 3; i++)
    for (let j = 0; j < 3; j++) {
      const dot = [0, 1, 2].reduce((sum, k) => sum + m[3 * i + k]! * m[3 * j + k]!, 0);
      assert.ok(Math.abs(dot - Number(i === j)) < 1e-12);
    }
  near(matrixOf({ yaw: 0, pitch: 0 }), [1, 0, 0, 0, 1, 0, 0, 0, 1]);
});

test("places follow a turn, and come back", () => {
  const { own, map, tile } = space();
  own.place(tile);
  near(tile.x, [2, -1]);
  near(tile.near!, [0.5, 0.65]);
  own.turnTo({ yaw: 90, pitch: 0 }); // what was behind or before is right or left now
  assert.ok(own.place(tile));
  assert.ok(!own.place(tile));
  near(tile.x, [0, 3]);
  near(tile.near!, [0.4, 0.55]);
  const [x0, , x1] = map.tiles.rows!.box[0]!;
  assert.ok(x0 <= 10 && x1 >= 13);
  own.turnTo({ yaw: 360, pitch: 0 });
  own.place(tile);
  near(tile.x, [2, -1]);
  near(map.tiles.rows!.box[0]!, [9, 10, 12, 10]);
});

test("nobody looks at a map upside down", () => {
  const { own } = space();
  own.turnTo({ yaw: -30, pitch: 200 });
  assert.deepEqual(own.turn, { yaw: 330, pitch: 90 });
});

test("a tile that is loaded for a lasso has its places as they are turned, also the second time", async () => {
  const { map } = space();
  const files: Record<string, ArrayBuffer> = {
    "m0/rows/0.bin": new Uint8Array([Float32Array.of(2, -1), Float32Array.of(0, 0), new Float32Array(4)].flatMap((part) => [...new Uint8Array(part.buffer)])).buffer,
    "m0/depth/rows/0.bin": Float32Array.of(0, 3).buffer,
  };
  const cache = new Cache({ transferred: 0, get: (name) => Promise.resolve(files[name]!) });
  const tiles = new TileFiles({ maps: [map] } as Meta, cache);
  tiles.spaces[0]!.turnTo({ yaw: 90, pitch: 0 });
  near((await tiles.load(0, ROWS, 0)).x, [0, 3]);
  tiles.spaces[0]!.turnTo({ yaw: 0, pitch: 0 });
  near((await tiles.load(0, ROWS, 0)).x, [2, -1]);
});
