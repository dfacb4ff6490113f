// One map on the screen: its camera, what it needs, its frames.
import { fitBox, flight, limit, middle, toScreen, toWorld, viewBox, zoomAt, type Box, type Limits, type Size, type View } from "./camera";
import { drawnLevel, focusLevel, overlaps, visibleTiles, type Budget } from "./choose";
import { Ground } from "./ground";
import type { Stage } from "./gl/stage";
import { nearestInside, nearestItem, type Item } from "./hit";
import { Layers } from "./layers";
import { ROWS, levelKey, type MapMeta } from "./meta";
import { Names, type Name } from "./names";
import { Overlay } from "./overlay";
import { insideRings } from "./ranges";
import { compose } from "./scene";
import type { Shared } from "./shared";
import type { Space, Turn } from "./space";
import type { Brush } from "./svg";
import { firstRow, type Tile } from "./tiles";
import { FIRST_PICTURE, type NodeId } from "./tree";
import type { Wish } from "./cache";

export type Hit = { kind: "row"; row: number } | { kind: "node"; id: NodeId; named: boolean };

const DEGREES = 0.4; // of a turn, for a pixel of a drag
const NODE_COST = 3; // bytes of a node over bytes of a row, about

export class MapView {
  readonly element: HTMLDivElement;
  readonly overlayCanvas: HTMLCanvasElement;
  readonly names: Names;
  readonly ground: Ground;
  view: View;
  size: Size = { width: 1, height: 1 };
  pixels = 1;
  level = ROWS; // drawn
  hot: Name | null = null;
  lasso: [number, number][] = []; // pixels, while a reader draws
  onView: (settled: boolean) => void = () => {};
  onFrame: () => void = () => {};
  private readonly map: MapMeta;
  private readonly overlay: Overlay;
  private readonly layers = new Layers();
  private readonly limits: Limits;
  private settled: number | null = null; // the last level that was wholly here
  private waiting = 0;
  private fitted = false;
  private isHome = true; // the frame is shown, and stays so when the window changes
  private isWhole = false; // all rows are, likewise
  private flying: { start: number; ms: number; at: (t: number) => View; to: View } | null = null;

