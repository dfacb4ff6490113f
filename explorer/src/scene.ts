// What lies over the map in its present state: thumbnails, the open cluster, the open row and its neighbours, hits.
import { middle, toScreen, type Box } from "./camera";
import { css } from "./colors";
import { ROWS } from "./meta";
import type { Drawing, Mark, Picture, Place, Tie } from "./overlay";
import { bundlesOf } from "./tears";
import { place } from "./tiles";
import type { NodeId } from "./tree";
import type { MapView } from "./view";

const MOST_PICTURES = 700;
const MOST_HITS = 500;

export function compose(view: MapView): { drawing: Omit<Drawing, "names">; hide: number } {
  const { store } = view.shared;
  const state = store.now;
  const pictures = choosePictures(view);
  const size = pictureSize(view);
  const radius = Math.max(view.ground.rowRadius(view.view), pictures.length ? size / 2 : 0);
  const marks: Mark[] = [];
  const mark = (row: number, kind: Mark["kind"], extra: number) => {
    const at = placeOfRow(view, row);
    if (at) marks.push({ at, radius: radius + extra, kind });
  };
  if (view.level !== ROWS) marks.push(...marksBeyond(view));
  for (const row of state.hits.slice(0, MOST_HITS)) mark(row, "hit", 3);
  for (const row of state.neighbors) mark(row, "neighbor", 2);
  if (state.hover !== null) mark(state.hover, "hover", 3);
  if (state.row !== null) mark(state.row, "row", 4);
  const from = state.row === null ? null : placeOfRow(view, state.row);
  const cluster = state.cluster ? clusterShape(view, state.cluster) : null;
  return {
    drawing: {
      hot: view.hot, bundles: bundlesOf(view.shared, view.index), copies: chooseCopies(view, radius), rings: cluster?.rings ?? [], circle: cluster?.circle ?? null, from,
      ties: from ? state.neighbors.map((other) => tieOf(view, state.row!, other)).filter((tie) => tie !== null) : [], marks, pictures, pictureSize: size, lasso: view.lasso,
    },
    hide: pictures.length ? 0.6 : 0,
  };
}

const COPIES = { gap: 12, most: 400 }; // pixels between rows from which on counts are written, and how many

/** Where several rows lie at one place, close up: how many. */
function chooseCopies(view: MapView, radius: number): Drawing["copies"] {
  const { tiles, meta } = view.shared;
  const found: { at: Place; count: number; beside: number }[] = [];
  if (view.level !== ROWS || view.gap < COPIES.gap || !meta.maps[view.index]!.copies.size) return found;
  const said = new Set<string>();
  for (const tile of view.visible()) {
    const copies = tiles.copies(view.index, tile.index);
    if (!copies) continue;
    for (let i = 0; i < tile.n && found.length < COPIES.most; i++) {
      if (copies[i]! < 2) continue;
      const at = place(tile, i);
      const [px, py] = toScreen(view.view, view.size, ...at);
      if (px < 0 || py < 0 || px > view.size.width || py > view.size.height || said.has(at.join())) continue;
      said.add(at.join());
      found.push({ at, count: copies[i]!, beside: radius });
    }
  }
  return found;
}

const RING = { least: 3, most: 9 }; // pixels

/** Where rows lie beyond the frame: nodes are drawn where most of their rows are, which may be within it. */
function marksBeyond(view: MapView): Mark[] {
  return view.shared.meta.maps[view.index]!.beyond.map(({ box, nRows }) => ({
    at: middle(box), radius: Math.min(RING.least + Math.sqrt(nRows), RING.most), kind: "neighbor",
  }));
}

/** Where a row lies: exactly if its tile is here, else the middle of the smallest cluster that is. */
export function placeOfRow(view: MapView, row: number): Place | null {
  const { tiles, tree } = view.shared;
  const found = tiles.find(view.index, ROWS, row);
  if (found) return place(found.tile, found.at);
  for (let level = 0; level <= tree.top; level++) {
    if (!tree.held(level)) continue;
    const data = tree.level(level, view.index);
    const index = data && tree.nodeOfRow(row, level);
    if (data && index !== undefined) return [data.x[index]!, data.y[index]!];
  }
  return null;
}

