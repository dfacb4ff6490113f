// A list of any length: only the lines in sight exist.
import { el } from "./dom";

const LINE = 34; // pixels, as in the style sheet

export class VirtualList {
  readonly element: HTMLDivElement;
  private readonly body: HTMLDivElement;
  private n = 0;
  private line: (i: number) => HTMLElement = () => el("div");

  constructor(label: string) {
    this.body = el("div", { class: "lines" });
    this.body.setAttribute("role", "list");
    this.element = el("div", { class: "virtual", label }, this.body);
    this.element.addEventListener("scroll", () => this.refresh());
  }

  show(n: number, line: (i: number) => HTMLElement): void {
    this.n = n;
    this.line = line;
    this.body.style.height = `${Math.min(n * LINE, 3e7)}px`; // browsers stop at about 33 million pixels
    this.element.style.height = `${Math.min(n, 8) * LINE}px`;
    this.element.scrollTop = 0;
    this.refresh();
  }

  /** Draws the lines in sight again (their texts may have arrived). */
  refresh(): void {
    const focused = this.body.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.line : undefined;
    const first = Math.max(Math.floor(this.element.scrollTop / LINE) - 2, 0);
    const last = Math.min(first + Math.ceil((this.element.clientHeight || 8 * LINE) / LINE) + 4, this.n);
    const lines: HTMLElement[] = [];
    for (let i = first; i < last; i++) {
      const line = this.line(i);
      line.dataset.line = String(i);
      const item = el("div", { class: "line" }, line);
      item.setAttribute("role", "listitem");
      item.setAttribute("aria-setsize", String(this.n));
      item.setAttribute("aria-posinset", String(i + 1));
      item.style.top = `${i * LINE}px`;
      lines.push(item);
    }
    const next = this.body.cloneNode(false) as HTMLDivElement;
    next.append(...lines);
    if (next.isEqualNode(this.body)) return; // a line under the finger stays the same element
    this.body.replaceChildren(...lines);
    if (focused !== undefined) this.body.querySelector<HTMLElement>(`[data-line="${focused}"]`)?.focus({ preventScroll: true });
  }
}
