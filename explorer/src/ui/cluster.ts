// The open cluster: its size, what distinguishes it, typical and odd rows, its children, its name to edit.
import type { App } from "../app";
import { heldHow } from "../input";
import { loadTear, type Tear } from "../tears";
import type { Node, NodeId, Panel } from "../tree";
import { byId, count, cut, el, inPlaces, percent, swatch } from "./dom";
import { nodeLabel, rowButton, waits } from "./rowbits";
import { tearsOf } from "./tears";
import { VirtualList } from "./virtual";

const FEW = 40; // children as plain buttons; more in a list that scrolls

export class ClusterSection {
  private readonly section = byId("cluster");
  private turn = 0;
  private editing = false;
  private lists: VirtualList[] = [];

  constructor(private readonly app: App) {}

  /** Shows the open cluster, or the whole map if none is open. */
  async show(): Promise<void> {
    const turn = ++this.turn;
    this.editing = false;
    const id = this.app.shared.store.now.cluster;
    if (!id) return this.showAll();
    const { tree } = this.app.shared;
    try {
      const [node, panel, places, tear] = await Promise.all([tree.node(id), tree.panel(id).catch(() => null), tree.places(id).catch(() => null), loadTear(this.app.shared, 0, id).catch(() => null)]);
      const children = await this.children(node);
      if (turn !== this.turn) return;
      this.render(node, panel, places, children, tear);
    } catch (error) {
      if (turn === this.turn) this.section.replaceChildren(el("h2", {}, tree.title(id)), el("p", { class: "quiet" }, String((error as Error).message)));
    }
  }

  /** Names, colours or thumbnails may have arrived. */
  refresh(): void {
    if (waits(this.section) && !this.editing && !this.lists.length) void this.show();
    this.lists.forEach((list) => list.refresh());
  }

  private async children(node: Node): Promise<{ id: NodeId; size: number }[]> {
    if (node.level === 0) return [];
    const [begin, end] = node.children;
    const ids = Array.from({ length: Math.min(end - begin, 2000) }, (_, i) => ({ level: node.level - 1, index: begin + i }));
    return Promise.all(ids.map(async (id) => ({ id, size: (await this.app.shared.tree.node(id)).size })));
  }

  private async showAll(): Promise<void> {
    this.lists = [];
    const { meta, tree, store } = this.app.shared;
    const turn = this.turn;
    const parts: HTMLElement[] = [
      el("h2", {}, cut(meta.title)),
      el("p", { class: "facts" }, `${count(meta.nRows, "row")} · ${count(meta.levels.length, "level")}`),
    ];
    if (meta.description) parts.push(el("p", { class: "description" }, cut(meta.description, 1000)));
    const { stops } = this.app.tour;
    if (stops.length) parts.push(el("div", { class: "actions" }, el("button", { class: "solid", onclick: () => this.app.goStop(0) }, `Take the tour: ${count(stops.length, "view")}`)));
    if (meta.levels.length) {
      const top = this.app.openLevel;
      const data = tree.held(top) ? await tree.loadLevel(top).catch(() => null) : null;
      if (turn !== this.turn || store.now.cluster) return;
      if (data) {
        const children = Array.from(data.size, (size, index) => ({ id: { level: top, index }, size }));
        parts.push(this.childList(`Clusters of level ${top}`, children, meta.nRows));
      }
    }
    this.section.replaceChildren(...parts);
  }

