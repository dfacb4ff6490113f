// A stop of the tour over the map: its title, its text, the way to the next.
import type { App } from "../app";
import { byId, el } from "./dom";

export class Player {
  private readonly box = byId("player");

  constructor(private readonly app: App) {}

  show(): void {
    const { tour, shared: { store } } = this.app;
    const at = store.now.stop;
    const stop = at === null ? undefined : tour.stops[at];
    this.box.hidden = !stop;
    if (!stop || at === null) return this.box.replaceChildren();
    const step = (by: number, label: string, sign: string): HTMLButtonElement => {
      const button = el("button", { label, title: label, class: by > 0 ? "next" : "previous", onclick: () => this.go(by) }, sign);
      button.disabled = !tour.stops[at + by];
      return button;
    };
    this.box.replaceChildren(
      el("div", { class: "heading" }, el("h2", {}, stop.title || `Stop ${at + 1}`),
        el("button", { class: "close", label: "End the tour", onclick: () => store.set({ stop: null }) }, "×")),
      ...stop.text.split("\n").filter((line) => line.trim()).map((line) => el("p", {}, line)),
      el("div", { class: "steps" }, step(-1, "Previous stop (P)", "‹"), el("span", { class: "quiet" }, `${at + 1} of ${tour.stops.length}`), step(1, "Next stop (N)", "›")),
    );
  }

  /** The button that was pressed is a new one now: it keeps the focus. */
  private go(by: number): void {
    this.app.stepTour(by);
    const own = this.box.querySelector<HTMLButtonElement>(by > 0 ? ".next" : ".previous");
    (own && !own.disabled ? own : this.box.querySelector<HTMLButtonElement>(".steps button:enabled"))?.focus();
  }
}
