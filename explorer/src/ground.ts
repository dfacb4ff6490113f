// The GPU's part of a view: areas and borders of clusters, discs of rows and nodes.
import type { Box, Size, View } from "./camera";
import { coarserLevel, pointOpacity, pointRadius, visibleTiles } from "./choose";
import { parseColor } from "./colors";
import { Coasts } from "./gl/coasts";
import { Points, type Discs } from "./gl/points";
import { Layers } from "./layers";
import { ROWS, StoreError, levelKey } from "./meta";
import type { Shared } from "./shared";
import type { Tile } from "./tiles";

const ARRIVE = 220; // milliseconds until a tile is fully there
const DISC_SHARE = 0.16; // of the map's area covered by all discs of a level

export class Ground {
  private points: Points;
  private coasts: Coasts;
  private readonly fades = new Layers();
  private readonly discUnit: number; // radius of a node of one row

  constructor(private readonly gl: WebGL2RenderingContext, private readonly shared: Shared, private readonly map: number) {
    this.points = new Points(gl);
    this.coasts = new Coasts(gl);
    const [x0, y0, x1, y1] = shared.meta.maps[map]!.bounds;
    this.discUnit = Math.sqrt(((x1 - x0) * (y1 - y0) * DISC_SHARE) / (Math.PI * Math.max(shared.meta.nRows, 1)));
  }

  static open(canvas: HTMLCanvasElement): WebGL2RenderingContext {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: true, premultipliedAlpha: true });
    if (!gl) throw new StoreError("This browser has no WebGL 2, which the map is drawn with. Try another browser, or turn on hardware acceleration.");
    return gl;
  }

  /** After the browser lost its graphics context: all buffers are gone. */
  restore(): void {
    this.points = new Points(this.gl);
    this.coasts = new Coasts(this.gl);
  }

  release(tile: Tile): void {
    if (tile.map === this.map) this.points.release(tile);
  }

  nodeRadius(size: number): number {
    return this.discUnit * Math.sqrt(size);
  }

  rowRadius(view: View): number {
    return pointRadius(this.shared.tree.rowGap(this.map) * view.scale);
  }

  clear(size: Size, pixels: number): void {
    const { gl } = this;
    const [r, g, b] = parseColor(this.shared.painter.theme.background);
    gl.viewport(0, 0, Math.round(size.width * pixels), Math.round(size.height * pixels));
    gl.clearColor(r / 255, g / 255, b / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Areas and borders; true while they fade. */
  drawCoasts(view: View, size: Size, focus: number, now: number): boolean {
    const { meta, tree, painter } = this.shared;
    const level = this.outlinedLevel(focus);
    if (this.map !== 0 || level === null) return false;
    const mosaic = meta.maps[0]!.layout === "mosaic";
    const known = tree.outline(level) !== undefined;
    const moving = this.fades.update(level, { fraction: known ? 1 : 0, fallback: null }, now);
    const column = painter.column !== null;
    const [x0, y0, x1, y1] = meta.maps[0]!.bounds;
    const origin: [number, number] = [(x0 + x1) / 2, (y0 + y1) / 2];
    for (const [k, alpha] of this.fades.drawn) {
      if (!this.prepareCoast(k)) continue;
      const near = k === focus;
      const fill = near ? (column ? 0.07 : mosaic ? 0.2 : 0.15) : 0.05;
      this.coasts.draw(k, origin, view, size, { fill: fill * alpha, border: (near ? 0.16 : 0.1) * alpha, width: 7, soft: 1 });
      this.coasts.draw(k, origin, view, size, { fill: 0, border: (near ? 0.55 : 0.3) * alpha, width: 1.1, soft: 0.3 });
    }
    const coarse = coarserLevel(meta, level);
    if (coarse !== null && this.prepareCoast(coarse))
      this.coasts.draw(coarse, origin, view, size, { fill: 0, border: 0.5, width: mosaic ? 3 : 2, soft: 0.5 });
    return moving;
  }

  private prepareCoast(level: number): boolean {
    const { tree, painter } = this.shared;
    const outlines = tree.outline(level);
    const colors = painter.column ? null : painter.ofLevel(level);
    if (!outlines || colors === undefined) return false;
    this.coasts.prepare(level, outlines, painter.version, (n) => ({ rgb: colors?.[n] ?? painter.theme.quiet, alpha: 1 }));
    return true;
  }

  /** The level in focus, or the finest coarser one that has outlines. */
  outlinedLevel(focus: number): number | null {
    const { meta } = this.shared;
    for (let k = focus; k < meta.levels.length; k++) if (meta.outlined.has(k)) return k;
    return null;
  }

  tilesOf(level: number, box: Box): Tile[] {
    const tiles = this.shared.meta.maps[this.map]!.tiles[levelKey(level)]!;
    return visibleTiles(tiles, box)
      .map((t) => this.shared.tiles.peek(this.map, level, t))
      .filter((t): t is Tile => t !== undefined);
  }

  /** Discs of one level; true while tiles fade in or wait for colours. */
  drawItems(level: number, alpha: number, tiles: Tile[], view: View, size: Size, pixels: number, now: number, hide: number): boolean {
    const { painter } = this.shared;
    for (const tile of tiles)
      this.points.prepare(tile, painter.version, () => Float32Array.from(tile.nodes!.size, (s) => this.nodeRadius(s)), () => painter.paint(tile));
    const age = (tile: Tile) => Math.min((now - tile.arrived) / ARRIVE, 1);
    const discs = level === ROWS ? this.rowDiscs(view, alpha * (1 - hide)) : { radiusScale: view.scale, least: 1.3, most: 240, opacity: 0.8 * alpha, rim: 0.25 };
    this.points.draw(tiles, view, size, pixels, discs, age);
    return tiles.some((tile) => age(tile) < 1);
  }

  private rowDiscs(view: View, alpha: number): Discs {
    const gap = this.shared.tree.rowGap(this.map) * view.scale;
    const radius = pointRadius(gap);
    return { radiusScale: 0, least: radius, most: radius, opacity: pointOpacity(gap) * alpha, rim: radius > 3 ? 0.28 : 0 };
  }
}
