// What is chosen in the page is told to the notebook, and what the notebook chooses is shown.
import type { Address, Place } from "../address";
import type { App } from "../app";
import type { Around, Choice } from "./protocol";

const QUIET = 80; // milliseconds: a drag changes a filter many times

const APART = ["filter", "sel"]; // of an address: notebooks have them by themselves

/** The address of a page in a frame: kept by the notebook. */
export class FramePlace implements Place {
  private text = "";
  private told = "";
  constructor(private readonly frame: Around) {}

  read(): string {
    return this.text;
  }

  write(text: string): void {
    this.text = text;
    const parts = new URLSearchParams(text.slice(1));
    for (const name of APART) parts.delete(name);
    const view = parts.toString();
    if (view === this.told) return;
    this.told = view;
    this.frame.tell({ nestmap: 1, kind: "choice", choice: { view } });
  }

  /** What the notebook asks for; filters and selection stay as they are in `now`. */
  put(view: string, now: string): void {
    this.told = view;
    const parts = new URLSearchParams(view);
    const held = new URLSearchParams(now.slice(1));
    for (const name of APART) for (const value of held.getAll(name)) parts.append(name, value);
    this.text = `#${parts.toString()}`;
  }
}

export class Following {
  private timer = 0;
  private told = { filters: "[]", selected: "null" };

  constructor(private readonly app: App, private readonly frame: Around, private readonly place: FramePlace, private readonly address: Address) {
    app.shared.store.watch((changed) => {
      if (!changed.has("filters") && !changed.has("selection")) return;
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.tell(), QUIET);
    });
    frame.onChoice = (choice) => this.take(choice);
    frame.tell({ nestmap: 1, kind: "ready" });
  }

  private tell(): void {
    const { filters, selection } = this.app.shared.store.now;
    const next = { filters: [...filters], selected: selection };
    const choice: { filters?: Choice["filters"]; selected?: Choice["selected"] } = {};
    if (JSON.stringify(next.filters) !== this.told.filters) choice.filters = next.filters;
    if (JSON.stringify(next.selected) !== this.told.selected) choice.selected = next.selected;
    this.keep(choice);
    if (Object.keys(choice).length) this.frame.tell({ nestmap: 1, kind: "choice", choice });
  }

  /** What both sides have now: it need not be told again. */
  private keep({ filters, selected }: Partial<Choice>): void {
    if (filters) this.told.filters = JSON.stringify(filters);
    if (selected !== undefined) this.told.selected = JSON.stringify(selected);
  }

  private take(choice: Partial<Choice>): void {
    this.keep(choice);
    const { store } = this.app.shared;
    if (choice.filters) store.set({ filters: new Map(choice.filters) });
    if (choice.selected !== undefined) store.set({ selection: choice.selected });
    if (choice.view) {
      this.place.put(choice.view, this.app.addressOfView());
      this.address.apply();
    }
  }
}
