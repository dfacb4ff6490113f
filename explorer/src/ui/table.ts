// The table of rows: in view, selected, filtered or all; sorted by a click on a head; tied to the map.
import type { App } from "../app";
import { viewBox } from "../camera";
import { EVERY_ROW, type Order, type Rows } from "../data/engine";
import { both, type How } from "../data/sets";
import { PagedWindow, RangeWindow, type RowWindow } from "../data/window";
import { passing } from "../filters";
import type { Ranges } from "../ranges";
import { boxRing, rowsInRing } from "../region";
import { TABLES, type State, type TableOf } from "../state";
import { byId, count, el } from "./dom";
import { exportButtons } from "./export";
import { Grid, type Head } from "./grid";
import { splitter } from "./splitter";
import { columnsOf, type TableColumn } from "./tablecolumns";

const NAMES: Record<TableOf, string> = { view: "in view", selected: "selected", filtered: "that pass the filters", all: "of the map" };
const REST = 250; // milliseconds after which a view counts as at rest

interface Shown {
  set: Rows;
  ranges: Ranges | null; // null: the engine is asked
}

export class Table {
  private readonly section = byId("table");
  private readonly told = el("output", { class: "quiet" });
  private readonly choice = el("select", { label: "Rows of the table" });
  private readonly picker = el("div", { class: "picker" });
  private readonly grid: Grid;
  private readonly columns: readonly TableColumn[];
  private readonly hidden = new Set<string>();
  private order: Order & { key: string | null } = { key: null, column: null, descending: false };
  private readonly files = el("span", { class: "actions" });
  private set: Rows | null = null; // of the rows that are shown
  private rows: RowWindow | null = null;
  private where = new Map<number, number>(); // positions of rows that were drawn
  private turn = 0;
  private timer = 0;

  constructor(private readonly app: App) {
    this.columns = columnsOf(app);
    for (const column of this.columns.filter((each) => each.extra)) this.hidden.add(column.key);
    this.grid = new Grid("Rows", {
      cells: (i) => this.cells(i),
      sort: (key) => this.sort(key),
      open: (i, how) => this.open(i, how),
      hover: (i) => this.hover(i),
    });
    this.build();
  }

  private get shownColumns(): readonly TableColumn[] {
    return this.columns.filter(({ key }) => !this.hidden.has(key));
  }

  /** As the state says: open or not, and of which rows. */
  show(): void {
    const { table } = this.app.shared.store.now;
    this.section.hidden = table === null;
    byId("tables").setAttribute("aria-pressed", String(table !== null));
    if (table === null) return this.drop(null);
    this.choice.value = table;
    this.files.replaceChildren(...exportButtons(this.app, "rows", () => this.set));
    void this.load(table, true);
  }

  /** Its rows are others when these change. */
  dependsOn(changed: ReadonlySet<keyof State>): boolean {
    const { table } = this.app.shared.store.now;
    if (table === "selected") return changed.has("chosen");
    return changed.has("filters") && (table === "filtered" || table === "view");
  }

  toggle(): void {
    const { store } = this.app.shared;
    if (store.now.table !== null) return store.set({ table: null });
    store.set({ table: store.now.selection ? "selected" : store.now.filters.size ? "filtered" : "view" });
    this.grid.element.focus();
  }

