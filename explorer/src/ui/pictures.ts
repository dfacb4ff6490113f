// A grid of thumbnails of any number of rows: only those in sight exist.
import type { App } from "../app";
import type { RowWindow } from "../data/window";
import { cut, el } from "./dom";
import { thumbnail } from "./rowbits";
import { Scroll } from "./scroll";

const SIDE = 52; // pixels of a picture with its margin, as in the style sheet
const LINES = 4.5; // in sight at most: the half one says that there are more

export class PictureGrid {
  readonly element: HTMLDivElement;
  private readonly body = el("div", { class: "lines" });
  private readonly scroll = new Scroll(SIDE);
  private rows: RowWindow | null = null;
  private n = 0;

  constructor(private readonly app: App, label: string) {
    this.element = el("div", { class: "pictures", label }, this.body);
    this.element.setAttribute("role", "group");
    this.element.addEventListener("scroll", () => {
      if (Math.abs(this.element.scrollTop - this.scroll.pixels) <= 1) return;
      this.scroll.dragTo(this.element.scrollTop);
      this.refresh();
    });
    this.element.addEventListener("pointerleave", () => app.shared.store.set({ hover: null }));
    new ResizeObserver(() => this.refresh()).observe(this.element);
  }

  show(rows: RowWindow, n: number): void {
    this.rows = rows;
    this.n = n;
    this.scroll.moveTo(0);
    this.refresh();
  }

  /** Draws what is in sight again: it may have arrived. */
  refresh(): void {
    const across = Math.max(Math.floor(this.element.clientWidth / SIDE), 1);
    const lines = Math.ceil(this.n / across);
    const room = Math.min(lines, LINES) * SIDE;
    this.element.style.height = `${room}px`;
    this.scroll.resize(lines, room);
    this.body.style.height = `${this.scroll.height}px`;
    if (Math.abs(this.element.scrollTop - this.scroll.pixels) > 1) this.element.scrollTop = this.scroll.pixels;
    const focused = document.activeElement instanceof HTMLElement && this.body.contains(document.activeElement) ? document.activeElement.dataset.at : undefined;
    const [first, last] = this.scroll.seen;
    const tiles: HTMLElement[] = [];
    for (let i = first * across; i < Math.min(last * across, this.n); i++) tiles.push(this.tile(i, i % across, Math.floor(i / across)));
    this.body.replaceChildren(...tiles);
    if (focused !== undefined) this.body.querySelector<HTMLElement>(`[data-at="${focused}"]`)?.focus({ preventScroll: true });
  }

  private tile(i: number, column: number, line: number): HTMLElement {
    const row = this.rows?.at(i);
    const title = row === undefined ? "…" : (this.app.shared.rows.title(row) ?? "…");
    const tile = el("button", { class: "picture", title: cut(title), label: cut(title), onclick: () => row !== undefined && this.app.openRow(row, true) },
      row === undefined ? null : thumbnail(this.app, row, SIDE - 8));
    tile.dataset.at = String(i);
    tile.style.left = `${column * SIDE}px`;
    tile.style.top = `${Math.round(this.scroll.pixels + (line - this.scroll.top) * SIDE)}px`;
    if (row !== undefined) tile.addEventListener("pointerenter", () => this.app.shared.store.set({ hover: row }));
    return tile;
  }
}
