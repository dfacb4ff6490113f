// The GPU's part of a view: areas and borders of clusters, discs of rows and nodes.
import { middle, viewBox, type Box, type Size, type View } from "./camera";
import { coarserLevel, countInside, pointOpacity, pointRadius, roomyRadius, visibleTiles } from "./choose";
import { parseColor } from "./colors";
import { LAYERS, type Discs } from "./gl/points";
import type { Stage } from "./gl/stage";
import { Layers } from "./layers";
import { ROWS, levelKey } from "./meta";
import type { Shared } from "./shared";
import type { Tile } from "./tiles";

const ARRIVE = 220; // milliseconds until a tile is fully there
const LARGEST = 240; // radius of a disc, in pixels
const PALE = { row: 0.42, node: 0.28 }; // opacity of what is filtered out: enough to see where the map is
const FILTERED = [LAYERS.out, LAYERS.left, LAYERS.through];
const SIZES = [0.55, 2.3]; // of rows with the lowest and the highest value, over the size without a column
const ONE_SIZE = [1, 1];
const DISC_SHARE = 0.16; // of the map's area covered by all discs of a level

export class Ground {
  private readonly fades = new Layers();
  private readonly stamps = new WeakMap<Uint32Array, number>();
  private stamped = 0;
  private readonly discUnit: number; // radius of a node of one row

  constructor(private readonly stage: Stage, private readonly shared: Shared, private readonly map: number) {
    const [x0, y0, x1, y1] = shared.meta.maps[map]!.frame;
    this.discUnit = Math.sqrt(((x1 - x0) * (y1 - y0) * DISC_SHARE) / (Math.PI * Math.max(shared.meta.nRows, 1)));
  }

  get canvas(): HTMLCanvasElement {
    return this.stage.canvas;
  }

  release(tile: Tile): void {
    if (tile.map === this.map) this.stage.points.release(tile);
  }

  nodeRadius(size: number): number {
    return this.discUnit * Math.sqrt(size);
  }

  rowRadius(view: View): number {
    return pointRadius(this.shared.tree.rowGap(this.map) * view.scale);
  }

