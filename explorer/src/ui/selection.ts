// What is selected: how many rows, how the next set joins them, and what can be done with them.
import type { App } from "../app";
import type { How } from "../data/sets";
import { rowAt } from "../ranges";
import { byId, count, el, refill } from "./dom";
import { rowButton } from "./rowbits";
import { VirtualList } from "./virtual";

const HOWS: readonly [How, string, string][] = [
  ["replace", "New", "The next set replaces the selection"],
  ["add", "Add", "The next set joins the selection (hold Ctrl)"],
  ["subtract", "Less", "The next set is taken out of the selection (hold Alt)"],
  ["intersect", "Both", "What is in the selection and in the next set (hold Ctrl and Alt)"],
];

export class SelectionSection {
  private readonly section = byId("selection");
  private readonly list = new VirtualList("Selected rows");

  constructor(private readonly app: App) {}

  show(): void {
    const { selection, chosen, byCluster } = this.app.shared.store.now;
    this.section.hidden = !selection;
    if (!selection) return this.section.replaceChildren();
    const { selecting } = this.app;
    const close = el("button", { class: "close", label: "Clear the selection", onclick: () => selecting.clear() }, "×");
    const told = chosen ? `${count(chosen.count, "row")} selected` : "Selecting…";
    const note = byCluster ? el("p", { class: "quiet" }, "By cluster: whole clusters whose middle lies inside. Closer up, rows are taken one by one.") : null;
    refill(this.section, el("div", { class: "heading" }, el("h2", {}, told), close), note, this.hows(), this.actions(), this.list.element);
    const { ranges, count: n } = chosen ?? { ranges: null, count: 0 };
    this.list.element.hidden = !ranges?.length;
    if (ranges) this.list.show(n, (i) => rowButton(this.app, rowAt(ranges, i)));
  }

  refresh(): void {
    if (!this.section.hidden) this.list.refresh();
  }

  /** How the next set joins: one of four. */
  private hows(): HTMLElement {
    const { store } = this.app.shared;
    const group = el("div", { class: "hows", label: "The next set" });
    group.setAttribute("role", "radiogroup");
    for (const [how, text, title] of HOWS) {
      const input = el("input", { type: "radio" });
      input.name = "how";
      input.checked = store.now.how === how;
      input.addEventListener("change", () => store.set({ how }));
      group.append(el("label", { title }, input, el("span", {}, text)));
    }
    return group;
  }

  private actions(): HTMLElement {
    const { selecting } = this.app;
    const save = el("button", { class: "solid", onclick: () => void this.app.exportSelection() }, "Export CSV");
    save.id = "export";
    const undo = el("button", { title: "Ctrl+Z", onclick: () => selecting.undo() }, "Undo");
    undo.disabled = !selecting.canUndo;
    return el("div", { class: "actions" }, save, el("button", { title: "All other rows (I)", onclick: () => selecting.invert() }, "Invert"), undo);
  }
}
