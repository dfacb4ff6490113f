// What leaves the page: a picture of the view, its address, a tour of the map.
import type { App } from "../app";
import { copyPicture, savePng, saveSvg } from "../picture";
import { LONGEST_TEXT, MOST_STOPS, moved, type Stop } from "../tour";
import { block } from "./cluster";
import { byId, count, cut, el } from "./dom";

export class ShareSection {
  private readonly section = byId("share");
  private editing: number | null = null;

  constructor(private readonly app: App) {
    byId("sharing").addEventListener("click", () => this.toggle());
  }

  get open(): boolean {
    return !this.section.hidden;
  }

  toggle(on = !this.open): void {
    this.section.hidden = !on;
    byId("sharing").setAttribute("aria-pressed", String(on));
    this.editing = null;
    this.show();
    if (on) this.app.told.attend();
  }

  show(): void {
    if (!this.open) return this.section.replaceChildren();
    this.section.replaceChildren(
      el("div", { class: "heading" }, el("h2", {}, "Share"), el("button", { class: "close", label: "Close sharing", onclick: () => this.toggle(false) }, "×")),
      block("Picture of the view", actions(
        el("button", { onclick: () => void copyPicture(this.app) }, "Copy"),
        el("button", { title: "Download as PNG", onclick: () => void savePng(this.app) }, "PNG"),
        el("button", { title: "Download as SVG, with names as text", onclick: () => void saveSvg(this.app) }, "SVG"))),
      block("Address of the view", actions(el("button", { onclick: () => void this.copyLink() }, "Copy address"))),
      this.tourBlock(),
    );
  }

  private tourBlock(): HTMLElement {
    const { tour, canKeep } = this.app;
    const { stops } = tour;
    const list = el("ol", { class: "stops" }, ...stops.map((stop, i) => (this.editing === i ? this.form(stop, i) : this.line(stop, i))));
    const add = el("button", { onclick: () => void this.add() }, "Add this view");
    add.disabled = stops.length >= MOST_STOPS;
    const told = stops.length ? count(stops.length, "view") : "Views with a text each, for others to step through.";
    return block("Tour", el("div", {}, el("p", { class: "quiet" }, told), list, actions(
      canKeep ? add : null,
      stops.length ? el("button", { onclick: () => this.app.goStop(0) }, "Play") : null,
      stops.length ? el("button", { onclick: () => tour.download() }, "Download tour.json") : null)));
  }

  private line(stop: Stop, i: number): HTMLElement {
    const { app } = this;
    const name = cut(stop.title, 60) || `Stop ${i + 1}`;
    const tool = (label: string, sign: string, work: () => void, off = false): HTMLButtonElement => {
      const button = el("button", { class: "edit", label: `${label}: ${name}`, title: label, onclick: work }, sign);
      button.disabled = off;
      return button;
    };
    const last = app.tour.stops.length - 1;
    return el("li", {}, el("button", { class: "item", onclick: () => app.goStop(i) }, el("span", { class: "text" }, name)),
      ...(app.canKeep ? [
        tool("Edit", "✎", () => this.edit(i)),
        tool("Earlier", "↑", () => void this.keep(moved(app.tour.stops, i, -1)), i === 0),
        tool("Later", "↓", () => void this.keep(moved(app.tour.stops, i, 1)), i === last),
        tool("Delete", "×", () => void this.keep(app.tour.stops.filter((_, k) => k !== i))),
      ] : []));
  }

  private form(stop: Stop, i: number): HTMLElement {
    const title = el("input", { type: "text", label: "Title of this view" });
    [title.value, title.maxLength] = [stop.title, 200];
    const text = el("textarea", { label: "Text of this view" });
    [text.value, text.maxLength, text.rows] = [stop.text, LONGEST_TEXT, 4];
    const form = el("form", { class: "rename" }, title, text, el("button", { type: "submit", class: "solid" }, "Save"), el("button", { onclick: () => this.edit(null) }, "Cancel"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.editing = null;
      void this.keep(this.app.tour.stops.map((each, k) => (k === i ? { ...each, title: title.value.trim(), text: text.value.trim() } : each)));
    });
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.edit(null);
    });
    queueMicrotask(() => title.select());
    return el("li", {}, form);
  }

  private edit(i: number | null): void {
    this.editing = i;
    this.show();
  }

  /** The view as it is now; its text is asked for at once. */
  private async add(): Promise<void> {
    const { main, tour, shared: { tree, store } } = this.app;
    const { cluster, stop } = store.now;
    const title = cluster ? tree.title(cluster) : main.headsHome ? "The whole map" : `View ${tour.stops.length + 1}`;
    const at = stop === null ? tour.stops.length : stop + 1;
    const own: Stop = { title: cut(title, 180), text: "", view: this.app.addressOfView(), width: main.size.width, height: main.size.height };
    if (await this.keep([...tour.stops.slice(0, at), own, ...tour.stops.slice(at)])) this.edit(at);
  }

  private async keep(stops: readonly Stop[]): Promise<boolean> {
    try {
      await this.app.tour.save(stops);
      if (this.app.shared.config.transport === "static") this.app.told.notice("Kept in this browser. Download tour.json to keep it with the run.");
      return true;
    } catch (error) {
      this.app.told.failed(error, "The tour was not saved.");
      return false;
    } finally {
      this.app.tourChanged();
    }
  }

  private async copyLink(): Promise<void> {
    try {
      await navigator.clipboard.writeText(location.href);
      this.app.told.notice("Copied.");
    } catch {
      this.app.told.notice("This browser lets no page copy: take the address from its address bar.");
    }
  }
}

const actions = (...buttons: (HTMLElement | null)[]): HTMLElement => el("div", { class: "actions" }, ...buttons);