  private render(node: Node, panel: Panel | null, places: number | null, children: { id: NodeId; size: number }[], tear: Tear | null): void {
    const { app } = this;
    const { meta, painter, tree } = app.shared;
    this.lists = [];
    const select = (event: MouseEvent) => app.select({ kind: "cluster", level: node.level, index: node.index }, heldHow(event));
    const parts: (HTMLElement | null)[] = [
      this.heading(node),
      el("p", { class: "facts" }, swatch(painter.ofNode(node)), `${count(node.size, "row")}${inPlaces(places)} · ${percent(node.size / Math.max(meta.nRows, 1))} of all · level ${node.level}`),
      el("div", { class: "actions" },
        el("button", { onclick: () => app.flyTo(node) }, "Fly to"),
        el("button", { onclick: select }, "Select rows"),
        el("button", { onclick: () => void app.openParent(node) }, "Up")),
      panel?.why.length && (tree.name(node) ?? panel.name) === panel.name ? block("Why this name", el("ul", { class: "traits" }, ...panel.why.map((t) => el("li", {}, cut(t))))) : null,
      panel?.traits.length ? block("What is special", el("ul", { class: "traits" }, ...panel.traits.map((t) => el("li", {}, cut(t))))) : null,
      panel?.typical.length ? block("Typical rows", el("div", { class: "items" }, ...panel.typical.map(([i, text]) => rowButton(app, i, text)))) : null,
      panel?.odd.length ? block("Odd rows", el("div", { class: "items" }, ...panel.odd.map(([i, text]) => rowButton(app, i, text)))) : null,
      tear ? block("Where the map tears", tearsOf(app, node, tear)) : null,
      children.length ? this.childList(`${count(children.length, "cluster")} inside`, children, node.size) : this.rowList(node),
    ];
    this.section.replaceChildren(...parts.filter((p): p is HTMLElement => p !== null));
    if (tree.waiting(node.level) || painter.waiting(node.level)) this.section.firstElementChild!.firstElementChild!.setAttribute("data-wait", "");
  }

  private heading(node: Node): HTMLElement {
    const { tree } = this.app.shared;
    const title = el("h2", {}, cut(tree.title(node)));
    const edit = el("button", { class: "edit", title: "Rename", label: "Rename this cluster", onclick: () => this.edit(node, box) }, "✎");
    const box = el("div", { class: "heading" }, title, this.app.canRename(node.level) ? edit : null);
    return box;
  }

  private edit(node: Node, box: HTMLElement): void {
    this.editing = true;
    const input = el("input", { type: "text", label: "Name of this cluster" });
    input.value = this.app.shared.tree.name(node) ?? "";
    input.maxLength = 200;
    const form = el("form", { class: "rename" }, input, el("button", { type: "submit", class: "solid" }, "Save"),
      el("button", { onclick: () => void this.show() }, "Cancel"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.editing = false;
      void this.app.rename(node, input.value.trim()).then(() => this.show());
    });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      void this.show();
    });
    box.replaceChildren(form);
    input.focus();
    input.select();
  }

  private childList(title: string, children: { id: NodeId; size: number }[], whole: number): HTMLElement {
    const { app } = this;
    const { painter } = app.shared;
    const line = ({ id, size }: { id: NodeId; size: number }): HTMLElement => {
      const bar = el("i", { class: "bar" });
      bar.style.width = `${Math.max((100 * size) / whole, 1)}%`;
      bar.style.backgroundColor = painter.ofNode(id);
      return el("button", { class: "item child", onclick: () => app.openCluster(id) }, nodeLabel(app, id),
        el("span", { class: "note" }, size.toLocaleString("en")), bar);
    };
    if (children.length <= FEW) {
      const items = children.map((child) => el("li", {}, line(child)));
      return block(title, el("ul", { class: "items tree" }, ...items));
    }
    const list = new VirtualList(title);
    this.lists = [list];
    queueMicrotask(() => list.show(children.length, (i) => line(children[i]!)));
    return block(title, list.element);
  }

  private rowList(node: Node): HTMLElement {
    const list = new VirtualList("Rows of this cluster");
    this.lists = [list];
    queueMicrotask(() => list.show(node.size, (i) => rowButton(this.app, node.firstRow + i)));
    return block("Rows", list.element);
  }
}

export function block(title: string, body: HTMLElement): HTMLElement {
  return el("div", { class: "block" }, el("h3", {}, title), body);
}

