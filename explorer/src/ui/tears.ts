// In a cluster's panel: how many links to true neighbours the map makes long, where they lead, and a switch to see them.
import type { App } from "../app";
import type { Tear } from "../tears";
import type { NodeId } from "../tree";
import { count, el, percent } from "./dom";
import { nodeLabel } from "./rowbits";

export function tearsOf(app: App, id: NodeId, tear: Tear): HTMLElement {
  const links = `${count(tear.links, "link")} to true neighbours`;
  if (!tear.far) return el("p", { class: "quiet" }, `None of its ${links} is longer than a tenth of the map.`);
  const { store } = app.shared;
  const shown = store.now.tears;
  const show = el("button", { onclick: () => store.set({ tears: !store.now.tears }) }, shown ? "Hide the links" : "Show the links");
  show.setAttribute("aria-pressed", String(shown));
  show.id = "tears";
  const items = tear.to.map(([index, n]) => {
    const to = { level: id.level, index };
    const own = index === id.index;
    return el("li", {}, el("button", { class: "item", onclick: () => app.openCluster(to) },
      own ? el("span", { class: "label" }, "within itself") : nodeLabel(app, to), el("span", { class: "note" }, n.toLocaleString("en"))));
  });
  return el("div", {},
    el("p", { class: "quiet" }, `${tear.far.toLocaleString("en")} of its ${links} (${percent(tear.far / tear.links)}) ${tear.far === 1 ? "is" : "are"} longer than a tenth of the map. They lead to:`),
    el("ul", { class: "items" }, ...items), el("div", { class: "actions" }, show));
}
