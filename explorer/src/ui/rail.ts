// The rail: all columns with their charts, how many rows are left, and the way back to all of them.
import type { App } from "../app";
import { ChartBook, type ChartPair } from "../charts";
import { withLevels } from "../data/level_charts";
import { NO_FILTERS, levelColumn, levelOf } from "../filters";
import { clusterCard, makeCard, type Card, type ChangeFilters } from "./cards";
import { byId, count, el } from "./dom";

const WIDE = "(min-width: 1280px)"; // beside map and panel there is room
const DRAWER = "(max-width: 1000px)"; // over the map
const REMEMBERED = "nestmap-rail";
const MANY = 12; // columns that are found by typing

export class Rail {
  private readonly rail = byId("rail");
  private readonly button = byId("filters");
  private readonly total = el("p", { class: "left" });
  private readonly clear = el("button", { class: "clear-all", onclick: () => this.change(() => NO_FILTERS) }, "Clear all");
  private readonly clusters = el("div");
  private readonly pill = el("div", { class: "pill" });
  private readonly book: ChartBook;
  private readonly change: ChangeFilters;
  onDrawer: () => void = () => {}; // the rail lies over the map: other parts make room
  private readonly cards: Card[];
  private level: Card | null = null;
  private readonly seen = new Set<Element>();
  private readonly watch: IntersectionObserver;
  private waiting = 0;

  constructor(private readonly app: App) {
    const { store, meta, engine } = app.shared;
    this.change = (change) => store.set({ filters: change(store.now.filters) });
    this.book = new ChartBook(withLevels(engine, meta), (charts) => this.draw(charts), (error) => app.told.failed(error));
    this.cards = meta.columns.map((column) => makeCard(app, column, this.change));
    this.watch = new IntersectionObserver((entries) => this.look(entries), { root: this.rail, rootMargin: "200px" });
    this.build();
    app.busy = () => this.book.busy || this.waiting > 0;
  }

  private build(): void {
    const { meta } = this.app.shared;
    const isQuality = (_: Card, i: number): boolean => {
      const column = meta.columns[i]!;
      return column.kind === "number" && column.quality;
    };
    const quality = this.cards.filter(isQuality);
    const plain = this.cards.filter((card, i) => !isQuality(card, i));
    const close = el("button", { class: "close", label: "Close the columns", onclick: () => this.show(false, true) }, "×");
    const list = el("div", { class: "columns" }, this.clusters, ...plain.map((card) => card.element),
      quality.length ? el("h2", { class: "part" }, "Quality of the map") : null, ...quality.map((card) => card.element));
    const finder = this.cards.length > MANY ? [this.finder()] : [];
    this.rail.replaceChildren(el("div", { class: "rail-top" }, this.total, this.clear, close), ...finder, list);
    for (const card of this.cards) this.watch.observe(card.element);
    this.pill.hidden = true;
    byId("maps").append(this.pill);
    this.button.hidden = !this.cards.length && !meta.levels.length;
    this.button.addEventListener("click", () => this.show(!this.open, true));
  }

  private finder(): HTMLElement {
    const input = el("input", { type: "search", class: "finder", label: "Find a column" });
    input.placeholder = `Find among ${this.cards.length} columns`;
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const card of this.cards) card.element.hidden = !card.name.toLowerCase().includes(wanted);
    });
    return input;
  }

  /** After the first picture: open where there is room for it, unless the reader closed it before. */
  start(): void {
    const open = window.matchMedia(WIDE).matches && remembered() !== "closed" && !this.button.hidden;
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

  /** The filters changed. */
  filters(): void {
    const { filters } = this.app.shared.store.now;
    this.followLevel();
    for (const card of this.all) card.filters(filters);
    this.clear.hidden = !filters.size;
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
