// The rail: all columns with their charts, how many rows are left, and the way back to all of them.
import type { App } from "../app";
import { ChartBook, type ChartPair } from "../charts";
import { withLevels } from "../data/level_charts";
import { NO_FILTERS, levelColumn, levelOf } from "../filters";
import type { Column } from "../meta";
import { heldHow } from "../input";
import { clusterCard, makeCard, type Card, type ChangeFilters } from "./cards";
import { byId, count, el } from "./dom";

const WIDE = "(min-width: 1280px)"; // beside map and panel there is room
const DRAWER = "(max-width: 1000px)"; // over the map
const REMEMBERED = "nestmap-rail";
const LIGHT = 1_000_000; // rows of a page without a server, whose columns are loaded without being asked for
const MANY = 12; // columns; more are found by typing
const MOST = 80; // cards at once: each costs some elements

export class Rail {
  private readonly rail = byId("rail");
  private readonly button = byId("filters");
  private readonly total = el("p", { class: "left" });
  private readonly clear = el("button", { class: "clear-all", onclick: () => this.change(() => NO_FILTERS) }, "Clear all");
  private readonly take = el("button", { class: "clear-all", title: "Select the rows that pass (S)", onclick: (event) => this.app.takeFiltered(heldHow(event)) }, "Select");
  private readonly clusters = el("div");
  private readonly plain = el("div");
  private readonly quality = el("div");
  private readonly more = el("p", { class: "quiet rest" });
  private readonly pill = el("div", { class: "pill" });
  private readonly book: ChartBook;
  private readonly change: ChangeFilters;
  onDrawer: () => void = () => {}; // the rail lies over the map: other parts make room
  private readonly made = new Map<string, Card>(); // by column
  private cards: Card[] = []; // in the rail
  private level: Card | null = null;
  private readonly seen = new Set<Element>();
  private readonly watch: IntersectionObserver;
  private waiting = 0;
  private wanted = ""; // letters of the columns that are looked for

  constructor(private readonly app: App) {
    const { store, meta, engine } = app.shared;
    this.change = (change) => store.set({ filters: change(store.now.filters) });
    this.book = new ChartBook(withLevels(engine, meta), (charts) => this.draw(charts), (error) => app.told.failed(error));
    this.watch = new IntersectionObserver((entries) => this.look(entries), { root: this.rail, rootMargin: "200px" });
    this.build();
  }

  private build(): void {
    const { meta } = this.app.shared;
    const close = el("button", { class: "close", label: "Close the columns", onclick: () => this.show(false, true) }, "×");
    const finder = meta.columns.length > MANY ? [this.finder()] : [];
    const list = el("div", { class: "columns" }, this.clusters, this.plain, this.quality, this.more);
    this.rail.replaceChildren(el("div", { class: "rail-top" }, this.total, this.take, this.clear, close), ...finder, list);
    this.find("");
    this.pill.hidden = true;
    byId("maps").append(this.pill);
    this.button.hidden = !meta.columns.length && !meta.levels.length;
    this.button.addEventListener("click", () => this.show(!this.open, true));
  }

  private finder(): HTMLElement {
    const input = el("input", { type: "search", class: "finder", label: "Find a column" });
    input.placeholder = `Find among ${this.app.shared.meta.columns.length.toLocaleString("en")} columns`;
    input.addEventListener("input", () => {
      this.find(input.value.trim().toLowerCase());
      this.filters();
      this.paint();
    });
    return input;
  }

  /** Cards of columns whose names hold the letters, and of those with a filter. */
  private find(wanted: string): void {
    const { meta, store } = this.app.shared;
    const isQuality = (column: Column): boolean => column.kind === "number" && column.quality;
    this.wanted = wanted;
    const matching = meta.columns.filter((c) => c.name.toLowerCase().includes(wanted));
    const shown = new Set([...meta.columns.filter((c) => store.now.filters.has(c.key)), ...matching.slice(0, MOST)]);
    const columns = meta.columns.filter((c) => shown.has(c));
    this.cards = columns.map((column) => this.card(column));
    const part = (quality: boolean): HTMLElement[] => this.cards.filter((_, i) => isQuality(columns[i]!) === quality).map((card) => card.element);
    this.plain.replaceChildren(...part(false));
    this.quality.replaceChildren(...(part(true).length ? [el("h2", { class: "part" }, "Quality of the map"), ...part(true)] : []));
    const rest = matching.length - MOST;
    this.more.hidden = rest <= 0;
    this.more.textContent = `${rest.toLocaleString("en")} more columns: type a part of their names above`;
  }

