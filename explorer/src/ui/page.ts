// The page around the map: which part shows what, and when it is drawn again.
import type { App } from "../app";
import type { How } from "../data/sets";
import { passing } from "../filters";
import type { Gestures, Tool } from "../input";
import { RebuiltError } from "../meta";
import { SELECTION } from "../paint";
import type { Renaming } from "../renaming";
import { FILTER } from "../shares";
import type { State } from "../state";
import type { MapView } from "../view";
import { ClusterSection } from "./cluster";
import { Crumbs } from "./crumbs";
import { showBeyond } from "./beyond";
import { byId, count, cut, el } from "./dom";
import { listenToKeys } from "./keyboard";
import { KeptSection } from "./kept";
import { Legend } from "./legend";
import { Levels } from "./levels";
import { FoundSection } from "./lists";
import { Player } from "./player";
import { Rail } from "./rail";
import { RowSection } from "./row";
import { SelectionSection } from "./selection";
import { Table } from "./table";
import { ShareSection } from "./share";
import { followSystem, setTheme } from "./theme";
import { TimeBar } from "./timebar";
import { Tip } from "./tip";

const NARROW = "(max-width: 700px)";
const TIGHT = "(max-width: 1000px)"; // such as the frame in a notebook: beside the panel a map has no room to give
const TOOLS: readonly Tool[] = ["lasso", "box"];
const VALUES = "rows/"; // files that lists and the table show, and the map does not
const SAY_AFTER = 700; // milliseconds of rest before the view is told of

export class Page {
  onSecond: (view: MapView) => void = () => {};
  readonly gestures: Gestures;
  private readonly parts;
  private readonly tip: Tip;
  private arrival = 0;
  private saying = 0;
  private hiding = 0;

  constructor(private readonly app: App, private readonly renaming: Renaming) {
    this.tip = new Tip(app);
    this.parts = {
      cluster: new ClusterSection(app), row: new RowSection(app), found: new FoundSection(app), selection: new SelectionSection(app),
      crumbs: new Crumbs(app), legend: new Legend(app), levels: new Levels(app), rail: new Rail(app), table: new Table(app), kept: new KeptSection(app),
      share: new ShareSection(app), player: new Player(app), time: new TimeBar(app),
    };
    this.gestures = {
      hover: (view, hit, px, py) => this.hover(view, hit, px, py),
      click: (_view, hit, how) => this.click(hit, how),
      drawn: (view, how) => void app.takeDrawn(view, view.ring, how),
      tool: () => app.tool,
      shiftTool: () => app.shiftTool,
    };
    app.told = {
      notice: (text) => this.notice(text),
      failed: (error, what) => this.failed(error, what),
      found: (query, hits) => (hits ? this.showFound(query, hits) : this.parts.found.hide()),
      tool: (tool) => {
        for (const each of TOOLS) byId(each).setAttribute("aria-pressed", String(each === tool));
      },
      renamed: () => {
        void this.parts.crumbs.show();
        void this.parts.row.show();
      },
      attend: () => this.attend(),
      toured: () => this.toured(),
    };
    this.wire();
    app.shared.store.watch((changed) => this.changed(changed));
  }

  start(): void {
    const { meta, store } = this.app.shared;
    byId("opening").remove();
    document.title = `${cut(meta.title, 80)} · nestmap`;
    byId("title").textContent = cut(meta.title, 120);
    byId("title").title = cut(meta.title);
    this.parts.legend.fold(window.matchMedia(TIGHT).matches);
    this.fold(window.matchMedia(NARROW).matches);
    this.changed(new Set(Object.keys(store.now) as (keyof State)[]));
    if (meta.maps.some((map) => map.beyond.length)) byId("home").title = "Nearly all rows (0), once more: all rows";
    this.parts.rail.start();
    void this.app.kept.start().then(() => this.parts.selection.show());
    if (!meta.nRows) this.notice("This map has no rows.");
  }

  addMap(view: MapView): void {
    const name = this.app.shared.meta.maps[view.index]!.name;
    view.element.append(el("div", { class: "mapname" }, cut(name, 60)));
    byId("maps").append(view.element);
    showBeyond(view);
  }

  /** The view moved. */
  moved(settled: boolean): void {
    this.tip.hide();
    this.busy();
    if (!settled) return;
    this.parts.table.moved();
    window.clearTimeout(this.saying);
    this.saying = window.setTimeout(() => this.say(), SAY_AFTER);
  }

