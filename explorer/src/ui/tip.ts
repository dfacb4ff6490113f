// What is under the pointer: a row with its fields and thumbnail, or a cluster with its size.
import type { App } from "../app";
import { ROWS } from "../meta";
import type { Hit, MapView } from "../view";
import { byId, count, cut, el, inPlaces } from "./dom";
import { fields, thumbnail } from "./rowbits";

const MOST_FIELDS = 7;

export class Tip {
  private readonly box = byId("tip");
  private hit: Hit | null = null;
  private at: [number, number] = [0, 0];
  private map = 0;

  constructor(private readonly app: App) {}

  show(view: MapView, hit: Hit | null, px: number, py: number): void {
    this.hit = hit;
    this.map = view.index;
    const frame = view.overlayCanvas.getBoundingClientRect();
    this.at = [frame.left + px, frame.top + py];
    this.render();
  }

  hide(): void {
    this.hit = null;
    this.render();
  }

  refresh(): void {
    if (this.hit?.kind === "row") this.render();
  }

  private render(): void {
    this.box.hidden = this.hit === null;
    if (!this.hit) return;
    this.box.replaceChildren(...(this.hit.kind === "row" ? this.row(this.hit.row) : this.cluster(this.hit)));
    const { offsetWidth: w, offsetHeight: h } = this.box;
    const [x, y] = this.at;
    const left = x + 16 + w > window.innerWidth - 8 ? x - 16 - w : x + 16;
    const top = y + 16 + h > window.innerHeight - 8 ? y - 12 - h : y + 16;
    this.box.style.left = `${Math.max(left, 8)}px`;
    this.box.style.top = `${Math.max(top, 8)}px`;
  }

  private row(row: number): HTMLElement[] {
    const values = this.app.shared.rows.peek(row);
    const body = values ? fields(this.app, values, MOST_FIELDS) : el("p", { class: "quiet" }, "…");
    const copies = this.copies(row);
    if (copies > 1) body.append(el("p", { class: "copies" }, `×${copies.toLocaleString("en")} at this place`));
    const picture = thumbnail(this.app, row, 56);
    return picture ? [picture, body] : [body];
  }

  /** Rows at the place of a row, as far as it is known by now. */
  private copies(row: number): number {
    const { tiles } = this.app.shared;
    const found = tiles.find(this.map, ROWS, row);
    return (found && tiles.copies(this.map, found.tile.index)?.[found.at]) ?? 1;
  }

  private cluster({ id }: Hit & { kind: "node" }): HTMLElement[] {
    const { tree, tiles } = this.app.shared;
    const found = tiles.find(0, id.level, id.index);
    const size = found?.tile.nodes?.size[found.at];
    const places = inPlaces(tree.split(id.level, this.map)?.get(id.index)?.places);
    const told = size === undefined ? "" : `${count(size, "row")}${places} · `;
    return [el("div", {}, el("strong", {}, cut(tree.title(id), 160)), el("p", { class: "quiet" }, `${told}level ${id.level}`))];
  }
}
