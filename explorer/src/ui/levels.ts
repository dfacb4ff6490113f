// The level in focus: a slider from fine to coarse, or the zoom decides.
import type { App } from "../app";
import { byId, count } from "./dom";

export class Levels {
  private readonly slider = byId<HTMLInputElement>("level");
  private readonly text = byId("levelText");
  private readonly follow = byId<HTMLInputElement>("follow");

  constructor(private readonly app: App) {
    const { tree } = app.shared;
    byId("levels").hidden = tree.top < 1;
    // coarse levels to the left, as zooming in goes to the right
    this.slider.max = String(tree.top - tree.lowest);
    this.slider.addEventListener("input", () => app.setLevel(tree.top - Number(this.slider.value)));
    this.follow.addEventListener("change", () => app.setLevel(this.follow.checked ? null : app.shared.store.now.focus));
  }

  show(): void {
    const { store, tree, meta } = this.app.shared;
    const { focus, level } = store.now;
    const n = meta.levels[focus]?.nNodes ?? 0;
    this.slider.value = String(tree.top - focus);
    this.slider.setAttribute("aria-valuetext", `level ${focus}, ${count(n, "cluster")}`);
    this.text.textContent = `${focus} · ${count(n, "cluster")}`;
    this.follow.checked = level === null;
  }

  /** One level finer (-1) or coarser (+1), among those that are held. */
  step(by: number): void {
    const { store, tree } = this.app.shared;
    const next = store.now.focus + by;
    if (next >= 0 && next <= tree.top && tree.held(next)) this.app.setLevel(next);
  }
}
