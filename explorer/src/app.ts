// What a reader can do. Parts of the page call these; state and address follow.
import { viewBox } from "./camera";
import type { Rows } from "./data/engine";
import { both, type How } from "./data/sets";
import { passing } from "./filters";
import { Stage } from "./gl/stage";
import type { Tool } from "./input";
import { Kept } from "./kept";
import { ROWS } from "./meta";
import { boxRing, rowsInRing, type Ring } from "./region";
import { clusterBox, placeOfRow } from "./scene";
import type { Search } from "./search";
import { Selecting } from "./selecting";
import type { Shared } from "./shared";
import { place } from "./tiles";
import type { Node, NodeId } from "./tree";
import { Tour } from "./tour";
import { MapView } from "./view";

const CLOSE = 10; // pixels between rows when the page flies to a row

export interface Told {
  notice: (text: string) => void;
  failed: (error: unknown, what?: string) => void;
  found: (query: string, hits: Awaited<ReturnType<Search["find"]>>) => void;
  tool: (tool: Tool | null) => void;
  renamed: () => void;
  attend: () => void; // something new in the panel
  toured: () => void; // the tour is another one
}

export class App {
  readonly views: MapView[];
  tool: Tool | null = null; // what a drag on the map draws; null: it moves the map
  shiftTool: Tool = "lasso";
  readonly selecting: Selecting;
  readonly kept: Kept;
  busy: () => boolean = () => false; // charts are on their way
  told: Told = { notice: () => {}, failed: () => {}, found: () => {}, tool: () => {}, renamed: () => {}, attend: () => {}, toured: () => {} };
  readonly tour: Tour;
  visit: (stop: number) => void = () => {};
  addressOfView: () => string = () => "#";

  constructor(readonly shared: Shared, private readonly search: Search, stage: Stage) {
    this.tour = new Tour(shared);
    this.views = [new MapView(shared, 0, stage)];
    this.kept = new Kept(this);
    this.selecting = new Selecting(shared, (error) => this.told.failed(error));
  }

  get main(): MapView {
    return this.views[0]!;
  }

  /** The second map exists from when it is first asked for. */
  second(): MapView {
    return (this.views[1] ??= new MapView(this.shared, 1, new Stage()));
  }

  /** Nothing is on its way and nothing moves. */
  get idle(): boolean {
    return !this.shared.cache.busy && !this.shared.marks.busy && !this.busy() && this.views.every((view) => view.still);
  }

  redraw(): void {
    for (const view of this.views) view.request();
  }

  /** Asks what the filters let through of what is drawn; whether anything comes: the map is drawn when it does. */
  askShares(): boolean {
    const { shares, marks, store } = this.shared;
    if (!shares.active) return false;
    for (const view of this.views) {
      for (const tile of view.visible()) shares.of(tile);
      view.ground.askAreas(store.now.focus);
    }
    return marks.busy;
  }

  /** The level whose clusters are listed while none is open. */
  get openLevel(): number {
    const { tree, meta } = this.shared;
    for (let k = tree.top; k > 0; k--) if (meta.levels[k]!.nNodes > 1) return k;
    return Math.max(tree.top, 0);
  }

  openCluster(id: NodeId | null, fly = true): void {
    this.shared.store.set({ cluster: id, row: null, neighbors: [] });
    if (id && fly) this.flyTo(id);
  }

  flyTo(id: NodeId): void {
    const views = this.shared.store.now.compare ? this.views : [this.main];
    for (const view of views) void clusterBox(view, id).then((box) => view.flyToBox(box), (error: unknown) => this.told.failed(error));
  }

  async openParent(node: Node): Promise<void> {
    this.openCluster(node.level >= this.shared.tree.top ? null : { level: node.level + 1, index: node.parent });
    if (node.level >= this.shared.tree.top) this.goHome();
  }

  /** Nearly all rows; from there, all of them. */
  goHome(): void {
    const further = this.main.headsHome && !this.shared.store.now.cluster;
    for (const view of this.views) view.fly(further ? view.whole() : view.home());
    if (this.shared.store.now.cluster) this.openCluster(null, false);
  }

  openRow(row: number, fly: boolean): void {
    const { store, rows, tiles, meta } = this.shared;
    store.set({ row, neighbors: [], hover: null });
    const failed = (error: unknown) => this.told.failed(error);
    if (fly) for (const view of this.views) void this.flyToRow(view, row).catch(failed);
    rows.neighbors(row).then(async (neighbors) => {
      // where neighbours lie must be exact: their tiles are few
      await Promise.all([row, ...neighbors].flatMap((i) => this.views.map((v) => tiles.locate(v.index, ROWS, i))));
      if (store.now.row === row && meta.neighbors) store.set({ neighbors });
    }).catch(failed);
  }