  constructor(readonly shared: Shared, readonly index: number, private readonly stage: Stage) {
    this.map = shared.meta.maps[index]!;
    this.element = document.createElement("div");
    this.element.className = "map";
    this.overlayCanvas = document.createElement("canvas");
    this.element.append(stage.canvas, this.overlayCanvas);
    const context = this.overlayCanvas.getContext("2d")!;
    this.ground = new Ground(stage, shared, index);
    this.names = new Names(shared.tree, index, context);
    this.overlay = new Overlay(context);
    this.view = this.home();
    this.limits = { bounds: this.map.bounds, minScale: 1e-9, maxScale: 1e12 };
    stage.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    stage.canvas.addEventListener("webglcontextrestored", () => {
      stage.restore();
      this.request();
    });
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  get budget(): Budget {
    const rows = this.shared.config.budget / (this.shared.store.now.compare ? 2 : 1);
    return { rows, nodes: Math.max(rows / NODE_COST, 50) };
  }

  get box(): Box {
    return viewBox(this.view, this.size, 12);
  }

  /** The level whose clusters fit this zoom. */
  get focus(): number {
    const room = this.size.width < 600 ? 100 : 125;
    return focusLevel(this.shared.meta, this.map, this.view.scale, room, (k) => this.shared.tree.held(k));
  }

  /** Nearly all rows: the first view. */
  home(): View {
    return fitBox(this.map.frame, this.size);
  }

  /** All rows. */
  whole(): View {
    return fitBox(this.map.bounds, this.size);
  }

  /** The view is the first one, or on its way there. */
  get headsHome(): boolean {
    return near(this.flying?.to ?? this.view, this.home());
  }

  private noteExtent(): void {
    this.isHome = near(this.view, this.home());
    this.isWhole = near(this.view, this.whole());
  }

  resize(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    this.size = { width, height };
    this.pixels = Math.min(window.devicePixelRatio || 1, 2);
    for (const canvas of [this.stage.canvas, this.overlayCanvas]) {
      canvas.width = Math.round(width * this.pixels);
      canvas.height = Math.round(height * this.pixels);
    }
    const home = this.home();
    this.limits.minScale = this.whole().scale / 2.5;
    // deep enough for the closest rows, not so deep that nothing is left to see
    this.limits.maxScale = home.scale * Math.max(200, 40 * Math.sqrt(this.shared.meta.nRows));
    if (!this.fitted || this.isHome) this.view = home;
    else if (this.isWhole) this.view = this.whole();
    this.fitted = true;
    this.noteExtent();
    this.frame();
    this.onView(false);
  }

  setView(view: View, settled = true): void {
    this.flying = null;
    this.fitted = true;
    this.view = limit(view, this.limits);
    this.noteExtent();
    this.request();
    this.onView(settled);
  }

  fly(to: View): void {
    const goal = limit(to, this.limits);
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const { seconds, at } = flight(this.view, goal, this.size);
    if (calm || seconds < 1e-3) return this.setView(goal);
    this.flying = { start: performance.now(), ms: Math.min(250 + 420 * seconds, 1600), at, to: goal };
    this.request();
  }

  flyToBox(box: Box): void {
    const view = fitBox(box, this.size, 0.16);
    view.scale = Math.min(view.scale, this.limits.maxScale / 4);
    this.fly(view);
  }

  get still(): boolean {
    return !this.waiting && !this.flying;
  }

  request(): void {
    if (!this.waiting && !this.element.hidden) this.waiting = requestAnimationFrame(() => this.frame());
  }

  frame(): void {
    const now = performance.now();
    cancelAnimationFrame(this.waiting);
    this.waiting = 0;
    if (this.size.width <= 1 || this.stage.gl.isContextLost()) return;
    this.advance(now);
    const box = this.box;
    this.level = drawnLevel(this.map, this.shared.meta.levels.length, box, this.budget);
    this.wish(box);
    const focus = this.shared.store.now.focus;
    let moving = this.layers.update(this.level, this.readiness(box), now);
    this.ground.clear(this.size, this.pixels);
    moving = this.ground.drawCoasts(this.view, this.size, focus, now) || moving;
    const scene = compose(this);
    for (const [level, alpha] of this.layers.drawn)
      moving = this.ground.drawItems(level, alpha, this.ground.tilesOf(level, box), this.view, this.size, this.pixels, now, scene.hide, level !== this.level) || moving;
    moving = this.names.update(this.view, this.size, focus, now) || moving;
    this.overlay.draw({ ...scene.drawing, names: this.names.shown }, this.view, this.size, this.pixels, this.shared.painter.theme);
    this.onFrame();
    if (moving || this.flying) this.request();
  }

  /** The space of a map in 3-D. */
  get space(): Space | null {
    return this.shared.tiles.spaces[this.index]!;
  }

  /** Turns a map in space by pixels of a drag. */
  orbit(dx: number, dy: number): void {
    const { yaw, pitch } = this.space!.turn;
    this.turnTo({ yaw: yaw + dx * DEGREES, pitch: pitch + dy * DEGREES });
  }

  turnTo(turn: Turn): void {
    if (!this.space) return;
    this.space.turnTo(turn);
    this.request();
    this.onView(true);
  }

  /** What lies over the map, drawn elsewhere. */
  drawOver(brush: Brush): void {
    new Overlay(brush).draw({ ...compose(this).drawing, names: this.names.shown }, this.view, this.size, 1, this.shared.painter.theme);
  }

  /** Pixels of a place that is relative to the middle of the frame, as outlines are. */
  fromMiddle(x: number, y: number): [number, number] {
    const [cx, cy] = middle(this.map.frame);
    return toScreen(this.view, this.size, cx + x, cy + y);
  }

  private advance(now: number): void {
    if (!this.flying) return;
    const t = Math.min((now - this.flying.start) / this.flying.ms, 1);
    const eased = t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) ** 2;
    this.view = this.flying.at(Math.max(eased, 0));
    if (t >= 1) this.flying = null;
    this.noteExtent();
    this.onView(t >= 1);
  }

  /** Asks for the visible tiles of the level that fits, after a coarse level for a first picture. */
  private wish(box: Box): void {
    const { tiles, cache, painter, shares, meta } = this.shared;
    const wishes: Wish<unknown>[] = [];
    const levels = this.settled === null ? [this.firstLevel(), this.level] : [this.level];
    for (const level of levels) {
      for (const t of visibleTiles(meta.maps[this.index]!.tiles[levelKey(level)]!, box)) {
        wishes.push(tiles.wish(this.index, level, t));
        if (painter.column) wishes.push(tiles.colorWish(painter.column, level, t));
        if (shares.sizeColumn && level === ROWS) wishes.push(tiles.colorWish(shares.sizeColumn, level, t));
      }
    }
    cache.want(`map ${this.index}`, wishes);
  }

  private firstLevel(): number {
    const fits = this.shared.meta.levels.findIndex((l) => l.nNodes <= FIRST_PICTURE);
    return fits < 0 ? this.shared.tree.top : Math.max(fits, this.level);
  }

