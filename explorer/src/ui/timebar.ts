// Time: a window that moves over a column of dates or numbers. The window is the filter of that column, so that charts, map
// and address follow; rows before it stay as ghosts, paler.
import type { App } from "../app";
import { ChartBook } from "../charts";
import type { Rows } from "../data/engine";
import { passing, setFilter } from "../filters";
import type { NumberColumn } from "../meta";
import { advance, onScale, span, withEnds, WIDTHS, type Span } from "../playing";
import { GHOSTS } from "../shares";
import { byId, cut, el, teller } from "./dom";
import { Histogram } from "./histogram";

const SPEEDS: readonly [string, number][] = [["slow", 60], ["normal", 24], ["fast", 9]]; // seconds for the whole column
const STEP_CALM = 1200; // milliseconds between steps for readers who want less motion

export class TimeBar {
  private readonly bar = byId("time");
  private readonly play = el("button", { class: "play", label: "Play", onclick: () => this.toggle() }, "▶");
  private readonly told = el("output", { class: "told" });
  private readonly width: HTMLSelectElement;
  private readonly speed: HTMLSelectElement;
  private readonly loop = check("loop");
  private readonly ghosts = check("ghosts");
  private readonly book: ChartBook;
  private chart: Histogram | null = null;
  private column: NumberColumn | null = null;
  private playing = 0; // animation frame
  private last = 0;

  constructor(private readonly app: App) {
    const { engine, store } = app.shared;
    this.book = new ChartBook(engine, (charts) => {
      const pair = charts.get(this.column?.key ?? "");
      if (pair) this.chart?.draw(pair.all.counts, pair.some.counts);
    }, (error) => app.told.failed(error));
    this.width = choice("Width of the window", WIDTHS.map(([text, value]) => [text, String(value)]), "0.1");
    this.speed = choice("Speed", SPEEDS.map(([text, value]) => [text, String(value)]), "24");
    this.width.addEventListener("change", () => this.open && this.put(this.first()));
    this.loop.input.checked = true;
    this.ghosts.input.checked = true;
    this.ghosts.input.addEventListener("change", () => this.haunt());
    byId("maps").append(this.bar); // in the middle of the map, whatever lies beside it
    store.watch((changed) => {
      if (changed.has("time")) this.show();
      if (this.open && changed.has("filters")) this.follow();
    });
  }

  get open(): boolean {
    return this.column !== null;
  }

  get busy(): boolean {
    return this.book.busy || this.playing > 0;
  }

  /** The bar for the column that the state says, or none. */
  show(): void {
    const { meta, store } = this.app.shared;
    const column = meta.columns.find((c) => c.key === store.now.time);
    this.stop();
    this.column = column?.kind === "number" ? column : null;
    this.bar.hidden = !this.open;
    this.haunt();
    if (!this.column) return this.bar.replaceChildren();
    const { key, name } = this.column;
    this.chart = new Histogram(this.column, (condition) => {
      this.stop();
      store.set({ filters: setFilter(store.now.filters, key, condition) });
    });
    const close = el("button", { class: "close", label: "Close the time bar", onclick: () => this.close() }, "×");
    const top = el("div", { class: "time-top" }, this.play, el("strong", { title: cut(name) }, cut(name, 40)), this.told, close);
    const bottom = el("div", { class: "time-bottom" }, el("label", {}, "window ", this.width), el("label", {}, "speed ", this.speed), this.loop.label, this.ghosts.label);
    this.bar.replaceChildren(top, this.chart.element, bottom);
    if (!store.now.filters.has(key)) this.put(this.first());
    else this.follow();
  }

  /** Stops, and gives back the rows that the window kept away. */
  close(): void {
    const { store } = this.app.shared;
    const key = this.column?.key;
    this.stop();
    if (key) store.set({ time: null, filters: setFilter(store.now.filters, key, null) });
  }

  toggle(): void {
    if (this.playing) return this.stop();
    if (!this.column) return;
    const now = this.now();
    if (!now || now.high >= this.column.high) this.put(this.first());
    this.last = performance.now();
    this.playing = requestAnimationFrame((time) => this.step(time));
    this.tellPlay();
  }

  private stop(): void {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.tellPlay();
  }

  private tellPlay(): void {
    this.play.textContent = this.playing ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  /** The window moves on as soon as the map has drawn the last one. */
  private step(time: number): void {
    if (!this.playing || !this.column) return;
    this.playing = requestAnimationFrame((next) => this.step(next));
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const passed = time - this.last;
    if (this.app.shared.marks.busy || (calm && passed < STEP_CALM)) return;
    this.last = time;
    const now = onScale(this.now() ?? this.first(), span(this.column));
    const width = Number(this.width.value);
    const whole = span(this.column);
    const seconds = calm ? STEP_CALM / 1000 : Math.min(passed, 250) / 1000;
    const by = (seconds / Number(this.speed.value)) * (whole.high - whole.low);
    const next = advance(now, whole, calm ? Math.max(by, (width || 0.1) * (whole.high - whole.low)) : by, width === 0);
    if (next) return this.put(next);
    if (this.loop.input.checked) this.put(this.first());
    else this.stop();
  }

  private first(): Span {
    const whole = span(this.column!);
    return { low: whole.low, high: whole.low + (Number(this.width.value) || 0.02) * (whole.high - whole.low) };
  }

  private now(): Span | null {
    const condition = this.app.shared.store.now.filters.get(this.column!.key);
    return condition?.kind === "range" ? condition : null;
  }

  private put(window: Span): void {
    const { store } = this.app.shared;
    const { low, high } = withEnds(window, this.column!);
    store.set({ filters: setFilter(store.now.filters, this.column!.key, { kind: "range", low, high }) });
  }

  /** The filters changed: by this bar, by the rail, or by going back. */
  private follow(): void {
    const { store } = this.app.shared;
    const { key } = this.column!;
    const tell = teller(this.column!);
    const now = this.now();
    this.chart!.show(store.now.filters.get(key));
    this.told.textContent = now ? `${tell(now.low)} – ${tell(now.high)}` : "all";
    this.book.ask(store.now.filters, [key]);
    this.haunt();
  }

  /** Rows before the window that pass all other filters. */
  private haunt(): void {
    const { marks, store } = this.app.shared;
    const now = this.column && this.now();
    if (!this.column || !now || now.low <= this.column.min || !this.ghosts.input.checked) marks.look(GHOSTS, null);
    else {
      const before: Rows = { kind: "range", column: this.column.key, low: this.column.min, high: now.low };
      marks.look(GHOSTS, { kind: "all", of: [passing(store.now.filters, this.column.key), before] });
    }
    if (!this.app.askShares()) this.app.redraw();
  }
}

function choice(label: string, options: readonly (readonly [string, string])[], value: string): HTMLSelectElement {
  const select = el("select", { label });
  for (const [text, each] of options) {
    const option = el("option", {}, text);
    option.value = each;
    select.append(option);
  }
  select.value = value;
  return select;
}

function check(text: string): { label: HTMLLabelElement; input: HTMLInputElement } {
  const input = el("input", { type: "checkbox" });
  return { input, label: el("label", {}, input, ` ${text}`) };
}