  clear(size: Size, pixels: number): void {
    const { gl } = this.stage;
    const [r, g, b] = parseColor(this.shared.painter.theme.background);
    gl.viewport(0, 0, Math.round(size.width * pixels), Math.round(size.height * pixels));
    gl.clearColor(r / 255, g / 255, b / 255, 1);
    gl.depthMask(true);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (this.inSpace) gl.enable(gl.DEPTH_TEST);
    else gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Areas and borders; true while they fade. */
  drawCoasts(view: View, size: Size, focus: number, now: number): boolean {
    const { meta, tree, painter } = this.shared;
    const level = this.outlinedLevel(focus);
    if (level === null) return false;
    const mosaic = meta.maps[this.map]!.layout === "mosaic";
    const known = tree.outline(level, this.map) !== undefined;
    const moving = this.fades.update(level, { fraction: known ? 1 : 0, fallback: null }, now);
    const column = painter.column !== null;
    const origin = middle(meta.maps[this.map]!.frame);
    for (const [k, alpha] of this.fades.drawn) {
      if (!this.prepareCoast(k)) continue;
      const near = k === focus;
      const fill = near ? (column ? 0.07 : mosaic ? 0.2 : 0.15) : 0.05;
      this.stage.coasts.draw(k, origin, view, size, { fill: fill * alpha, border: (near ? 0.16 : 0.1) * alpha, width: 7, soft: 1 });
      this.stage.coasts.draw(k, origin, view, size, { fill: 0, border: (near ? 0.55 : 0.3) * alpha, width: 1.1, soft: 0.3 });
    }
    const coarse = coarserLevel(meta, level);
    if (coarse !== null && this.prepareCoast(coarse))
      this.stage.coasts.draw(coarse, origin, view, size, { fill: 0, border: 0.5, width: mosaic ? 3 : 2, soft: 0.5 });
    return moving;
  }

  private prepareCoast(level: number): boolean {
    const { tree, painter } = this.shared;
    const outlines = tree.outline(level, this.map);
    const colors = painter.column ? null : painter.ofLevel(level);
    if (!outlines || colors === undefined) return false;
    const share = this.shareOfLevel(level);
    this.stage.coasts.prepare(level, outlines, `${painter.version} ${share.stamp}`, (n) => {
      const part = share.of(n);
      return { rgb: (part > 0 ? colors?.[n] : null) ?? painter.theme.quiet, alpha: part > 0 ? 0.35 + 0.65 * Math.sqrt(part) : 0.3 };
    });
    return true;
  }

  /** Asks what the filters let through of the areas that are drawn. */
  askAreas(focus: number): void {
    const level = this.outlinedLevel(focus);
    if (level === null) return;
    this.shareOfLevel(level);
    const coarse = coarserLevel(this.shared.meta, level);
    if (coarse !== null) this.shareOfLevel(coarse);
  }

  /** What part of each cluster passes the filters, and a stamp that changes with it. */
  private shareOfLevel(level: number): { of: (node: number) => number; stamp: number } {
    const { meta, tree, shares } = this.shared;
    const data = shares.active ? tree.level(level) : undefined;
    const counts = data && shares.ofLevel(level, meta.levels[level]!.nNodes);
    if (!data || !counts) return { of: () => 1, stamp: 0 };
    let stamp = this.stamps.get(counts);
    if (stamp === undefined) this.stamps.set(counts, (stamp = ++this.stamped));
    return { of: (n) => counts[n]! / (data.size[n]! || 1), stamp };
  }

  /** The level in focus, or the finest coarser one that has outlines. */
  outlinedLevel(focus: number): number | null {
    const { meta } = this.shared;
    for (let k = focus; k < meta.levels.length; k++) if (meta.outlined.has(k)) return k;
    return null;
  }

  private get inSpace(): boolean {
    return this.shared.tiles.spaces[this.map] !== null;
  }

  tilesOf(level: number, box: Box): Tile[] {
    const tiles = this.shared.meta.maps[this.map]!.tiles[levelKey(level)]!;
    return visibleTiles(tiles, box)
      .map((t) => this.shared.tiles.peek(this.map, level, t))
      .filter((t): t is Tile => t !== undefined);
  }

  /** Discs of one level; true while tiles fade in. `standIn`: the level stands in for a finer one that is on its way. */
  drawItems(level: number, alpha: number, tiles: Tile[], view: View, size: Size, pixels: number, now: number, hide: number, standIn: boolean): boolean {
    const { painter, shares } = this.shared;
    const filtered = shares.active;
    for (const tile of tiles) {
      const radius = () => Float32Array.from(tile.nodes!.size, (s) => this.nodeRadius(s));
      this.stage.points.prepare(tile, painter.version, radius, () => painter.paint(tile), filtered || shares.sized ? shares.of(tile) : null, this.inSpace);
    }
    const age = (tile: Tile) => Math.min((now - tile.arrived) / ARRIVE, 1);
    const most = standIn ? roomyRadius(countInside(tiles, viewBox(view, size)), size) : LARGEST;
    const discs = level === ROWS ? this.rowDiscs(view, alpha * (1 - hide)) : { radiusScale: view.scale, least: 1.3, most, opacity: 0.8 * alpha, rim: 0.25 };
    const pale = [...painter.theme.quiet.map((v) => v / 255), level === ROWS ? PALE.row : PALE.node];
    for (const layer of filtered ? (shares.haunted ? FILTERED : FILTERED.filter((l) => l !== LAYERS.left)) : [LAYERS.all]) {
      this.stage.gl.depthMask(layer === LAYERS.all || layer === LAYERS.through); // what is pale hides nothing
      this.stage.points.draw(tiles, view, size, pixels, discs, layer, pale, shares.sized ? SIZES : ONE_SIZE, age);
    }
    return tiles.some((tile) => age(tile) < 1);
  }

  private rowDiscs(view: View, alpha: number): Discs {
    const gap = this.shared.tree.rowGap(this.map) * view.scale;
    const radius = pointRadius(gap);
    return { radiusScale: 0, least: radius, most: radius, opacity: pointOpacity(gap) * alpha, rim: radius > 3 ? 0.28 : 0 };
  }
}
