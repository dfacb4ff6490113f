// A grid of any number of rows (ARIA: grid): only those in sight exist; arrows move, Enter opens, heads sort.
import type { How } from "../data/sets";
import { heldHow } from "../input";
import { el } from "./dom";
import { Scroll } from "./scroll";

const LINE = 32; // pixels, as in the style sheet
const HEAD = 32; // likewise
const TITLED = 60; // pixels: heads of narrower columns are for screen readers
const PADDING = 16; // of a row, likewise

export interface Head {
  key: string;
  title: string;
  least: number; // pixels
  grow: number; // share of the room that is left
  sort: "ascending" | "descending" | "none" | null; // null: cannot be sorted by
  hint: string;
  number: boolean; // its cells stand to the right
}

export interface GridActions {
  cells: (i: number) => (HTMLElement | string)[] | null; // null: on their way
  sort: (key: string) => void;
  open: (i: number, how: How | null) => void;
  hover: (i: number | null) => void;
}

export class Grid {
  readonly element: HTMLDivElement;
  private readonly head = el("div", { class: "gridrow gridhead" });
  private readonly body = el("div", { class: "gridbody" });
  private readonly scroll = new Scroll(LINE);
  private heads: readonly Head[] = [];
  private n = 0;
  private active = { row: -1, column: 0 };
  private current = -1;

  constructor(label: string, private readonly actions: GridActions) {
    this.head.setAttribute("role", "row");
    this.body.setAttribute("role", "rowgroup");
    this.head.setAttribute("aria-rowindex", "1");
    this.element = el("div", { class: "grid", label }, this.head, this.body);
    this.element.setAttribute("role", "grid");
    this.element.setAttribute("aria-readonly", "true");
    this.element.tabIndex = 0;
    this.element.addEventListener("scroll", () => this.scrolled());
    this.element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => this.click(event));
    this.body.addEventListener("pointerover", (event) => actions.hover(lineOf(event)));
    this.body.addEventListener("pointerleave", () => actions.hover(null));
    new ResizeObserver(() => this.refresh()).observe(this.element);
  }

  /** Other rows or columns; `current` is the row that is open. */
  show(heads: readonly Head[], n: number, fromTop: boolean): void {
    this.heads = heads;
    this.n = n;
    if (fromTop) this.scroll.moveTo(0);
    if (fromTop || this.active.row >= n) this.active = { row: -1, column: 0 };
    this.element.style.setProperty("--columns", heads.map(({ least, grow }) => `minmax(${least}px, ${grow}fr)`).join(" "));
    this.element.style.setProperty("--least", `${heads.reduce((sum, { least }) => sum + least, PADDING)}px`);
    this.element.setAttribute("aria-rowcount", String(n + 1));
    this.element.setAttribute("aria-colcount", String(heads.length));
    this.head.replaceChildren(...heads.map((head) => this.headCell(head)));
    this.refresh();
  }

  mark(current: number): void {
    this.current = current;
    this.refresh();
  }

  /** Draws the rows in sight again: they may have arrived. */
  refresh(): void {
    this.scroll.resize(this.n, this.element.clientHeight - HEAD);
    this.body.style.height = `${this.scroll.height}px`;
    const at = this.scroll.pixels;
    if (Math.abs(this.element.scrollTop - at) > 1) this.element.scrollTop = at;
    const [first, last] = this.scroll.seen;
    const lines = Array.from({ length: last - first }, (_, k) => this.line(first + k));
    const next = this.body.cloneNode(false) as HTMLDivElement;
    next.append(...lines);
    if (!next.isEqualNode(this.body) || this.body.querySelector("canvas")) this.body.replaceChildren(...lines);
    const id = this.active.row >= first && this.active.row < last ? cellId(this.active.row, this.active.column) : "";
    if (id) this.element.setAttribute("aria-activedescendant", id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  private headCell(head: Head): HTMLElement {
    const mark = head.sort === "ascending" ? "▲" : head.sort === "descending" ? "▼" : "";
    const inside = head.sort === null ? el("span", { class: head.least < TITLED ? "unseen" : "text" }, head.title)
      : el("button", { class: "text", onclick: () => this.actions.sort(head.key) }, head.title, mark ? el("span", { class: "sorted" }, mark) : null);
    const cell = el("div", { class: head.number ? "cell right" : "cell", title: head.hint }, inside);
    cell.setAttribute("role", "columnheader");
    if (head.sort) cell.setAttribute("aria-sort", head.sort);
    return cell;
  }

  private line(i: number): HTMLElement {
    const cells = this.actions.cells(i) ?? this.heads.map(() => "…");
    const line = el("div", { class: "gridrow" }, ...cells.map((content, k) => this.cell(i, k, content)));
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(i + 2));
    line.dataset.line = String(i);
    if (i === this.current) line.setAttribute("aria-selected", "true");
    line.style.top = `${Math.round(this.scroll.pixels + (i - this.scroll.top) * LINE)}px`;
    return line;
  }

  private cell(i: number, k: number, content: HTMLElement | string): HTMLElement {
    const isActive = i === this.active.row && k === this.active.column;
    const cell = el("div", { class: `cell${this.heads[k]?.number ? " right" : ""}${isActive ? " active" : ""}` }, content);
    if (typeof content === "string") cell.title = content;
    cell.setAttribute("role", "gridcell");
    cell.id = cellId(i, k);
    return cell;
  }

  private scrolled(): void {
    if (Math.abs(this.element.scrollTop - this.scroll.pixels) <= 1) return;
    this.scroll.dragTo(this.element.scrollTop);
    this.refresh();
  }

  /** Where the bar stands for a share of the rows, the wheel still moves row by row. */
  private wheel(event: WheelEvent): void {
    if (!this.scroll.isScaled || event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY / LINE : event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY : event.deltaY * this.scroll.page;
    this.scroll.moveTo(this.scroll.top + lines);
    this.refresh();
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.element) return;
    const { row, column } = this.active;
    if (event.key === "Enter" && row >= 0) this.actions.open(row, null);
    else if (event.key === " " && row >= 0) this.actions.open(row, "add");
    else if (event.key === "ArrowDown") this.activate(row + 1, column);
    else if (event.key === "ArrowUp") this.activate(row - 1, column);
    else if (event.key === "ArrowRight") this.activate(row, column + 1);
    else if (event.key === "ArrowLeft") this.activate(row, column - 1);
    else if (event.key === "PageDown") this.activate(row + this.scroll.page, column);
    else if (event.key === "PageUp") this.activate(row - this.scroll.page, column);
    else if (event.key === "Home") this.activate(0, column);
    else if (event.key === "End") this.activate(this.n - 1, column);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private activate(row: number, column: number): void {
    this.active = { row: Math.max(Math.min(row, this.n - 1), 0), column: Math.max(Math.min(column, this.heads.length - 1), 0) };
    this.scroll.reveal(this.active.row);
    this.refresh();
    this.actions.hover(this.active.row);
    this.body.querySelector(".active")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  private click(event: MouseEvent): void {
    const i = lineOf(event);
    if (i === null) return;
    this.active = { row: i, column: Math.max([...(event.target as Element).closest(".gridrow")!.children].indexOf((event.target as Element).closest(".cell")!), 0) };
    this.actions.open(i, heldHow(event));
    this.refresh();
  }
}

const cellId = (row: number, column: number): string => `cell-${row}-${column}`;

function lineOf(event: Event): number | null {
  const line = (event.target as Element).closest<HTMLElement>("[data-line]");
  return line ? Number(line.dataset.line) : null;
}