  private readiness(box: Box): { fraction: number; fallback: number | null } {
    const share = (level: number): number => {
      const chosen = visibleTiles(this.map.tiles[levelKey(level)]!, box);
      if (!chosen.length) return 1;
      return chosen.filter((t) => this.shared.tiles.peek(this.index, level, t)).length / chosen.length;
    };
    const fraction = share(this.level);
    if (fraction === 1) this.settled = this.level;
    if (fraction === 1) return { fraction, fallback: null };
    if (this.settled !== null && this.settled !== this.level && share(this.settled) === 1) return { fraction, fallback: this.settled };
    for (let k = Math.max(this.level + 1, 0); k <= this.shared.tree.top; k++) if (share(k) === 1) return { fraction, fallback: k };
    return { fraction, fallback: null };
  }

  visible(level = this.level): Tile[] {
    return this.ground.tilesOf(level, this.box);
  }

  world(px: number, py: number): [number, number] {
    return toWorld(this.view, this.size, px, py);
  }

  /** What is drawn under a pixel: a name, a row, a disc, or the area of a cluster. */
  hit(px: number, py: number): Hit | null {
    const name = this.names.hit(px, py);
    if (name) return { kind: "node", id: name.id, named: true };
    const item = this.itemAt(px, py, 7, (tile, i) => this.shared.shares.passes(tile, i)); // the rest lies pale below
    if (item?.tile.level === ROWS) return { kind: "row", row: item.tile.begin + item.at };
    if (item) return { kind: "node", id: { level: item.tile.level, index: item.tile.begin + item.at }, named: false };
    return this.areaAt(px, py);
  }

  itemAt(px: number, py: number, reach: number, wanted: (tile: Tile, i: number) => boolean = () => true): Item | null {
    const [x, y] = this.world(px, py);
    const rows = this.level === ROWS;
    const own = rows ? (this.ground.rowRadius(this.view) + 2) / this.view.scale : 0;
    const near = Math.max(reach / this.view.scale, own);
    const room = Math.max(near, 240 / this.view.scale); // discs of nodes reach beyond their tiles
    const tiles = this.visible().filter(({ box }) => overlaps(box, [x - room, y - room, x + room, y + room]));
    return nearestItem(tiles, x, y, near, (tile, i) => (tile.nodes ? this.ground.nodeRadius(tile.nodes.size[i]!) : near), wanted);
  }

  /** The cluster whose area holds a pixel; without outlines, that of a row nearby. */
  areaAt(px: number, py: number): Hit | null {
    const { tree, store } = this.shared;
    const [x, y] = this.world(px, py);
    const level = this.ground.outlinedLevel(store.now.focus);
    const outlines = level === null ? undefined : tree.outline(level, this.index);
    if (outlines && level !== null) {
      const [cx, cy] = middle(this.map.frame);
      const index = outlines.findIndex(({ rings }) => insideRings(rings, x - cx, y - cy));
      return index < 0 ? null : { kind: "node", id: { level, index }, named: false };
    }
    const item = this.itemAt(px, py, 30);
    const index = item ? tree.nodeOfRow(firstRow(item.tile, item.at), store.now.focus) : undefined;
    return index === undefined ? null : { kind: "node", id: { level: store.now.focus, index }, named: false };
  }

  /** What the reader has drawn around, in the map. */
  get ring(): number[] {
    return this.lasso.flatMap(([px, py]) => this.world(px, py));
  }

  /** Nothing is drawn inside the view. */
  get isEmpty(): boolean {
    return nearestInside(this.visible(), this.view.x, this.view.y, this.box) === null;
  }

  /** Zoomed about a pixel; in about the nearest item in view, where nothing would be left to see. */
  zoomed(px: number, py: number, factor: number): View {
    const plain = zoomAt(this.view, this.size, px, py, factor);
    const [x, y] = this.world(px, py);
    if (factor <= 1 || nearestInside(this.visible(), x, y, viewBox(plain, this.size))) return plain;
    const near = nearestInside(this.visible(), x, y, viewBox(this.view, this.size));
    return near ? zoomAt(this.view, this.size, ...toScreen(this.view, this.size, ...near), factor) : plain;
  }

  /** Pixels between rows, on average, where there are rows. */
  get gap(): number {
    return this.shared.tree.rowGap(this.index) * this.view.scale;
  }
}

function near(a: View, b: View): boolean {
  return Math.abs(a.scale / b.scale - 1) < 0.01 && Math.hypot(a.x - b.x, a.y - b.y) * b.scale < 2;
}
