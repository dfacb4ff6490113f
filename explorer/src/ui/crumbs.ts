// The way from the whole map down to the open cluster.
import type { App } from "../app";
import { byId, cut, el } from "./dom";
import { waits } from "./rowbits";

export class Crumbs {
  private readonly nav = byId("crumbs");
  private turn = 0;

  constructor(private readonly app: App) {}

  async show(): Promise<void> {
    const turn = ++this.turn;
    const { store, tree } = this.app.shared;
    const id = store.now.cluster;
    const path = id ? await tree.path(id).catch(() => [id]) : [];
    if (turn !== this.turn) return;
    const items = path.map((step, i) => {
      const title = tree.title(step);
      const button = el("button", { class: "crumb", title: cut(title), onclick: () => this.app.openCluster(step) }, cut(title, 28));
      if (tree.waiting(step.level)) button.setAttribute("data-wait", "");
      if (i === path.length - 1) button.setAttribute("aria-current", "true");
      return el("li", {}, button);
    });
    const all = el("li", {}, el("button", { class: "crumb", onclick: () => this.app.goHome() }, "All"));
    this.nav.replaceChildren(el("ol", {}, all, ...items));
    this.nav.scrollLeft = this.nav.scrollWidth;
  }

  refresh(): void {
    if (waits(this.nav)) void this.show();
  }
}
