// Bars of a column of categories, most common first: the filtered rows in front of all rows. A click filters.
import { count, cut, el, swatch } from "./dom";

const FIRST = 8;
const STEP = 40; // more at a click
const MOST = 400;

export interface Bar {
  code: number;
  name: string;
  quiet: boolean; // no category but the rows without one
}

export interface BarsShown {
  all: (code: number) => number;
  some: (code: number) => number;
  picked: ReadonlySet<number> | null; // null: no filter
  color: (code: number) => string | null;
}

export class Bars {
  readonly element = el("div", { class: "bars" });
  private bars: readonly Bar[] = [];
  private shown: BarsShown | null = null;
  private n = FIRST;
  private readonly list = el("ul");
  private readonly lines = new Map<number, Line>();

  constructor(private readonly pick: (code: number) => void) {
    this.element.append(this.list);
  }

  show(bars: readonly Bar[], shown: BarsShown): void {
    const sorted = [...bars].filter((bar) => shown.all(bar.code) > 0).sort((a, b) => Number(a.quiet) - Number(b.quiet) || shown.all(b.code) - shown.all(a.code));
    const same = sorted.length === this.bars.length && sorted.every((bar, i) => bar.code === this.bars[i]!.code && bar.name === this.bars[i]!.name);
    this.bars = sorted;
    this.shown = shown;
    if (!same) this.build();
    this.update();
  }

  private build(): void {
    this.lines.clear();
    // one more line takes no more room than the button that leads to it
    const n = this.bars.length <= this.n + 1 ? this.bars.length : this.n;
    const items = this.bars.slice(0, Math.min(n, MOST)).map((bar) => {
      const line = new Line(bar, () => this.pick(bar.code));
      this.lines.set(bar.code, line);
      return el("li", {}, line.button);
    });
    this.list.replaceChildren(...items);
    this.element.querySelector(".more")?.remove();
    const rest = this.bars.slice(items.length);
    if (!rest.length) return;
    const rows = rest.reduce((sum, bar) => sum + this.shown!.all(bar.code), 0);
    const text = `${rest.length.toLocaleString("en")} others, ${count(rows, "row")}`;
    const more = items.length < MOST ? el("button", { class: "more", onclick: () => this.grow() }, text) : el("p", { class: "more quiet" }, text);
    this.element.append(more);
  }

  private grow(): void {
    this.n += STEP;
    const first = this.lines.size;
    this.build();
    this.update();
    this.list.querySelectorAll("button")[first]?.focus({ preventScroll: true });
  }

  private update(): void {
    const shown = this.shown!;
    const most = this.bars.reduce((a, bar) => Math.max(a, shown.all(bar.code)), 1);
    for (const [code, line] of this.lines) line.update(shown, code, most);
  }
}

class Line {
  readonly button: HTMLButtonElement;
  private readonly back = el("i", { class: "back" });
  private readonly front = el("i", { class: "front" });
  private readonly note = el("span", { class: "note" });
  private readonly dot = swatch("transparent");

  constructor(bar: Bar, pick: () => void) {
    this.button = el("button", { class: bar.quiet ? "bar-line quiet" : "bar-line", title: cut(bar.name, 200), onclick: pick }, this.back, this.front, this.dot, el("span", { class: "text" }, cut(bar.name, 60) || "(empty)"), this.note);
  }

  update({ all, some, picked, color }: BarsShown, code: number, most: number): void {
    const own = color(code);
    const room = (n: number): string => `calc((100% - 12px) * ${n / most})`; // without the padding of the line
    this.back.style.width = room(all(code));
    this.front.style.width = room(some(code));
    this.front.style.backgroundColor = own ?? "";
    this.dot.style.backgroundColor = own ?? "";
    this.dot.hidden = !own;
    this.note.textContent = some(code).toLocaleString("en");
    this.button.setAttribute("aria-pressed", String(picked?.has(code) ?? false));
    this.button.classList.toggle("off", picked !== null && !picked.has(code));
  }
}