  /** Files arrived: whatever waits for them is drawn again, but not once per file. */
  arrived(name = ""): void {
    if (!name.startsWith(VALUES)) this.app.redraw();
    this.busy();
    if (this.arrival) return;
    this.arrival = window.setTimeout(() => {
      this.arrival = 0;
      const { cluster, row, found, selection, crumbs, rail, table } = this.parts;
      rail.paint();
      for (const part of [cluster, row, found, selection, crumbs, table]) part.refresh();
      this.tip.refresh();
    }, 80);
  }

  private busy(): void {
    document.body.classList.toggle("busy", this.app.shared.cache.busy);
  }

  private wire(): void {
    const { app } = this;
    const { store, meta } = app.shared;
    const query = byId<HTMLInputElement>("query");
    byId("search").addEventListener("submit", (event) => {
      event.preventDefault();
      void app.find(query.value);
    });
    query.addEventListener("input", () => query.value || app.clearSearch());
    byId("home").addEventListener("click", () => app.goHome());
    for (const tool of TOOLS) byId(tool).addEventListener("click", () => app.setTool(app.tool === tool ? null : tool));
    byId("compare").hidden = meta.maps.length < 2;
    byId("compare").addEventListener("click", () => store.set({ compare: !store.now.compare }));
    byId("theme").addEventListener("click", () => {
      const theme = store.now.theme === "dark" ? "light" : "dark";
      setTheme(theme);
      store.set({ theme });
    });
    followSystem((theme) => store.set({ theme }));
    const help = byId<HTMLDialogElement>("help");
    byId("ask").addEventListener("click", () => help.showModal());
    byId("tables").addEventListener("click", () => this.parts.table.toggle());
    byId("grip").addEventListener("click", () => this.fold(!document.body.classList.contains("folded")));
    app.busy = () => this.parts.rail.busy || this.parts.time.busy;
    this.parts.rail.onDrawer = () => this.fold(true);
    listenToKeys(app, {
      help: () => help.showModal(),
      step: (by) => this.parts.levels.step(by),
      table: () => this.parts.table.toggle(),
      columns: () => this.parts.rail.show(!this.parts.rail.open, true),
    });
  }

  private fold(folded: boolean): void {
    document.body.classList.toggle("folded", folded);
    byId("grip").setAttribute("aria-expanded", String(!folded));
  }

  private changed(changed: ReadonlySet<keyof State>): void {
    const { app, parts } = this;
    const { store, painter } = app.shared;
    const any = (...keys: (keyof State)[]) => keys.some((key) => changed.has(key));
    const level = any("focus") && store.now.color === "level";
    if (any("color", "theme", "chosen") || level) painter.reset();
    if (any("compare")) this.compare(store.now.compare);
    if (any("color", "size", "filters", "theme") || level) parts.legend.show();
    if (any("focus", "level")) parts.levels.show();
    if (any("filters")) this.filter();
    if (any("focus")) parts.rail.followLevel();
    if (any("color", "time", "theme") || level) parts.rail.paint();
    if (any("cluster", "color", "theme", "tears") || level) void parts.cluster.show();
    if (any("cluster")) void parts.crumbs.show();
    if (any("row", "neighbors", "theme")) void parts.row.show();
    if (any("chosen")) this.lookAtSelection();
    if (any("selection", "chosen", "how")) parts.selection.show();
    if (any("selection")) parts.kept.forget();
    if (any("focus", "theme")) parts.selection.showClusters();
    if (any("table") || parts.table.dependsOn(changed)) parts.table.show();
    if (any("row", "focus", "theme") || level) parts.table.refresh();
    if (any("stop")) {
      parts.player.show();
      if (store.now.stop !== null && window.matchMedia(NARROW).matches) this.fold(true); // map and text need the room
    }
    if (any("cluster", "row", "selection") && (store.now.cluster || store.now.row !== null || store.now.selection)) this.attend();
    if (any("cluster")) this.sayCluster();
    if (!any("filters") || changed.size > 1 || !app.askShares()) app.redraw();
  }

  /** Of a selection that is too large to hold, the map asks tile by tile. */
  private lookAtSelection(): void {
    const { store, marks } = this.app.shared;
    const { selection, chosen } = store.now;
    marks.look(SELECTION, chosen && !chosen.ranges ? selection : null);
  }

