// Lists of rows in the panel: what a search found, what is selected.
import type { App } from "../app";
import type { Hits } from "../search";
import { countRows, rowAt } from "../ranges";
import { byId, count, cut, el } from "./dom";
import { rowButton } from "./rowbits";
import { VirtualList } from "./virtual";

export class FoundSection {
  private readonly section = byId("found");
  private readonly list = new VirtualList("Rows found");

  constructor(private readonly app: App) {}

  show(query: string, hits: Hits): void {
    this.section.hidden = false;
    const close = el("button", { class: "close", label: "Close the search", onclick: () => this.app.clearSearch() }, "×");
    const total = hits.complete ? count(hits.total, "row") : `more than ${count(hits.total, "row")}`;
    const told = hits.total ? `${total} with “${cut(query, 60)}”` : `No row with “${cut(query, 60)}”`;
    const more = hits.total > hits.rows.length ? el("p", { class: "quiet" }, `The first ${hits.rows.length} are shown.`) : null;
    const select = el("button", { onclick: () => this.app.select(hits.rows.map((i) => [i, i + 1])) }, "Select these");
    const actions = hits.rows.length ? el("div", { class: "actions" }, select) : "";
    this.section.replaceChildren(el("div", { class: "heading" }, el("h2", {}, told), close), more ?? "", actions, this.list.element);
    this.list.show(hits.rows.length, (i) => rowButton(this.app, hits.rows[i]!));
  }

  hide(): void {
    this.section.hidden = true;
    this.section.replaceChildren();
  }

  refresh(): void {
    if (!this.section.hidden) this.list.refresh();
  }
}

export class SelectionSection {
  private readonly section = byId("selection");
  private readonly list = new VirtualList("Selected rows");

  constructor(private readonly app: App) {}

  show(): void {
    const { selection } = this.app.shared.store.now;
    const n = countRows(selection);
    this.section.hidden = n === 0;
    if (!n) return this.section.replaceChildren();
    const close = el("button", { class: "close", label: "Clear the selection", onclick: () => this.app.select([]) }, "×");
    const save = el("button", { class: "solid", onclick: () => void this.app.exportSelection() }, "Export CSV");
    save.id = "export";
    this.section.replaceChildren(
      el("div", { class: "heading" }, el("h2", {}, `${count(n, "row")} selected`), close), el("div", { class: "actions" }, save), this.list.element,
    );
    this.list.show(n, (i) => rowButton(this.app, rowAt(selection, i)));
  }

  refresh(): void {
    if (!this.section.hidden) this.list.refresh();
  }
}