  private card(column: Column): Card {
    let card = this.made.get(column.key);
    if (!card) {
      this.made.set(column.key, (card = makeCard(this.app, column, this.change)));
      this.watch.observe(card.element);
    }
    return card;
  }

  /** After the first picture: open where there is room for it, unless the reader closed it before. */
  start(): void {
    const { config, meta } = this.app.shared;
    const heavy = config.transport === "static" && meta.nRows > LIGHT;
    const open = !heavy && window.matchMedia(WIDE).matches && remembered() !== "closed" && !this.button.hidden;
    this.show(open, false);
    this.filters();
  }

  show(open: boolean, remember: boolean): void {
    const { rail, button } = this;
    const inside = rail.contains(document.activeElement);
    rail.hidden = !open;
    button.setAttribute("aria-pressed", String(open));
    if (remember) rememberAs(open ? "open" : "closed");
    if (open) this.followLevel();
    if (open && remember && window.matchMedia(DRAWER).matches) {
      this.onDrawer();
      rail.querySelector<HTMLElement>(".close")?.focus({ preventScroll: true });
    }
    if (!open && inside) button.focus();
    this.tell();
    this.ask();
  }

  get open(): boolean {
    return !this.rail.hidden;
  }

  get busy(): boolean {
    return this.book.busy || this.waiting > 0;
  }

  /** The filters changed. */
  filters(): void {
    const { filters } = this.app.shared.store.now;
    this.followLevel();
    if ([...filters.keys()].some((key) => levelOf(key) === null && !this.cards.some((card) => card.key === key))) this.find(this.wanted);
    for (const card of this.all) card.filters(filters);
    this.clear.hidden = !filters.size;
    this.take.hidden = !filters.size;
    this.ask();
    this.tell();
  }

  paint(): void {
    for (const card of this.all) card.paint();
  }

  /** The level whose clusters have a card: that of a filter, else the one in focus. */
  followLevel(): void {
    const { store, meta, tree } = this.app.shared;
    const filtered = [...store.now.filters.keys()].map(levelOf).find((level) => level !== null);
    const level = filtered ?? store.now.focus;
    if (!meta.levels[level] || !tree.held(level) || this.rail.hidden) return;
    if (this.level?.key === levelColumn(level)) return;
    const card = clusterCard(this.app, level, this.change);
    if (this.level) this.watch.unobserve(this.level.element);
    this.level = card;
    this.clusters.replaceChildren(card.element);
    card.filters(store.now.filters);
    this.watch.observe(card.element);
  }

  private get all(): Card[] {
    return this.level ? [this.level, ...this.cards] : this.cards;
  }

  private look(entries: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.seen.add(target);
      else this.seen.delete(target);
    }
    this.ask();
  }

  /** Charts in sight, once per frame. */
  private ask(): void {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      const { filters } = this.app.shared.store.now;
      const columns = this.rail.hidden ? [] : this.all.filter((card) => this.seen.has(card.element)).map((card) => card.key);
      if (columns.length || filters.size) this.book.ask(filters, columns);
    });
  }

  private draw(charts: ReadonlyMap<string, ChartPair>): void {
    for (const card of this.all) {
      const found = charts.get(card.key);
      if (found) card.draw(found);
    }
    this.tell();
  }

  private tell(): void {
    const { meta, store } = this.app.shared;
    const { filters } = store.now;
    const left = filters.size ? this.book.count : meta.nRows;
    const of = count(meta.nRows, "row");
    this.total.replaceChildren(...(filters.size && left !== null ? [el("strong", {}, left.toLocaleString("en")), ` of ${of}`] : [of]));
    this.button.dataset.count = filters.size ? String(filters.size) : "";
    this.pill.hidden = !filters.size || this.open || left === null;
    if (!this.pill.hidden)
      this.pill.replaceChildren(el("span", {}, `${left!.toLocaleString("en")} of ${of}`), el("button", { onclick: () => this.change(() => NO_FILTERS) }, "Clear filters"));
  }
}

function remembered(): string | null {
  try {
    return localStorage.getItem(REMEMBERED);
  } catch {
    return null; // a page from disk may have no storage
  }
}

function rememberAs(value: string): void {
  try {
    localStorage.setItem(REMEMBERED, value);
  } catch {
    // then it is not remembered
  }
}
