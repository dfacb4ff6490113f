// Pieces that show a row: its thumbnail, its line in a list, its fields.
import type { App } from "../app";
import type { Value } from "../rows";
import type { NodeId } from "../tree";
import { cut, day, el, number, swatch } from "./dom";

// What waits for a file says so; only then a part of the panel is drawn again when files arrive, so that no click is lost.
const WAIT = "data-wait";

export const waits = (part: HTMLElement): boolean => part.querySelector(`[${WAIT}]`) !== null;

/** A cluster's colour and name. */
export function nodeLabel(app: App, id: NodeId, most = 120): HTMLElement {
  const { tree, painter } = app.shared;
  const title = cut(tree.title(id), most);
  const label = el("span", { class: "label" }, swatch(painter.ofNode(id)), el("span", { class: "text", title }, title));
  if (tree.waiting(id.level) || painter.waiting(id.level)) label.setAttribute(WAIT, "");
  return label;
}

/** A row's thumbnail as a small canvas, empty until the picture is here; null if the run has none. */
export function thumbnail(app: App, row: number, pixels: number): HTMLCanvasElement | null {
  const images = app.shared.meta.images;
  if (!images) return null;
  const canvas = el("canvas", { class: "thumb" });
  canvas.setAttribute("aria-hidden", "true");
  canvas.width = images.width;
  canvas.height = images.height;
  canvas.style.width = `${pixels}px`;
  canvas.style.height = `${Math.round((pixels * images.height) / images.width)}px`;
  const found = app.shared.rows.thumbnail(row);
  if (!found) canvas.setAttribute(WAIT, "");
  if (found) canvas.getContext("2d")!.drawImage(found.image, found.x, found.y, images.width, images.height, 0, 0, images.width, images.height);
  return canvas;
}

export function rowButton(app: App, row: number, text?: string, note?: string): HTMLElement {
  const known = text || app.shared.rows.title(row);
  const title = known || "…";
  const button = el("button", { class: "item", onclick: () => app.openRow(row, true) },
    thumbnail(app, row, 24), el("span", { class: "text", title: cut(title) }, cut(title, 120)), note ? el("span", { class: "note" }, note) : null);
  if (!known) button.setAttribute(WAIT, "");
  button.addEventListener("pointerenter", () => app.shared.store.set({ hover: row }));
  button.addEventListener("pointerleave", () => app.shared.store.set({ hover: null }));
  return button;
}

export function fieldText(app: App, field: number, value: Value | undefined): string {
  if (value === null || value === undefined || value === "") return "—";
  const name = app.shared.meta.fields[field]!;
  if (field === 0 && name === "row") return String(value);
  const column = app.shared.meta.columns.find((c) => c.name === name);
  if (typeof value === "number") return column?.kind === "number" && column.time ? day(value) : number(value);
  return String(value);
}

export function fields(app: App, values: readonly Value[], most = Infinity): HTMLElement {
  const list = el("dl", { class: "fields" });
  app.shared.meta.fields.slice(0, most).forEach((name, i) => {
    list.append(el("dt", { title: cut(name) }, cut(name, 60)), el("dd", {}, cut(fieldText(app, i, values[i]), most < Infinity ? 90 : 1000)));
  });
  return list;
}
