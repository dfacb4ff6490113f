// Keeps the address and the view the same: new entries for steps worth going back to, none for every pan.
import type { App } from "./app";
import { readLink, writeLink, type Known, type Link } from "./link";
import type { State } from "./state";
import { fitted } from "./tour";

const STEPS: (keyof State)[] = ["cluster", "row", "color", "size", "time", "level", "compare", "stop", "tears"]; // filters change with every step of a brush: they follow when it rests
const QUIET = 300; // milliseconds without movement

/** Where the address is kept: by the browser, or by what the page is a frame of. */
export interface Place {
  read(): string;
  write(text: string, step: boolean): void;
}

export const BROWSER: Place = {
  read: () => location.hash,
  write(text, step) {
    try {
      if (step) history.pushState(null, "", text);
      else history.replaceState(null, "", text);
    } catch {
      // browsers limit how often; the next rest of the view writes again
    }
  },
};

export class Address {
  private timer = 0;
  private applying = false;
  private readonly known: Known;

  constructor(private readonly app: App, private readonly bar: Place = BROWSER) {
    const { meta, store } = app.shared;
    this.known = { levels: meta.levels, nRows: meta.nRows, columns: meta.columns };
    app.visit = (stop) => this.visit(stop);
    app.addressOfView = () => this.text(null);
    store.watch((changed) => {
      if (this.applying) return;
      if (STEPS.some((key) => changed.has(key))) this.write(true);
      else if (changed.has("selection")) this.write(false);
      else if (changed.has("filters")) this.follow();
    });
    window.addEventListener("popstate", () => this.apply());
    window.addEventListener("hashchange", () => this.bar.read() !== this.text() && this.apply());
  }

  /** The view moved: the address follows when it rests. */
  follow(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.write(false), QUIET);
  }

  /** Shows what the address says. */
  apply(): void {
    this.show(readLink(this.bar.read(), this.known), false);
  }

  /** Flies to a stop of the tour. */
  private visit(at: number): void {
    const stop = this.app.tour.stops[at];
    if (!stop) return;
    const link = readLink(stop.view, this.known);
    this.show({ ...link, view: link.view && fitted(link.view, stop, this.app.main.size), stop: at }, true);
    this.write(true);
  }

  private show(link: Link, fly: boolean): void {
    const { store, tree } = this.app.shared;
    if (link.level !== null) link.level = Math.max(link.level, tree.lowest);
    this.applying = true;
    this.app.main.turnTo(link.turn ?? { yaw: 0, pitch: 0 });
    if (link.view && fly) this.app.main.fly(link.view);
    else if (link.view) this.app.main.setView(link.view);
    store.set({
      level: link.level, focus: link.level ?? this.app.main.focus, color: link.color, size: link.size, time: link.time, cluster: link.cluster,
      compare: link.compare && this.app.shared.meta.maps.length > 1,
      filters: link.filters,
      stop: link.stop, tears: link.tears,
    });
    if (link.selection) store.set({ selection: link.selection }); // else it stays: long ones are not in the address
    if (link.row !== null) this.app.openRow(link.row, !link.view);
    else this.app.closeRow();
    if (!link.view) {
      if (link.cluster) this.app.flyTo(link.cluster);
      else if (link.row === null) this.app.main.setView(this.app.main.home());
    }
    this.applying = false;
  }

  private text(stop = this.app.shared.store.now.stop): string {
    const { level, color, size, time, cluster, row, compare, filters, selection, tears } = this.app.shared.store.now;
    return writeLink({ view: this.app.main.view, level, color, size, time, cluster, row, compare, filters, selection, stop, tears, turn: this.app.main.space?.turn ?? null });
  }

  private write(step: boolean): void {
    const text = this.text();
    if (text !== this.bar.read()) this.bar.write(text, step);
  }
}
