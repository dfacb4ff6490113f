// A histogram with two handles: the filtered rows in front of all rows. Drag across it, or move the handles by arrow keys.
import { binsOf, type Bins } from "../data/bins";
import type { Condition } from "../filters";
import type { NumberColumn } from "../meta";
import { el, teller } from "./dom";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 44; // of the drawing, whose width is one per bin
const GRIP = 7; // pixels around a handle that take hold of it
const FAR = 5; // bins, with shift or page keys
const STILL = 3; // pixels that a click may move

type Edges = [number, number]; // from which to which bin, 0 … n
type Drag = { what: "low" | "high" | "window" | "new"; from: number; edges: Edges; x: number; moved: boolean };

export class Histogram {
  readonly element = el("div", { class: "hist" });
  private readonly bins: Bins;
  private readonly back = path("back");
  private readonly front = path("front");
  private readonly window: HTMLElement;
  private readonly handles: [HTMLElement, HTMLElement];
  private readonly ends = el("div", { class: "ends" }, el("span"), el("span"));
  private edges: Edges;
  private missing = false; // the filter lets rows without a value through
  private drag: Drag | null = null;

  constructor(private readonly column: NumberColumn, private readonly change: (condition: Condition | null) => void) {
    this.bins = binsOf(column);
    this.edges = [0, this.bins.n];
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${this.bins.n} ${HEIGHT}`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    svg.append(this.back, this.front);
    this.handles = [this.handle(0), this.handle(1)];
    this.window = this.slider("window", `${column.name}: values shown`, (steps) => this.set(slide([Math.round(this.edges[0]), Math.round(this.edges[1])], steps, this.bins.n)));
    const plot = el("div", { class: "plot" }, svg as unknown as HTMLElement, el("div", { class: "shade" }, this.window), ...this.handles);
    plot.addEventListener("pointerdown", (event) => this.down(event, plot));
    plot.addEventListener("pointermove", (event) => this.move(event, plot));
    plot.addEventListener("pointerup", () => this.up());
    plot.addEventListener("pointercancel", () => (this.drag = null));
    this.element.append(plot, this.ends);
    this.place();
  }

  /** Draws counts per bin, on one scale: `some` of `all`. */
  draw(all: readonly number[], some: readonly number[]): void {
    const most = all.slice(0, this.bins.n).reduce((a, b) => Math.max(a, b), 1);
    this.back.setAttribute("d", bars(all, this.bins.n, most));
    this.front.setAttribute("d", bars(some, this.bins.n, most));
  }

  /** The map is coloured by this column: bars have its colours, from the low end to the high one. */
  tint(colors: readonly string[] | null): void {
    this.element.classList.toggle("tinted", colors !== null);
    const plot = this.element.firstElementChild as HTMLElement;
    plot.style.setProperty("--tint", colors ? `linear-gradient(90deg, ${colors.join()})` : "none");
  }

  /** Shows what the filter of this column says. */
  show(condition: Condition | undefined): void {
    this.missing = condition?.kind === "range" && condition.missing === true;
    this.edges = condition?.kind === "range" ? [this.toEdge(condition.low, 0), this.toEdge(condition.high, 1)] : [0, this.bins.n];
    this.element.classList.toggle("cut", condition !== undefined);
    this.place();
  }

  private toEdge(value: number, end: 0 | 1): number {
    const { n, start, step } = this.bins;
    if (end === 0 ? value <= this.column.min : value >= this.column.max) return end * n;
    const half = this.whole ? end - 0.5 : 0;
    return step > 0 ? Math.min(Math.max((value + half - start) / step, 0), n) : end * n;
  }

  private get whole(): boolean {
    return this.bins.step === 1 && this.bins.start === this.column.low - 0.5;
  }

  private value(edge: number, end: 0 | 1): number {
    const { n, start, step } = this.bins;
    if (edge <= 0) return this.column.min;
    if (edge >= n) return this.column.max;
    return start + edge * step + (this.whole ? 0.5 - end : 0);
  }

  private set(edges: Edges): void {
    const { n } = this.bins;
    this.edges = edges;
    this.place();
    const [low, high] = edges;
    const range = { kind: "range" as const, low: this.value(low, 0), high: this.value(high, 1) };
    this.change(low <= 0 && high >= n && !this.missing ? null : this.missing ? { ...range, missing: true } : range);
  }

  private place(): void {
    const { n } = this.bins;
    const [low, high] = this.edges;
    const share = (edge: number): string => `${(100 * edge) / n}%`;
    const tell = teller(this.column);
    const told = (end: 0 | 1): string => tell(this.value(this.edges[end], end));
    this.say(this.window, this.value(low, 0), `${told(0)} to ${told(1)}`);
    this.window.tabIndex = low > 0 || high < n ? 0 : -1; // there is nothing to move about
    this.window.style.left = share(low);
    this.window.style.width = share(high - low);
    for (const end of [0, 1] as const) {
      this.handles[end].style.left = share(this.edges[end]);
      this.say(this.handles[end], this.value(this.edges[end], end), told(end));
      this.ends.children[end]!.textContent = told(end);
    }
  }

  private say(slider: HTMLElement, value: number, text: string): void {
    const { min, max } = this.column;
    const about = { "aria-valuemin": min, "aria-valuemax": max, "aria-valuenow": value, "aria-valuetext": text };
    for (const [name, said] of Object.entries(about)) slider.setAttribute(name, String(said));
  }

  private handle(end: 0 | 1): HTMLElement {
    const label = `${this.column.name}: ${end ? "highest" : "lowest"} value shown`;
    return this.slider("handle", label, (steps) => {
      const [low, high] = this.edges;
      const to = Math.round(this.edges[end]) + steps;
      this.set(end ? [low, clamp(to, Math.floor(low) + 1, this.bins.n)] : [clamp(to, 0, Math.ceil(high) - 1), high]);
    });
  }

  private slider(name: string, label: string, go: (steps: number) => void): HTMLElement {
    const slider = el("div", { class: name, label });
    slider.setAttribute("role", "slider");
    slider.tabIndex = 0;
    slider.addEventListener("keydown", (event) => this.key(event, go));
    return slider;
  }

  private key(event: KeyboardEvent, go: (steps: number) => void): void {
    const { n } = this.bins;
    const by = event.shiftKey ? FAR : 1;
    const steps: Record<string, number> = {
      ArrowLeft: -by, ArrowDown: -by, ArrowRight: by, ArrowUp: by, PageDown: -FAR, PageUp: FAR, Home: -n, End: n,
    };
    if (event.key === "Delete" || event.key === "Backspace") this.set([0, n]);
    else if (event.key in steps) go(steps[event.key]!);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private at(event: PointerEvent, plot: HTMLElement): number {
    const box = plot.getBoundingClientRect();
    return clamp((event.clientX - box.left) / Math.max(box.width, 1), 0, 1) * this.bins.n;
  }

  private down(event: PointerEvent, plot: HTMLElement): void {
    if (event.button) return;
    plot.setPointerCapture(event.pointerId);
    const at = this.at(event, plot);
    const reach = (GRIP * this.bins.n) / Math.max(plot.clientWidth, 1);
    const [low, high] = this.edges;
    const cut = this.element.classList.contains("cut");
    const what = !cut ? "new" : Math.abs(at - low) < reach ? "low" : Math.abs(at - high) < reach ? "high" : at > low && at < high ? "window" : "new";
    this.drag = { what, from: at, edges: [...this.edges], x: event.clientX, moved: false };
  }

  private move(event: PointerEvent, plot: HTMLElement): void {
    const { drag } = this;
    if (!drag) return;
    if (Math.abs(event.clientX - drag.x) > STILL) drag.moved = true;
    if (!drag.moved) return;
    const at = this.at(event, plot);
    const { n } = this.bins;
    const [low, high] = drag.edges;
    const edge = Math.round(at);
    const next: Edges =
      drag.what === "low" ? [clamp(edge, 0, Math.ceil(high) - 1), high]
      : drag.what === "high" ? [low, clamp(edge, Math.floor(low) + 1, n)]
      : drag.what === "window" ? slide(drag.edges, Math.round(at - drag.from), n)
      : [Math.floor(Math.min(at, drag.from)), Math.max(Math.ceil(Math.max(at, drag.from)), 1)];
    if (next[0] !== this.edges[0] || next[1] !== this.edges[1]) this.set(next);
  }

  /** A click takes a window away, or makes one of a single bin. */
  private up(): void {
    const { drag } = this;
    this.drag = null;
    if (!drag || drag.moved) return;
    if (this.element.classList.contains("cut")) {
      this.missing = false;
      return this.set([0, this.bins.n]);
    }
    const bin = Math.min(Math.floor(drag.from), this.bins.n - 1);
    this.set([bin, bin + 1]);
  }
}

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

function slide([low, high]: Edges, by: number, n: number): Edges {
  const step = clamp(by, -low, n - high);
  return [low + step, high + step];
}

function path(name: string): SVGPathElement {
  const made = document.createElementNS(SVG, "path");
  made.setAttribute("class", name);
  return made;
}

const GAP = 0.12; // of a bin

function bars(counts: readonly number[], n: number, most: number): string {
  let d = "";
  for (let i = 0; i < n; i++) {
    const count = counts[i] ?? 0;
    if (!count) continue;
    const height = Math.max((HEIGHT * count) / most, 1);
    d += `M${i + GAP} ${HEIGHT}v${(-height).toFixed(2)}h${1 - 2 * GAP}v${height.toFixed(2)}z`;
  }
  return d;
}
