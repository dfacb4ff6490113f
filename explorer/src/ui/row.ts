// The open row: its fields, the clusters it belongs to, its true neighbours and how far away the map puts them.
import type { App } from "../app";
import { tieOf } from "../scene";
import { block } from "./cluster";
import { byId, cut, el, number } from "./dom";
import { fields, nodeLabel, rowButton, thumbnail, waits } from "./rowbits";

export class RowSection {
  private readonly section = byId("row");
  private turn = 0;

  constructor(private readonly app: App) {}

  async show(): Promise<void> {
    const turn = ++this.turn;
    const { store, rows, tree, tiles } = this.app.shared;
    const row = store.now.row;
    this.section.hidden = row === null;
    if (row === null) return this.section.replaceChildren();
    const [values, path, copies] = await Promise.all([rows.values(row).catch(() => []), tree.pathOfRow(row).catch(() => []), tiles.copiesOf(0, row).catch(() => 1)]);
    if (turn !== this.turn) return;
    const title = rows.title(row) ?? `Row ${row}`;
    const close = el("button", { class: "close", label: "Close the row", onclick: () => this.app.closeRow() }, "×");
    const parts: HTMLElement[] = [
      el("div", { class: "heading" }, el("h2", {}, cut(title)), close),
      el("div", { class: "rowtop" }, thumbnail(this.app, row, 84), fields(this.app, values)),
    ];
    if (copies > 1) parts.push(el("p", { class: "facts copies" }, `×${copies.toLocaleString("en")}: so many rows lie at this place, as equal rows do.`));
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
    const { neighbors, focus } = this.app.shared.store.now;
    if (!neighbors.length) return null;
    const ties = neighbors.map((other) => tieOf(this.app.main, row, other));
    const torn = ties.filter((tie) => tie?.torn).length;
    const items = neighbors.map((other, i) => {
      const tie = ties[i];
      const item = rowButton(this.app, other, undefined, tie ? number(Number(tie.distance.toPrecision(2))) : "");
      if (tie?.torn) item.classList.add("torn");
      return item;
    });
    const line = torn
      ? `The map tears ${torn} of ${neighbors.length} away (dashed): into another cluster of level ${focus}, or over a tenth of the map.`
      : `All ${neighbors.length} lie near, in the same cluster of level ${focus}.`;
    return block("True nearest neighbours", el("div", {}, el("p", { class: "quiet" }, `${line} The numbers are distances in the map.`), el("div", { class: "items" }, ...items)));
  }
}
