// What a selection is: what is special about it, its clusters at the level in focus, its pictures, typical and odd rows.
import type { App } from "../app";
import type { Rows, Summary } from "../data/engine";
import { countItems } from "../data/sets";
import { rowWindow } from "../data/window";
import type { Chosen } from "../selecting";
import type { NodeId } from "../tree";
import { block } from "./cluster";
import { cut, el, percent } from "./dom";
import { PictureGrid } from "./pictures";
import { nodeLabel, rowButton, waits } from "./rowbits";
import { VirtualList } from "./virtual";

const MOST_CLUSTERS = 8;
const MOST_ROWS = 8; // typical ones, and odd ones

interface Part {
  id: NodeId;
  count: number; // rows of the selection in it
  size: number;
}

export class SummaryPart {
  readonly element = el("div");
  private readonly list = new VirtualList("Selected rows");
  private readonly pictures: PictureGrid | null;
  private readonly shares = el("div"); // of clusters
  private turn = 0;

  constructor(private readonly app: App) {
    this.pictures = app.shared.meta.images ? new PictureGrid(app, "Pictures of selected rows") : null;
  }

  /** Shows a set at once, and what is asked for when it is here. */
  async show(set: Rows, chosen: Chosen): Promise<void> {
    const turn = ++this.turn;
    const rows = this.rowBlock(set, chosen);
    const [special, typical] = [el("div"), el("div")];
    this.shares.replaceChildren();
    this.element.replaceChildren(special, this.shares, rows, typical);
    void this.showClusters(set, chosen);
    const { engine, meta } = this.app.shared;
    const told = chosen.count && chosen.count < meta.nRows ? engine.summary(set, null) : null;
    const summary = await told?.catch((error: unknown) => void this.app.told.failed(error));
    if (summary && turn === this.turn) this.fill(special, typical, summary);
  }

  /** Again for another level in focus, or other colours. */
  async showClusters(set: Rows, chosen: Chosen): Promise<void> {
    const { turn } = this;
    const parts = await this.clusters(set, chosen).catch(() => []);
    if (turn === this.turn) this.shares.replaceChildren(...(parts.length ? [this.clusterBlock(parts, chosen.count)] : []));
  }

  refresh(): void {
    const { selection, chosen } = this.app.shared.store.now;
    if (selection && chosen && waits(this.shares)) void this.showClusters(selection, chosen);
    this.list.refresh();
    this.pictures?.refresh();
  }

  private fill(special: HTMLElement, typical: HTMLElement, summary: Summary): void {
    if (summary.traits.length) special.replaceChildren(block("What is special", el("ul", { class: "traits" }, ...summary.traits.map((trait) => el("li", {}, cut(trait))))));
    for (const [title, rows] of [["Typical rows", summary.typical], ["Odd rows", summary.odd]] as const)
      if (rows.length) typical.append(block(title, el("div", { class: "items" }, ...rows.slice(0, MOST_ROWS).map((row) => rowButton(this.app, row)))));
  }

  private rowBlock(set: Rows, chosen: Chosen): HTMLElement {
    if (!chosen.count) return el("div");
    const window = rowWindow(this.app.shared.engine, set, chosen.ranges, () => this.refresh(), (error) => this.app.told.failed(error));
    if (this.pictures) {
      this.pictures.show(window, chosen.count);
      return block("Pictures", this.pictures.element);
    }
    this.list.show(chosen.count, (i) => {
      const row = window.at(i);
      return row === undefined ? el("span", { class: "item" }, "…") : rowButton(this.app, row);
    });
    return block("Rows", this.list.element);
  }

  /** Clusters of the level in focus that hold rows of the set, most rows first. */
  private async clusters(set: Rows, { ranges }: Chosen): Promise<Part[]> {
    const { tree, store, engine } = this.app.shared;
    const level = store.now.focus;
    if (!tree.held(level)) return [];
    const data = await tree.loadLevel(level);
    const counts = ranges ? countItems(ranges, (i) => data.firstRow[i]!, (i) => data.size[i]!, data.n) : await engine.marks(set, level, 0, data.n);
    const parts = Array.from(counts, (count, index) => ({ id: { level, index }, count, size: data.size[index]! }));
    return parts.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count || a.id.index - b.id.index);
  }

  private clusterBlock(parts: readonly Part[], whole: number): HTMLElement {
    const { app } = this;
    const line = ({ id, count, size }: Part): HTMLElement => {
      const bar = el("i", { class: "bar" });
      bar.style.width = `${Math.max((100 * count) / whole, 1)}%`;
      bar.style.backgroundColor = app.shared.painter.ofNode(id);
      const title = `${percent(count / whole)} of the selection; ${percent(count / size)} of the cluster`;
      return el("li", {}, el("button", { class: "item child", title, onclick: () => app.openCluster(id) }, nodeLabel(app, id),
        el("span", { class: "note" }, percent(count / whole)), bar));
    };
    const lines = parts.slice(0, MOST_CLUSTERS).map(line);
    const more = parts.length - lines.length;
    const rest = more > 0 ? [el("li", { class: "quiet rest" }, `and ${more} more`)] : [];
    return block(`Clusters of level ${parts[0]!.id.level}`, el("ul", { class: "items tree" }, ...lines, ...rest));
  }
}
