// What a search found.
import type { App } from "../app";
import { heldHow } from "../input";
import type { Hits } from "../search";
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
    const select = el("button", { onclick: (event) => this.app.select({ kind: "search", query }, heldHow(event)) }, hits.total > hits.rows.length ? "Select all" : "Select these");
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
