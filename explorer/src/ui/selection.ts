// What is selected: how many rows, how the next set joins them, and what can be done with them.
import type { App } from "../app";
import type { How } from "../data/sets";
import type { Chosen } from "../selecting";
import { byId, count, el, refill } from "./dom";
import { exportButtons } from "./export";
import { SummaryPart } from "./summary";

const HOWS: readonly [How, string, string][] = [
  ["replace", "New", "The next set replaces the selection"],
  ["add", "Add", "The next set joins the selection (hold Ctrl)"],
  ["subtract", "Less", "The next set is taken out of the selection (hold Alt)"],
  ["intersect", "Both", "What is in the selection and in the next set (hold Ctrl and Alt)"],
];

export class SelectionSection {
  private readonly section = byId("selection");
  private readonly summary: SummaryPart;
  private told: Chosen | null = null; // of what the summary is

  constructor(private readonly app: App) {
    this.summary = new SummaryPart(app);
  }

  show(): void {
    const { selection, chosen, byCluster } = this.app.shared.store.now;
    this.section.hidden = !selection;
    if (!selection) return this.section.replaceChildren();
    const { selecting } = this.app;
    const close = el("button", { class: "close", label: "Clear the selection", onclick: () => selecting.clear() }, "×");
    const told = chosen ? `${count(chosen.count, "row")} selected` : "Selecting…";
    const note = byCluster ? el("p", { class: "quiet" }, "By cluster: whole clusters whose middle lies inside. Closer up, rows are taken one by one.") : null;
    refill(this.section, el("div", { class: "heading" }, el("h2", {}, told), close), note, this.hows(), this.actions(), this.summary.element);
    if (chosen && chosen !== this.told) void this.summary.show(selection, chosen);
    this.told = chosen;
  }

  /** Other clusters are in focus, or have other colours. */
  showClusters(): void {
    const { selection, chosen } = this.app.shared.store.now;
    if (selection && chosen) void this.summary.showClusters(selection, chosen);
  }

  refresh(): void {
    if (!this.section.hidden) this.summary.refresh();
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

  /** A field for the name, in place of the button. */
  private name(button: HTMLElement): void {
    const input = el("input", { type: "text", label: "Name of this selection" });
    input.maxLength = 200;
    const cancel = el("button", { onclick: () => this.show() }, "Cancel");
    const form = el("form", { class: "rename" }, input, el("button", { type: "submit", class: "solid" }, "Keep"), cancel);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = input.value.trim();
      if (name) void this.app.kept.keep(name).then(() => this.show());
    });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.show();
    });
    button.closest(".actions")!.replaceChildren(form);
    input.focus();
  }

  private actions(): HTMLElement {
    const { selecting } = this.app;
    const files = exportButtons(this.app, "selection", () => this.app.shared.store.now.selection);
    files[0]!.querySelector("button")!.id = "export";
    const keep = el("button", { title: "Keep it under a name", onclick: () => this.name(keep) }, "Keep…");
    const undo = el("button", { title: "Ctrl+Z", onclick: () => selecting.undo() }, "Undo");
    undo.disabled = !selecting.canUndo;
    return el("div", { class: "actions" }, ...files, keep, el("button", { title: "All other rows (I)", onclick: () => selecting.invert() }, "Invert"), undo);
  }
}
