// What the reader has chosen; everything shown follows from it.
import type { ThemeName } from "./colors";
import type { Rows } from "./data/engine";
import type { How } from "./data/sets";
import type { Filters } from "./filters";
import type { Chosen } from "./selecting";
import type { NodeId } from "./tree";

export const TABLES = ["view", "selected", "filtered", "all"] as const;
export type TableOf = (typeof TABLES)[number]; // which rows the table shows

export interface State {
  level: number | null; // null: follows the zoom
  focus: number; // the level in effect
  color: string; // "level" or the key of a column
  size: string | null; // the column of numbers that gives rows their size
  time: string | null; // the column that is played through
  filters: Filters; // what is filtered out stays on the map as pale context
  cluster: NodeId | null;
  row: number | null;
  neighbors: readonly number[];
  hits: readonly number[]; // rows found by the search
  selection: Rows | null; // null: nothing is selected
  chosen: Chosen | null; // the rows that the selection comes to; null until they are known
  byCluster: boolean; // the selection holds whole clusters where single rows were meant
  how: How; // how the next set joins the selection
  hover: number | null; // a row
  compare: boolean;
  table: TableOf | null; // null: there is none
  theme: ThemeName;
  stop: number | null; // the place in the tour
  tears: boolean; // links of the open cluster that the map makes long
}

type Listener = (changed: ReadonlySet<keyof State>) => void;

export class Store {
  private readonly listeners: Listener[] = [];
  constructor(private state: State) {}

  get now(): Readonly<State> {
    return this.state;
  }

  set(change: Partial<State>): void {
    const keys = (Object.keys(change) as (keyof State)[]).filter((key) => this.state[key] !== change[key]);
    if (!keys.length) return;
    this.state = { ...this.state, ...change };
    const changed = new Set(keys);
    for (const listener of this.listeners) listener(changed);
  }

  watch(listener: Listener): void {
    this.listeners.push(listener);
  }
}
