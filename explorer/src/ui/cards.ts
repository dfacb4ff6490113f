// One column in the rail: its name, its chart, and what to do with it.
import type { App } from "../app";
import type { ChartPair } from "../charts";
import { css } from "../colors";
import { MISSING } from "../data/bins";
import type { Chart } from "../data/engine";
import { levelColumn, pickCategory, pickMissing, setFilter, type Filters } from "../filters";
import type { CategoryColumn, Column, NumberColumn } from "../meta";
import { Bars, type Bar } from "./bars";
import { cut, el, number } from "./dom";
import { Histogram } from "./histogram";

export interface Card {
  readonly key: string; // of the column, as filters have it
  readonly name: string;
  readonly element: HTMLElement;
  /** Shows the filters at once; charts follow when they are known. */
  filters(filters: Filters): void;
  draw(charts: ChartPair): void;
  paint(): void; // colours or the column that gives them have changed
}

export type ChangeFilters = (change: (filters: Filters) => Filters) => void;

/** The frame of a card: a heading with what it offers. */
class Frame {
  readonly element: HTMLElement;
  private readonly dye: HTMLButtonElement;
  private readonly clear: HTMLButtonElement;

  constructor(private readonly app: App, private readonly key: string, private readonly color: string, name: string, change: ChangeFilters, body: HTMLElement, more: HTMLElement | null = null) {
    const { store } = app.shared;
    this.dye = el("button", { class: "dye", title: "Colour the map by this", label: `Colour by ${cut(name, 80)}`, onclick: () => store.set({ color }) }, "●");
    this.clear = el("button", { class: "clear", title: "Clear this filter", label: `Clear the filter of ${cut(name, 80)}`, onclick: () => change((f) => setFilter(f, key, null)) }, "×");
    this.element = el("section", { class: "column", label: cut(name, 80) }, el("div", { class: "column-top" }, el("h3", { title: cut(name, 300) }, cut(name, 60)), this.clear, ...(more ? [more] : []), this.dye), body);
    this.paint();
  }

  filters(filters: Filters): void {
    this.clear.hidden = !filters.has(this.key);
    this.element.classList.toggle("filtered", filters.has(this.key));
  }

  paint(): void {
    this.dye.setAttribute("aria-pressed", String(this.app.shared.store.now.color === this.color));
  }
}

export function makeCard(app: App, column: Column, change: ChangeFilters): Card {
  return column.kind === "number" ? numbers(app, column, change) : categories(app, column, change);
}

const TINTS = 9;

function numbers(app: App, column: NumberColumn, change: ChangeFilters): Card {
  const { key, name } = column;
  const chart = new Histogram(column, (condition) => change((f) => setFilter(f, key, condition)));
  const missing = el("button", { class: "missing", onclick: () => change((f) => pickMissing(f, key)) });
  missing.hidden = !column.missing;
  const { store } = app.shared;
  const play = el("button", { class: "dye time", title: "Play through its values", label: `Play through ${cut(name, 80)}`, onclick: () => store.set({ time: store.now.time === key ? null : key }) }, "▶");
  const frame = new Frame(app, key, key, name, change, el("div", {}, chart.element, missing), play);
  const paint = (): void => {
    const { painter } = app.shared;
    play.setAttribute("aria-pressed", String(store.now.time === key));
    chart.tint(store.now.color === key ? Array.from({ length: TINTS }, (_, i) => painter.ofNumber(i / (TINTS - 1))) : null);
    frame.paint();
  };
  return {
    key, name, element: frame.element, paint,
    filters: (filters) => {
      const now = filters.get(key);
      chart.show(now);
      missing.setAttribute("aria-pressed", String(now?.kind === "missing" || (now?.kind === "range" && now.missing === true)));
      frame.filters(filters);
    },
    draw: ({ all, some }) => {
      chart.draw(all.counts, some.counts);
      missing.textContent = `missing: ${number(some.missing)}`;
    },
  };
}

function categories(app: App, column: CategoryColumn, change: ChangeFilters): Card {
  const { key, name } = column;
  const { painter, store } = app.shared;
  const codes = [...column.categories.keys()];
  const bars = [...codes.map((code) => ({ code, name: column.categories[code]!, quiet: false })), { code: MISSING, name: "missing", quiet: true }];
  return barCard(app, change, {
    key, name, color: key, bars: () => bars,
    codes: (all) => (all.missing ? [...codes, MISSING] : codes),
    paint: (code) => (store.now.color !== key ? null : code === MISSING ? css(painter.theme.quiet) : painter.ofCategory(code)),
  });
}

/** Clusters of one level: categories of which each row has one. */
export function clusterCard(app: App, level: number, change: ChangeFilters): Card {
  const { painter, tree, store, meta } = app.shared;
  const codes = [...Array(meta.levels[level]!.nNodes).keys()];
  return barCard(app, change, {
    key: levelColumn(level), name: `Clusters of level ${level}`, color: "level",
    bars: () => codes.map((code) => ({ code, name: tree.title({ level, index: code }), quiet: false })),
    codes: () => codes,
    paint: (code) => (store.now.color === "level" ? painter.ofNode({ level, index: code }) : null),
  });
}

interface Barred {
  key: string;
  name: string;
  color: string; // what the map is coloured by to have these colours
  bars: () => readonly Bar[];
  codes: (all: Chart) => readonly number[];
  paint: (code: number) => string | null;
}

function barCard(app: App, change: ChangeFilters, { key, name, color, bars, codes, paint }: Barred): Card {
  let charts: ChartPair | null = null;
  const list = new Bars((code) => charts && change((f) => pickCategory(f, key, code, codes(charts!.all))));
  const frame = new Frame(app, key, color, name, change, list.element);
  const update = (): void => {
    if (!charts) return;
    const { all, some } = charts;
    const of = (chart: Chart) => (code: number) => (code === MISSING ? chart.missing : (chart.counts[code] ?? 0));
    const now = app.shared.store.now.filters.get(key);
    list.show(bars(), { all: of(all), some: of(some), picked: now?.kind === "categories" ? new Set(now.codes) : null, color: paint });
  };
  return {
    key, name, element: frame.element,
    filters: (filters) => {
      frame.filters(filters);
      update();
    },
    draw: (found) => {
      charts = found;
      update();
    },
    paint: () => {
      frame.paint();
      update();
    },
  };
}
