// Colours, as nestmap.plots.colors has them: few hues that colour-blind people tell apart, children in shades of them.

export type Rgb = [number, number, number]; // 0 … 255
export type ThemeName = "light" | "dark";

// Okabe and Ito (2008), and four that keep the greatest distance from them for all kinds of colour blindness
export const PALETTE = [
  "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#961E1E", "#A569FF", "#F0E442", "#A5D2A5", "#4BF0FF",
];

// matplotlib's cividis: from dark blue to yellow, the same for colour-blind people
const CIVIDIS = [
  "#00224e", "#002e6a", "#1a386f", "#32436d", "#434e6c", "#535a6d", "#61656f", "#6f7073", "#7d7c78", "#8c8878", "#9b9476",
  "#aba072", "#bcae6c", "#cdbb63", "#dec958", "#f0d846", "#fee838",
];

export interface Theme {
  name: ThemeName;
  background: string;
  text: string;
  halo: string;
  line: string;
  quiet: Rgb;
  lightest: number; // in OKLab
  darkest: number;
  scale: [number, number]; // the part of a scale of numbers that stands out
}

export const THEMES: Record<ThemeName, Theme> = {
  light: {
    name: "light", background: "#f6f7f9", text: "#1a1d21", halo: "rgba(250, 251, 252, 0.9)", line: "#4a4a4a",
    quiet: [181, 181, 181], lightest: 0.83, darkest: 0.42, scale: [0, 0.95],
  },
  dark: {
    name: "dark", background: "#12151a", text: "#f2f2f2", halo: "rgba(14, 17, 21, 0.85)", line: "#c8c8c8",
    quiet: [90, 95, 102], lightest: 0.92, darkest: 0.52, scale: [0.22, 1],
  },
};

export function parseColor(hex: string): Rgb {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)) as Rgb;
}

export function css([r, g, b]: Rgb, alpha = 1): string {
  return `rgba(${Math.round(r)}, ${Math.round(g)}, ${Math.round(b)}, ${alpha})`;
}

/** Lightness and two opponent axes, about as different as colours look (Ottosson 2020). */
export function toOklab(rgb: Rgb): [number, number, number] {
  const [r, g, b] = rgb.map((v) => {
    const u = v / 255;
    return u <= 0.04045 ? u / 12.92 : ((u + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

export function toRgb([L, a, b]: [number, number, number]): Rgb {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((v) => {
    const u = Math.min(Math.max(v, 0), 1);
    return 255 * (u <= 0.0031308 ? 12.92 * u : 1.055 * u ** (1 / 2.4) - 0.055);
  }) as Rgb;
}

const within = (L: number, theme: Theme): number => Math.min(Math.max(L, theme.darkest), theme.lightest);

const STEPS = [-0.13, 0.13, -0.07, 0.07]; // in lightness: from a group to others of the same hue

/** Colours of n groups: the palette, then the palette darker and lighter, as far as the theme has room. */
export function baseColors(n: number, theme: Theme): Rgb[] {
  return Array.from({ length: n }, (_, i) => {
    const [own, a, b] = toOklab(parseColor(PALETTE[i % PALETTE.length]!));
    const L = within(own, theme);
    const room = STEPS.filter((step) => within(L + step, theme) === L + step);
    const round = Math.floor(i / PALETTE.length);
    return toRgb([round ? L + room[(round - 1) % room.length]! : L, a, b]);
  });
}

/** Shades of a parent's colour for its children, darker to lighter and turned a little; neighbours far apart. */
export function shade(parent: Rgb, siblings: number, theme: Theme, spread: number, turn: number): Rgb[] {
  const [L, a, b] = toOklab(parent);
  if (siblings <= 1) return siblings ? [toRgb([within(L, theme), a, b])] : [];
  const middle = Math.min(Math.max(L, theme.darkest + spread / 2), theme.lightest - spread / 2);
  return Array.from({ length: siblings }, (_, i) => {
    const rank = i % 2 === 0 ? i / 2 : siblings - 1 - (i - 1) / 2;
    const place = rank / (siblings - 1) - 0.5;
    const [c, s] = [Math.cos(place * turn), Math.sin(place * turn)];
    return toRgb([within(middle + place * spread, theme), c * a - s * b, s * a + c * b]);
  });
}

const HUES = 9;
const MOST_HUES = 16;

/** The level whose clusters have a hue each: about nine of them, sixteen at most, not below `lowest`; or the top. */
export function hueLevel(sizes: readonly number[], lowest: number): number {
  let best = sizes.length - 1;
  let distance = Infinity;
  for (let k = lowest; k < sizes.length; k++) {
    const d = Math.abs(Math.log(sizes[k]! / HUES));
    if (sizes[k]! <= MOST_HUES && d < distance) [best, distance] = [k, d];
  }
  return best;
}

export interface Shaded {
  children: Uint32Array; // children of node i of this level: children[i] … children[i + 1] of the level below
}

/**
 * Colours of the nodes of each level from the hue level down to `lowest`: level(k) gives the children of level k.
 * Below the second level shades spread more than in nestmap.plots: who zooms in wants to tell siblings apart.
 */
export function levelColors(
  sizes: readonly number[], hue: number, lowest: number, theme: Theme, level: (k: number) => Shaded,
): Map<number, Rgb[]> {
  const colors = new Map<number, Rgb[]>([[hue, baseColors(sizes[hue]!, theme)]]);
  for (let k = hue - 1, step = 0; k >= lowest; k--, step++) {
    const parents = colors.get(k + 1)!;
    const { children } = level(k + 1);
    const spread = [0.32, 0.26][step] ?? 0.22;
    const turn = [0.3, 0.4][step] ?? 0.4;
    const below: Rgb[] = [];
    parents.forEach((color, i) => below.push(...shade(color, children[i + 1]! - children[i]!, theme, spread, turn)));
    colors.set(k, below);
  }
  return colors;
}

const STOPS = CIVIDIS.map(parseColor);

/** Colour of a number from 0 to 1. */
export function numberColor(value: number, theme: Theme): Rgb {
  const [low, high] = theme.scale;
  const at = (low + Math.min(Math.max(value, 0), 1) * (high - low)) * (STOPS.length - 1);
  const i = Math.min(Math.floor(at), STOPS.length - 2);
  const [p, q] = [STOPS[i]!, STOPS[i + 1]!];
  return p.map((v, c) => v + (q[c]! - v) * (at - i)) as Rgb;
}