const FAR = 0.1; // of the map's width or height

/** Where a true neighbour lies in the map, and whether the map tears it away: into another cluster, or far off. */
export function tieOf(view: MapView, row: number, other: number): (Tie & { distance: number }) | null {
  const { meta, tree, store } = view.shared;
  const [from, to] = [placeOfRow(view, row), placeOfRow(view, other)];
  if (!from || !to) return null;
  const [x0, y0, x1, y1] = meta.maps[view.index]!.frame;
  const distance = Math.hypot(to[0] - from[0], to[1] - from[1]);
  const { focus } = store.now;
  const elsewhere = tree.nodeOfRow(other, focus) !== tree.nodeOfRow(row, focus);
  return { to, distance, torn: elsewhere || distance > FAR * Math.max(x1 - x0, y1 - y0) };
}

function clusterShape(view: MapView, { level, index }: NodeId): { rings: Place[][]; circle: { at: Place; radius: number } | null } {
  const { meta, tree } = view.shared;
  const outline = tree.outline(level, view.index)?.[index];
  if (outline?.rings.length) {
    const [cx, cy] = middle(meta.maps[view.index]!.frame);
    const rings = outline.rings.map((ring) =>
      Array.from({ length: ring.length / 2 }, (_, i): Place => [cx + ring[2 * i]!, cy + ring[2 * i + 1]!]));
    return { rings, circle: null };
  }
  const data = tree.held(level) ? tree.level(level, view.index) : undefined;
  if (data) return { rings: [], circle: { at: [data.x[index]!, data.y[index]!], radius: data.radius[index]! } };
  const found = view.shared.tiles.find(view.index, level, index);
  if (!found) return { rings: [], circle: null };
  return { rings: [], circle: { at: place(found.tile, found.at), radius: found.tile.nodes!.radius[found.at]! } };
}

/** The part of the map that a cluster takes. */
export async function clusterBox(view: MapView, id: NodeId): Promise<Box> {
  const { rings, circle } = clusterShape(view, id);
  if (rings.length) {
    const xs = rings.flat().map((p) => p[0]);
    const ys = rings.flat().map((p) => p[1]);
    const least = (v: number[]) => v.reduce((a, b) => Math.min(a, b), Infinity);
    const most = (v: number[]) => v.reduce((a, b) => Math.max(a, b), -Infinity);
    return [least(xs), least(ys), most(xs), most(ys)];
  }
  let at = circle?.at;
  let radius = circle?.radius ?? 0;
  if (!at) {
    const { tile, at: i } = await view.shared.tiles.locate(view.index, id.level, id.index);
    at = place(tile, i);
    radius = tile.nodes!.radius[i]!;
  }
  const r = radius * 1.25 || 20 / view.home().scale;
  return [at[0] - r, at[1] - r, at[0] + r, at[1] + r];
}

function pictureSize(view: MapView): number {
  const images = view.shared.meta.images;
  if (!images) return 0;
  return Math.min(Math.max(view.gap * 0.42, 13), 2.2 * Math.max(images.width, 20), 64);
}

/** Thumbnails in place of discs when few rows are in view. */
function choosePictures(view: MapView): Picture[] {
  const { meta, rows, painter, shares } = view.shared;
  const images = meta.images;
  if (!images || view.level !== ROWS || view.gap < 31) return [];
  const chosen: Picture[] = [];
  for (const tile of view.visible()) {
    const { rgba } = painter.paint(tile);
    for (let i = 0; i < tile.n; i++) {
      const at = place(tile, i);
      const [px, py] = toScreen(view.view, view.size, ...at);
      if (px < -40 || py < -40 || px > view.size.width + 40 || py > view.size.height + 40 || rgba[4 * i + 3]! < 60 || !shares.passes(tile, i)) continue;
      if (chosen.length >= MOST_PICTURES) return [];
      const thumbnail = rows.thumbnail(tile.begin + i);
      if (!thumbnail) continue;
      const color = css([rgba[4 * i]!, rgba[4 * i + 1]!, rgba[4 * i + 2]!]);
      chosen.push({ at, ...thumbnail, width: images.width, height: images.height, color });
    }
  }
  return chosen;
}
