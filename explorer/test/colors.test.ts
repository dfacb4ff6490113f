import assert from "node:assert/strict";
import test from "node:test";
import { PALETTE, THEMES, baseColors, hueLevel, levelColors, numberColor, parseColor, shade, toOklab, toRgb } from "../src/colors";

test("OKLab and back", () => {
  for (const hex of PALETTE) {
    const rgb = parseColor(hex);
    toRgb(toOklab(rgb)).forEach((v, i) => assert.ok(Math.abs(v - rgb[i]!) < 0.5));
  }
});

test("the hue level has about nine clusters, sixteen at most", () => {
  assert.equal(hueLevel([5000, 400, 40, 12, 3], 0), 3);
  assert.equal(hueLevel([5000, 400, 40, 12, 3], 4), 4);
  assert.equal(hueLevel([5000, 400], 0), 1);
});

test("siblings are told apart and stay near their parent's hue", () => {
  const parent = parseColor(PALETTE[0]!);
  const shades = shade(parent, 5, THEMES.light, 0.32, 0.3);
  assert.equal(new Set(shades.map(String)).size, 5);
  const hue = ([, a, b]: number[]) => Math.atan2(b!, a!);
  for (const color of shades) assert.ok(Math.abs(hue(toOklab(color)) - hue(toOklab(parent))) < 0.5);
  assert.equal(shade(parent, 0, THEMES.light, 0.3, 0.3).length, 0);
});

test("every node of every level down has a colour", () => {
  const sizes = [7, 4, 2];
  const levels = [
    { children: Uint32Array.of(0) }, { children: Uint32Array.of(0, 3, 4, 6, 7) }, { children: Uint32Array.of(0, 1, 4) },
  ];
  const colors = levelColors(sizes, 2, 0, THEMES.dark, (k) => levels[k]!);
  assert.deepEqual([2, 1, 0].map((k) => colors.get(k)!.length), [2, 4, 7]);
  for (const all of colors.values()) for (const c of all) assert.ok(c.every((v) => v >= 0 && v <= 255));
});

test("more groups than the palette has", () => {
  for (const theme of [THEMES.light, THEMES.dark]) {
    const lab = baseColors(30, theme).map(toOklab);
    for (let i = 0; i < 22; i++) for (let j = 0; j < i; j++)
      assert.ok(Math.hypot(...lab[i]!.map((v, k) => v - lab[j]![k]!)) > 0.05, `${theme.name}: ${i} and ${j} look alike`);
    assert.equal(new Set(lab.map(String)).size, 30);
  }
});

test("numbers: darker to lighter, clamped", () => {
  const light = [0, 0.3, 0.7, 1].map((v) => toOklab(numberColor(v, THEMES.light))[0]);
  assert.ok(light.every((v, i) => i === 0 || v > light[i - 1]!));
  assert.deepEqual(numberColor(5, THEMES.light), numberColor(1, THEMES.light));
});