  private async flyToRow(view: MapView, row: number): Promise<void> {
    const { tile, at } = await this.shared.tiles.locate(view.index, ROWS, row);
    const [x, y] = place(tile, at);
    view.fly({ x, y, scale: Math.max(view.view.scale, view.view.scale * (CLOSE / view.gap)) });
  }

  closeRow(): void {
    this.shared.store.set({ row: null, neighbors: [] });
  }

  setLevel(level: number | null): void {
    this.shared.store.set({ level, focus: level ?? this.main.focus });
  }

  /** Selects a set, or joins it to what is selected: as asked, else as the buttons say. */
  select(set: Rows, how: How | null = null, byCluster = false): void {
    this.selecting.take(set, how ?? this.shared.store.now.how, byCluster);
  }

  setTool(tool: Tool | null): void {
    this.tool = tool;
    this.shiftTool = tool ?? this.shiftTool;
    this.told.tool(tool);
  }

  /** Takes the rows inside what was drawn on a view, of those that pass the filters. */
  async takeDrawn(view: MapView, ring: Ring, how: How | null): Promise<void> {
    this.setTool(null);
    try {
      const { ranges, exact } = await rowsInRing(this.shared, view.index, view.level, ring);
      if (!ranges.length) return this.told.notice("No rows inside.");
      const { filters } = this.shared.store.now;
      const set: Rows = { kind: "places", ranges };
      this.select(filters.size ? both(passing(filters), set) : set, how, !exact);
    } catch (error) {
      this.told.failed(error);
    }
  }

  /** Takes the rows in sight. */
  takeView(how: How | null = null): Promise<void> {
    const { main } = this;
    return this.takeDrawn(main, boxRing(viewBox(main.view, main.size)), how);
  }

  /** Takes the rows that pass the filters. */
  takeFiltered(how: How | null = null): void {
    this.select(passing(this.shared.store.now.filters), how);
  }

  async find(query: string): Promise<void> {
    if (!query.trim()) return this.clearSearch();
    try {
      const hits = await this.search.find(query.trim());
      if (!hits) return;
      this.told.found(query.trim(), hits);
      this.shared.store.set({ hits: hits.rows });
      if (hits.total === 1) this.openRow(hits.rows[0]!, true);
      else this.flyToRows(hits.rows);
    } catch (error) {
      this.told.failed(error);
    }
  }

  /** Zooms out if most of the rows are out of sight. */
  private flyToRows(rows: readonly number[]): void {
    const places = rows.slice(0, 200).map((row) => placeOfRow(this.main, row)).filter((p) => p !== null);
    const [x0, y0, x1, y1] = this.main.box;
    const seen = places.filter(([x, y]) => x >= x0 && x <= x1 && y >= y0 && y <= y1).length;
    if (!places.length || 2 * seen >= places.length) return;
    const xs = places.map((p) => p[0]);
    const ys = places.map((p) => p[1]);
    const pad = 40 / this.main.home().scale;
    this.main.flyToBox([Math.min(...xs) - pad, Math.min(...ys) - pad, Math.max(...xs) + pad, Math.max(...ys) + pad]);
  }

  clearSearch(): void {
    this.told.found("", null);
    this.shared.store.set({ hits: [] });
  }

  canRename(level: number): boolean {
    return this.shared.meta.named.has(level) && this.canKeep;
  }

  /** Changes to tours and names are kept: by the server, or by the browser. */
  get canKeep(): boolean {
    const { meta, config } = this.shared;
    return config.transport === "static" || meta.canSave;
  }

  goStop(at: number): void {
    if (this.tour.stops[at]) this.visit(at);
  }

  stepTour(by: number): void {
    const { stop } = this.shared.store.now;
    this.goStop(stop === null ? 0 : stop + by);
  }

  /** The tour is here, or another one: a place in it that is no more is left. */
  tourChanged(): void {
    const { store } = this.shared;
    if (store.now.stop !== null && !this.tour.stops[store.now.stop]) store.set({ stop: null });
    this.told.toured();
  }

  /** Moves the view; a map in space is turned unless it is to be moved. */
  nudge(dx: number, dy: number, pan: boolean): void {
    const { view } = this.main;
    if (this.main.space && !pan) return this.main.orbit(-dx / 2, dy / 2);
    this.main.setView({ ...view, x: view.x + dx / view.scale, y: view.y + dy / view.scale });
  }

  zoom(factor: number): void {
    const { width, height } = this.main.size;
    this.main.fly(this.main.zoomed(width / 2, height / 2, factor));
  }

  /** The cluster in the middle of the view. */
  centre(): NodeId | null {
    const { size } = this.main;
    const hit = this.main.areaAt(size.width / 2, size.height / 2);
    return hit?.kind === "node" ? hit.id : null;
  }

  openCentre(): void {
    const id = this.centre();
    if (id) this.openCluster(id);
  }

  rename: (node: Node, name: string) => Promise<void> = async () => {};
}
