// What is selected: an expression in the state, the rows that it comes to, and the way back.
import { EVERY_ROW, type Rows } from "./data/engine";
import { clustersIn, combine, inverse, rangesOf, type How } from "./data/sets";
import { countRows, type Ranges } from "./ranges";
import type { Shared } from "./shared";

const MOST_STEPS = 50; // back
const MOST_RANGES = 100_000; // of a selection that the page holds; of larger ones it asks tile by tile

/** What a selection comes to. */
export interface Chosen {
  count: number;
  ranges: Ranges | null; // null: too many to hold
}

export class Selecting {
  private readonly past: (Rows | null)[] = [];
  private turn = 0;

  constructor(private readonly shared: Shared, private readonly failed: (error: unknown) => void) {
    shared.store.watch((changed) => {
      if (changed.has("selection")) this.resolve().catch((error: unknown) => this.failed(error));
    });
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  /** Puts a set to what is selected; `byCluster`: it holds whole clusters where single rows were meant. */
  take(set: Rows, how: How, byCluster = false): void {
    const { store } = this.shared;
    const before = store.now.selection;
    const next = combine(before, set, how);
    this.go(next, byCluster || (how !== "replace" && store.now.byCluster));
  }

  invert(): void {
    const { selection } = this.shared.store.now;
    this.go(selection ? inverse(selection) : EVERY_ROW, this.shared.store.now.byCluster);
  }

  clear(): void {
    if (this.shared.store.now.selection) this.go(null, false);
  }

  undo(): void {
    const before = this.past.pop();
    if (before !== undefined) this.shared.store.set({ selection: before, byCluster: false });
  }

  private go(next: Rows | null, byCluster: boolean): void {
    const { store } = this.shared;
    this.past.push(store.now.selection);
    if (this.past.length > MOST_STEPS) this.past.shift();
    store.set({ selection: next, byCluster });
  }

  private async resolve(): Promise<void> {
    const turn = ++this.turn;
    const { store } = this.shared;
    const { selection } = store.now;
    if (!selection) return store.set({ chosen: null });
    try {
      const chosen = await this.rowsOf(selection);
      if (turn === this.turn) store.set({ chosen });
    } catch (error) {
      if (turn === this.turn) store.set({ chosen: null }); // what is there is of the selection before
      throw error;
    }
  }

  /** Without asking anybody where places and clusters are all there is; else by the engine. */
  async rowsOf(set: Rows): Promise<Chosen> {
    const { tree, meta } = this.shared;
    const named = clustersIn(set);
    const nodes = await Promise.all(named.map((id) => tree.node(id)));
    const at = new Map(nodes.map((node) => [`${node.level}.${node.index}`, [node.firstRow, node.firstRow + node.size] as const]));
    const ranges = rangesOf(set, meta.nRows, (level, index) => at.get(`${level}.${index}`));
    return ranges ? { count: countRows(ranges), ranges } : this.ask(set);
  }

  private async ask(set: Rows): Promise<Chosen> {
    const { engine } = this.shared;
    const ranges = await engine.ranges(set, MOST_RANGES);
    return ranges ? { count: countRows(ranges), ranges } : { count: (await engine.charts(set, [])).count, ranges: null };
  }
}
