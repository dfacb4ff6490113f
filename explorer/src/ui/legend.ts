// What colours and sizes mean: a choice of columns for each, and keys that filter categories.
import type { App } from "../app";
import { css, numberColor } from "../colors";
import { MISSING } from "../data/bins";
import { onlyCategory, toggleCategory } from "../filters";
import type { CategoryColumn, NumberColumn } from "../meta";
import { Combobox, type Choice } from "./combobox";
import { byId, cut, el, number, swatch, teller } from "./dom";

const MOST_KEYS = 60;

export class Legend {
  private readonly legend = byId("legend");
  private readonly keys = byId("keys");
  private readonly scaleOfSizes = el("div", { class: "sizes" });
  private readonly color: Combobox;
  private readonly size: Combobox;

  constructor(private readonly app: App) {
    const { meta, store } = app.shared;
    const choices = meta.columns.map((c): Choice => ({ value: c.key, text: c.name, group: c.kind === "number" && c.quality ? "Quality of the map" : "Columns" }));
    choices.sort((a, b) => Number(a.group !== "Columns") - Number(b.group !== "Columns"));
    this.color = new Combobox("Colour by", [{ value: "level", text: "cluster", group: "" }, ...choices], (color) => store.set({ color }));
    const numbers = choices.filter(({ value }) => meta.columns.some((c) => c.key === value && c.kind === "number"));
    this.size = new Combobox("Size of points by", [{ value: "", text: "all alike", group: "" }, ...numbers], (size) => store.set({ size: size || null }));
    byId("color").append(this.color.element);
    byId("size").append(this.size.element);
    byId("sizing").append(this.scaleOfSizes);
    byId("sizing").hidden = !numbers.length;
    byId("legendFold").addEventListener("click", () => this.fold(!this.legend.classList.contains("shut")));
  }

  fold(shut: boolean): void {
    this.legend.classList.toggle("shut", shut);
    byId("legendFold").setAttribute("aria-expanded", String(!shut));
  }

  show(): void {
    const { store, painter } = this.app.shared;
    this.color.show(store.now.color);
    const column = painter.column;
    if (!column) this.keys.replaceChildren(...this.clusters());
    else if (column.kind === "category") this.keys.replaceChildren(...this.categories(column));
    else this.keys.replaceChildren(this.scale(column));
    this.showSizes();
  }

  private showSizes(): void {
    const { store, shares } = this.app.shared;
    const column = shares.sizeColumn;
    this.size.show(store.now.size ?? "");
    if (!column) return this.scaleOfSizes.replaceChildren();
    const tell = teller(column);
    this.scaleOfSizes.replaceChildren(el("i", { class: "dot small" }), el("span", {}, tell(column.low)), el("i", { class: "dot large" }), el("span", {}, tell(column.high)));
  }

  private clusters(): HTMLElement[] {
    return [el("p", { class: "quiet" }, `Clusters of level ${this.app.shared.store.now.focus}, in shades of their parents' colours.`)];
  }

  private categories(column: CategoryColumn): HTMLElement[] {
    const { store, painter } = this.app.shared;
    const { nRows } = this.app.shared.meta;
    const { key } = column;
    const now = store.now.filters.get(key);
    const shown = now?.kind === "categories" ? new Set(now.codes) : null;
    const known = column.counts.reduce((sum, n) => sum + n, 0);
    const count = (code: number): number => (code === MISSING ? nRows - known : (column.counts[code] ?? 0));
    const codes = [...column.categories.keys(), ...(known < nRows ? [MISSING] : [])];
    const list = el("ul", { class: "keys" });
    for (const code of codes.slice(0, MOST_KEYS)) {
      const name = cut(column.categories[code] ?? "missing", 60) || "(empty)";
      const only = shown?.size === 1 && shown.has(code);
      const off = shown !== null && !shown.has(code);
      const line = el("button", { class: "key", title: "Click: only this. Again: all.", onclick: () => store.set({ filters: onlyCategory(store.now.filters, key, code) }) },
        swatch(painter.ofCategory(code)), el("span", { class: "text" }, name), el("span", { class: "note" }, count(code).toLocaleString("en")));
      line.setAttribute("aria-pressed", String(only));
      const eye = el("button", { class: "eye", label: `${off ? "Show" : "Hide"} ${name}`, onclick: () => store.set({ filters: toggleCategory(store.now.filters, key, code, codes) }) }, off ? "○" : "●");
      eye.setAttribute("aria-pressed", String(off));
      list.append(el("li", { class: off ? "off" : "" }, line, eye));
    }
    const more = codes.length - MOST_KEYS;
    return more > 0 ? [list, el("p", { class: "quiet" }, `and ${more} more`)] : [list];
  }

  private scale(column: NumberColumn): HTMLElement {
    const { theme } = this.app.shared.painter;
    const bar = el("canvas", { class: "scale" });
    [bar.width, bar.height] = [128, 1];
    const context = bar.getContext("2d")!;
    for (let i = 0; i < 128; i++) {
      context.fillStyle = css(numberColor(i / 127, theme));
      context.fillRect(i, 0, 1, 1);
    }
    const tell = teller(column);
    const { min, low, high, max } = column;
    // the ends of the scale stand for all values beyond them, too
    const ends = el("div", { class: "ends" }, el("span", {}, `${min < low ? "≤ " : ""}${tell(low)}`), el("span", {}, tell((low + high) / 2)), el("span", {}, `${max > high ? "≥ " : ""}${tell(high)}`));
    const missing = column.missing ? el("p", { class: "quiet" }, swatch(css(theme.quiet)), ` missing: ${number(column.missing)}`) : null;
    const hint = column.quality ? el("p", { class: "quiet" }, "Low: the map puts the wrong rows near.") : null;
    return el("div", {}, bar, ends, missing, hint);
  }
}
