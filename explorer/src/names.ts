// Which names a view could show: those of the level in focus, and larger ones of a coarser level.
import { middle, toScreen, type Size, type View } from "./camera";
import { coarserLevel } from "./choose";
import { fontSize, placeLabels, wrapName, type Candidate, type Placed } from "./labels";
import type { Level, NodeId, Tree } from "./tree";

export interface Name extends Placed {
  id: NodeId;
  alpha: number;
}

const FADE = 160; // milliseconds
export const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';

export class Names {
  shown: Name[] = [];
  private readonly alphas = new Map<string, number>();
  private readonly widths = new Map<string, number>();
  private shifts = new Map<string, number>();
  private last = 0;

  constructor(private readonly tree: Tree, private readonly map: number, private readonly context: CanvasRenderingContext2D) {}

  /** Places the names of a view; true while some fade in or out. */
  update(view: View, size: Size, focus: number, now: number): boolean {
    const coarse = coarserLevel(this.tree.meta, focus);
    const narrow = size.width < 600;
    const above = coarse !== null && this.tree.held(coarse) ? this.candidates(coarse, view, size, true, narrow) : [];
    const below = this.tree.held(focus) ? this.candidates(focus, view, size, false, narrow) : [];
    const own = coarse === null ? below : this.ownNames(below, above, focus, coarse);
    const placed = placeLabels([...above, ...own], this.shifts, narrow ? 24 : 60);
    this.shifts = new Map(placed.map((p) => [p.key, p.shift]));
    return this.fade(placed, Math.min(Math.max(now - this.last, 0), 120), now);
  }

  hit(px: number, py: number): Name | undefined {
    return this.shown.find(
      (n) => n.alpha > 0.3 && Math.abs(px - n.x) <= n.width / 2 + 3 && Math.abs(py - n.y - n.shift * (n.height + 5)) <= n.height / 2 + 3,
    );
  }

  private fade(placed: Placed[], step: number, now: number): boolean {
    this.last = now;
    const wanted = new Set(placed.map((p) => p.key));
    let moving = false;
    const names: Name[] = [];
    for (const name of [...placed, ...this.shown.filter((n) => !wanted.has(n.key))]) {
      const target = wanted.has(name.key) ? 1 : 0;
      const before = this.alphas.get(name.key) ?? 0;
      const alpha = target > before ? Math.min(target, before + step / FADE) : Math.max(target, before - step / FADE);
      if (alpha !== target) moving = true;
      if (alpha <= 0 && !target) this.alphas.delete(name.key);
      else this.alphas.set(name.key, alpha);
      const [level, index] = name.key.split(".").map(Number) as [number, number];
      if (alpha > 0 || target) names.push({ ...name, id: { level, index }, alpha });
    }
    this.shown = names;
    return moving;
  }

  /** Those that say something else than the larger name above them. */
  private ownNames(below: Candidate[], above: readonly Candidate[], focus: number, coarse: number): Candidate[] {
    const said = new Map(above.map((c) => [c.key, c.name]));
    const data = this.tree.level(focus, this.map);
    return below.filter((c) => {
      const parent = data && this.tree.nodeOfRow(data.firstRow[Number(c.key.split(".")[1])]!, coarse);
      return said.get(`${coarse}.${parent}`) !== c.name;
    });
  }

  private candidates(level: number, view: View, size: Size, large: boolean, narrow: boolean): Candidate[] {
    const data = this.tree.level(level, this.map);
    if (!data) return [];
    const out: Candidate[] = [];
    const largest = data.size.reduce((a, b) => Math.max(a, b), 1);
    const split = this.tree.split(level, this.map);
    const [cx, cy] = middle(this.tree.meta.maps[this.map]!.frame);
    for (let i = 0; i < data.n; i++) {
      const piece = split?.get(i); // the name goes on the largest
      const [x, y] = piece ? toScreen(view, size, cx + piece.x, cy + piece.y) : toScreen(view, size, data.x[i]!, data.y[i]!);
      if (!(x > -60 && y > -30 && x < size.width + 60 && y < size.height + 30)) continue;
      const radius = (piece ?? { radius: data.radius[i]! }).radius * view.scale;
      if (large && (radius > 0.55 * Math.min(size.width, size.height) || radius < 40)) continue;
      if (!large && radius < 9) continue;
      out.push(this.candidate(data, i, x, y, large, narrow, largest));
    }
    return out;
  }

  private candidate(data: Level, i: number, x: number, y: number, large: boolean, narrow: boolean, largest: number): Candidate {
    const id = { level: data.level, index: i };
    const font = Math.round(fontSize(data.size[i]!, largest, large ? 15 : 11, large ? (narrow ? 18 : 22) : narrow ? 13 : 15));
    const name = this.tree.label(id) ?? `${data.cluster[i]}`;
    const lines = wrapName(name, large ? 18 : 20);
    const width = Math.max(...lines.map((line) => this.measure(line, font)));
    return {
      key: `${data.level}.${i}`, name, x, y, lines, font, width, height: lines.length * font * 1.18, weight: data.size[i]!, large,
    };
  }

  private measure(text: string, font: number): number {
    const key = `${font}${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      if (this.widths.size > 20000) this.widths.clear();
      this.context.font = `600 ${font}px ${FAMILY}`;
      this.widths.set(key, (width = this.context.measureText(text).width));
    }
    return width;
  }
}