  private filter(): void {
    const { store, marks } = this.app.shared;
    const { filters } = store.now;
    marks.look(FILTER, filters.size ? passing(filters) : null);
    this.parts.rail.filters();
  }

  /** New content in the panel: in sight, also on a phone. */
  private attend(): void {
    byId("details").scrollTop = 0;
    if (window.matchMedia(NARROW).matches && this.app.shared.store.now.stop === null) this.fold(false);
  }

  private toured(): void {
    this.parts.share.show();
    this.parts.player.show();
    if (!this.app.shared.store.now.cluster) void this.parts.cluster.show();
  }

  private compare(on: boolean): void {
    byId("compare").setAttribute("aria-pressed", String(on));
    byId("maps").classList.toggle("two", on);
    if (on && window.innerWidth < 1500) this.parts.legend.fold(true); // two maps need the room
    if (on && this.app.views.length < 2) {
      const view = this.app.second();
      this.addMap(view);
      this.onSecond(view);
    }
    if (this.app.views[1]) this.app.views[1].element.hidden = !on;
    for (const view of this.app.views) view.resize();
  }

  private hover(view: MapView, hit: ReturnType<MapView["hit"]>, px: number, py: number): void {
    view.hot = hit?.kind === "node" && hit.named ? (view.names.hit(px, py) ?? null) : null;
    this.tip.show(view, hit?.kind === "node" && !hit.named && !this.discs(view) ? null : hit, px, py);
    this.app.shared.store.set({ hover: hit?.kind === "row" ? hit.row : null });
    view.request();
  }

  private discs(view: MapView): boolean {
    return view.level >= 0;
  }

  private click(hit: ReturnType<MapView["hit"]>, how: How | null): void {
    this.tip.hide();
    byId("maps").focus({ preventScroll: true });
    if (hit && how) this.app.select(hit.kind === "row" ? { kind: "places", ranges: [[hit.row, hit.row + 1]] } : { kind: "cluster", ...hit.id }, how);
    else if (hit?.kind === "row") this.app.openRow(hit.row, false);
    else if (hit) this.app.openCluster(hit.id);
    else if (this.app.shared.store.now.row !== null) this.app.closeRow();
  }

  private showFound(query: string, hits: NonNullable<Parameters<FoundSection["show"]>[1]>): void {
    this.parts.found.show(query, hits);
    this.live(`${count(hits.total, "row")} found`);
    this.attend();
  }

  private say(): void {
    const { main, shared } = this.app;
    if (shared.meta.nRows && !shared.cache.busy && main.isEmpty)
      this.tell("No rows here.", el("button", { onclick: () => this.app.goHome() }, "Whole map"), 7000);
    const id = this.app.centre();
    if (id && !this.app.shared.store.now.cluster) this.live(`In the middle: ${cut(this.app.shared.tree.title(id), 120)}, level ${id.level}`);
  }

  private sayCluster(): void {
    const { store, tree } = this.app.shared;
    const id = store.now.cluster;
    if (id) void tree.node(id).then((node) => this.live(`${cut(tree.title(id), 120)}: ${count(node.size, "row")}, level ${id.level}`), () => undefined);
  }

  private live(text: string): void {
    byId("live").textContent = text;
  }

  private notice(text: string): void {
    const save = el("button", { onclick: () => this.renaming.download() }, "Download names.json");
    const isStatic = this.app.shared.config.transport === "static";
    this.tell(text, isStatic && text.includes("names.json") ? save : null, 7000);
  }

  private failed(error: unknown, what = ""): void {
    const text = `${what} ${error instanceof Error ? error.message : String(error)}`.trim();
    if (!(error instanceof RebuiltError)) return this.notice(text);
    this.tell(text, el("button", { onclick: () => location.reload() }, "Reload"), Infinity);
  }

  /** A line at the bottom for some milliseconds; nothing takes the place of one that stays. */
  private tell(text: string, action: HTMLElement | null, ms: number): void {
    const box = byId("notice");
    if (box.classList.contains("stays")) return;
    box.hidden = false;
    box.replaceChildren(cut(text, 400), ...(action ? [action] : []));
    window.clearTimeout(this.hiding);
    box.classList.toggle("stays", ms === Infinity);
    if (ms < Infinity) this.hiding = window.setTimeout(() => (box.hidden = true), ms);
  }
}
