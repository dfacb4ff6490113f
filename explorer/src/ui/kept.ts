// Selections that are kept: shown again, compared with what is selected, deleted.
import type { App } from "../app";
import type { Rows } from "../data/engine";
import { both } from "../data/sets";
import { block } from "./cluster";
import { byId, count, cut, el, refill } from "./dom";

interface Compared {
  name: string;
  shared: number;
  own: readonly string[]; // traits of what is selected against the kept one
  its: readonly string[];
}

export class KeptSection {
  private readonly section = byId("kept");
  private compared: Compared | null = null;
  private turn = 0;

  constructor(private readonly app: App) {
    app.kept.onChange = () => this.show();
  }

  show(): void {
    const { kept } = this.app;
    const { list, saved } = kept;
    this.section.hidden = !list.length;
    const where = saved ? null : el("p", { class: "quiet" }, "Kept for this visit. ",
      el("button", { class: "plain", onclick: () => void kept.download().catch((error: unknown) => this.app.told.failed(error)) }, "Download them"));
    const lines = list.map(({ name, count: n }) => this.line(name, n));
    refill(this.section, el("h2", {}, "Kept selections"), where, el("ul", { class: "items keptlist" }, ...lines), this.comparison());
  }

  /** Something else is selected: a comparison with it no longer holds. */
  forget(): void {
    this.turn++;
    this.compared = null;
    this.show();
  }

  private line(name: string, n: number): HTMLElement {
    const { app } = this;
    const told = cut(name, 80);
    const show = el("button", { class: "item", title: `Select ${told}`, onclick: () => void this.select(name) },
      el("span", { class: "text" }, told), el("span", { class: "note" }, n.toLocaleString("en")));
    const against = el("button", { class: "small", title: "Compare what is selected with it", label: `Compare with ${told}`, onclick: () => void this.compare(name) }, "Compare");
    against.disabled = !app.shared.store.now.selection;
    const remove = el("button", { class: "close", label: `Delete ${told}`, onclick: () => void app.kept.remove(name) }, "×");
    return el("li", {}, show, against, remove);
  }

  private async select(name: string): Promise<void> {
    try {
      this.app.select(await this.app.kept.set(name));
    } catch (error) {
      this.app.told.failed(error);
    }
  }

  private async compare(name: string): Promise<void> {
    const turn = ++this.turn;
    const { store, engine } = this.app.shared;
    const a: Rows | null = store.now.selection;
    if (!a) return;
    try {
      const b = await this.app.kept.set(name);
      const [own, its, shared] = await Promise.all([engine.summary(a, b), engine.summary(b, a), this.app.selecting.rowsOf(both(a, b))]);
      if (turn !== this.turn) return;
      this.compared = { name, shared: shared.count, own: own.traits, its: its.traits };
      this.show();
    } catch (error) {
      this.app.told.failed(error);
    }
  }

  /** Two columns: what each has that the other has not. */
  private comparison(): HTMLElement | null {
    if (!this.compared) return null;
    const { name, shared, own, its } = this.compared;
    const column = (title: string, traits: readonly string[]): HTMLElement =>
      el("div", {}, el("h3", {}, title), traits.length ? el("ul", { class: "traits" }, ...traits.map((trait) => el("li", {}, cut(trait)))) : el("p", { class: "quiet" }, "nothing of its own"));
    const body = el("div", { class: "compared" }, column("Selected", own), column(cut(name, 60), its));
    return el("div", {}, block(`${count(shared, "row")} in both`, body));
  }
}
