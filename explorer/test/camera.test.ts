import assert from "node:assert/strict";
import test from "node:test";
import { fitBox, flight, limit, toScreen, toWorld, viewBox, zoomAt } from "../src/camera";

const SIZE = { width: 800, height: 600 };

test("screen and world are inverse, y up", () => {
  const view = { x: 3, y: -2, scale: 40 };
  const [px, py] = toScreen(view, SIZE, 4, -1);
  assert.deepEqual([px, py], [440, 260]);
  assert.deepEqual(toWorld(view, SIZE, px, py), [4, -1]);
});

test("a fitted box lies inside the view, in the middle", () => {
  const view = fitBox([0, 0, 10, 2], SIZE, 0.1);
  const [x0, y0, x1, y1] = viewBox(view, SIZE);
  assert.ok(x0 < 0 && x1 > 10 && y0 < 0 && y1 > 2);
  assert.equal(view.scale, 64);
  assert.ok(Number.isFinite(fitBox([1, 1, 1, 1], SIZE).scale));
});

test("zooming keeps the place under the pointer, also very deep", () => {
  let view = { x: 0.123456789, y: 9.87654321, scale: 10 };
  const before = toWorld(view, SIZE, 100, 500);
  for (let i = 0; i < 40; i++) view = zoomAt(view, SIZE, 100, 500, 1.5);
  const after = toWorld(view, SIZE, 100, 500);
  assert.ok(Math.abs(before[0] - after[0]) * view.scale < 0.01 && Math.abs(before[1] - after[1]) * view.scale < 0.01);
});

test("a flight starts and ends where it should, and zooms out on long ways", () => {
  const [from, to] = [{ x: 0, y: 0, scale: 100 }, { x: 500, y: 100, scale: 80 }];
  const { at, seconds } = flight(from, to, SIZE);
  assert.ok(seconds > 0);
  const near = (a: number, b: number) => Math.abs(a - b) < 1e-6 * Math.max(1, Math.abs(b));
  assert.ok(near(at(0).x, 0) && near(at(0).scale, 100));
  assert.ok(near(at(1).x, 500) && near(at(1).y, 100) && near(at(1).scale, 80));
  assert.ok(at(0.5).scale < 40);
  const zoom = flight(from, { ...from, scale: 400 }, SIZE);
  assert.ok(near(zoom.at(0.5).scale, 200) && near(zoom.at(1).scale, 400));
});

test("limits hold the centre and the zoom", () => {
  const view = limit({ x: 50, y: -50, scale: 1e9 }, { bounds: [0, 0, 1, 1], minScale: 1, maxScale: 1000 });
  assert.deepEqual(view, { x: 1, y: 0, scale: 1000 });
});
