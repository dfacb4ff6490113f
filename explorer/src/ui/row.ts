// The open row: its fields, the clusters it belongs to, its true neighbours and how far away the map puts them.
import type { App } from "../app";
import { placeOfRow } from "../scene";
import { block } from "./cluster";
import { byId, cut, el, number } from "./dom";
import { fields, nodeLabel, rowButton, thumbnail, waits } from "./rowbits";

export class RowSection {
  private readonly section = byId("row");
  private turn = 0;

  constructor(private readonly app: App) {}

  async show(): Promise<void> {
    const turn = ++this.turn;
    const { store, rows, tree } = this.app.shared;
    const row = store.now.row;
    this.section.hidden = row === null;
    if (row === null) return this.section.replaceChildren();
    const [values, path] = await Promise.all([rows.values(row).catch(() => []), tree.pathOfRow(row).catch(() => [])]);
    if (turn !== this.turn) return;
    const title = rows.title(row) ?? `Row ${row}`;
    const close = el("button", { class: "close", label: "Close the row", onclick: () => this.app.closeRow() }, "×");
    const parts: HTMLElement[] = [
      el("div", { class: "heading" }, el("h2", {}, cut(title)), close),
      el("div", { class: "rowtop" }, thumbnail(this.app, row, 84), fields(this.app, values)),
    ];
    const torn = this.neighborBlock(row);
    if (torn) parts.push(torn);
    if (path.length) {
      const items = path.map((id) => el("li", {}, el("button", { class: "item", onclick: () => this.app.openCluster(id) },
        nodeLabel(this.app, id), el("span", { class: "note" }, `level ${id.level}`))));
      parts.push(block("Belongs to", el("ul", { class: "items" }, ...items)));
    }
    this.section.replaceChildren(...parts);
  }

  refresh(): void {
    if (this.app.shared.store.now.row !== null && waits(this.section)) void this.show();
  }

  private neighborBlock(row: number): HTMLElement | null {
    const { store, tree } = this.app.shared;
    const { neighbors, focus } = store.now;
    const view = this.app.views[0]!;
    const from = placeOfRow(view, row);
    if (!neighbors.length || !from) return null;
    const own = tree.nodeOfRow(row, focus);
    let elsewhere = 0;
    const items = neighbors.map((other) => {
      const at = placeOfRow(view, other);
      const distance = at ? Math.hypot(at[0] - from[0], at[1] - from[1]) : NaN;
      const torn = tree.nodeOfRow(other, focus) !== own;
      if (torn) elsewhere++;
      const item = rowButton(this.app, other, undefined, Number.isFinite(distance) ? number(Number(distance.toPrecision(2))) : "");
      if (torn) item.classList.add("torn");
      return item;
    });
    const line = elsewhere
      ? `${elsewhere} of ${neighbors.length} lie in another cluster of level ${focus} (dashed).`
      : `All ${neighbors.length} lie in the same cluster of level ${focus}.`;
    return block("True nearest neighbours", el("div", {}, el("p", { class: "quiet" }, `${line} The numbers are distances in the map.`), el("div", { class: "items" }, ...items)));
  }
}