  /** The view rests somewhere else. */
  moved(): void {
    if (this.app.shared.store.now.table !== "view") return;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load("view", true), REST);
  }

  /** Files arrived, or the open row is another one. */
  refresh(): void {
    if (this.section.hidden) return;
    const { row } = this.app.shared.store.now;
    this.grid.mark(row === null ? -1 : (this.where.get(row) ?? -1));
  }

  private build(): void {
    for (const of of TABLES) {
      const option = el("option", {}, `Rows ${NAMES[of]}`);
      option.value = of;
      this.choice.append(option);
    }
    const { store } = this.app.shared;
    this.choice.addEventListener("change", () => store.set({ table: this.choice.value as TableOf }));
    const boxes = this.columns.map((column) => this.box(column));
    this.picker.append(...boxes);
    const columns = el("details", { class: "choosecolumns" }, el("summary", {}, "Columns"), this.picker);
    const close = el("button", { class: "close", label: "Close the table", onclick: () => store.set({ table: null }) }, "×");
    const bar = el("div", { class: "tablebar" }, this.choice, this.told, this.files, columns, close);
    this.section.append(splitter(this.section, "Height of the table"), bar, this.grid.element);
  }

  private box(column: TableColumn): HTMLElement {
    const input = el("input", { type: "checkbox" });
    input.checked = !this.hidden.has(column.key);
    input.addEventListener("change", () => {
      if (input.checked) this.hidden.delete(column.key);
      else this.hidden.add(column.key);
      this.draw(false);
    });
    return el("label", { class: "check" }, input, column.title);
  }

  private async load(of: TableOf, fromTop: boolean): Promise<void> {
    const turn = ++this.turn;
    try {
      const shown = await this.find(of);
      if (turn !== this.turn) return;
      this.set = shown?.set ?? null;
      this.drop(shown && this.windowOn(shown));
      this.draw(fromTop);
    } catch (error) {
      this.app.told.failed(error);
    }
  }

  /** The rows that are asked for; null: there are none to choose from. */
  private async find(of: TableOf): Promise<Shown | null> {
    const { shared, main, selecting } = this.app;
    const { selection, chosen, filters } = shared.store.now;
    const filter = filters.size ? passing(filters) : null;
    const every: Ranges = [[0, shared.meta.nRows]];
    if (of === "selected") return selection && chosen ? { set: selection, ranges: chosen.ranges } : null;
    if (of === "all" || (of === "filtered" && !filter)) return { set: EVERY_ROW, ranges: every };
    if (of === "filtered" && filter) return { set: filter, ranges: (await selecting.rowsOf(filter)).ranges };
    const { ranges } = await rowsInRing(shared, 0, main.level, boxRing(viewBox(main.view, main.size)));
    const seen: Rows = { kind: "places", ranges };
    return filter ? { set: both(filter, seen), ranges: (await selecting.rowsOf(both(filter, seen))).ranges } : { set: seen, ranges };
  }

  private windowOn({ set, ranges }: Shown): RowWindow {
    const { engine } = this.app.shared;
    if (ranges && this.order.column === null) return new RangeWindow(ranges, this.order.descending);
    return new PagedWindow(engine, set, this.order, () => this.draw(false), (error) => this.app.told.failed(error));
  }

  private drop(next: RowWindow | null): void {
    if (this.rows instanceof PagedWindow) this.rows.close();
    this.rows = next;
    this.where = new Map();
  }

  private draw(fromTop: boolean): void {
    const total = this.rows ? this.rows.total : 0;
    const { table } = this.app.shared.store.now;
    this.told.textContent = total === null ? "…" : table === "selected" && !this.rows ? "Nothing is selected." : count(total, "row");
    this.grid.show(this.shownColumns.map((column) => this.head(column)), total ?? 0, fromTop);
    this.refresh();
  }

  private head({ key, title, least, grow, order, right }: TableColumn): Head {
    const sort = order === undefined ? null : this.order.key === key ? (this.order.descending ? "descending" : "ascending") : "none";
    const hint = order === undefined ? `${title}: not sorted by texts` : `${title}: click to sort`;
    return { key, title, least, grow, sort, hint, number: right };
  }

  private cells(i: number): (HTMLElement | string)[] | null {
    const row = this.rows?.at(i);
    if (row === undefined) return null;
    this.where.set(row, i);
    const values = this.app.shared.rows.peek(row);
    return values ? this.shownColumns.map((column) => column.cell(row, values)) : null;
  }

  /** Up, down, and back to tree order. */
  private sort(key: string): void {
    const { order } = this.columns.find((column) => column.key === key)!;
    const again = this.order.key === key;
    if (again && this.order.descending) this.order = { key: null, column: null, descending: false };
    else this.order = { key, column: order!, descending: again };
    const { table } = this.app.shared.store.now;
    if (table) void this.load(table, true);
  }

  /** Opens a row; with keys held, or Space, it joins the selection or leaves it. */
  private open(i: number, how: How | null): void {
    const row = this.rows?.at(i);
    if (row !== undefined && how) return this.app.select({ kind: "places", ranges: [[row, row + 1]] }, how);
    // what is in view needs no flight, which would change what is in view
    if (row !== undefined) this.app.openRow(row, this.app.shared.store.now.table !== "view");
  }

  private hover(i: number | null): void {
    const row = i === null ? null : this.rows?.at(i);
    this.app.shared.store.set({ hover: row ?? null });
  }
}
