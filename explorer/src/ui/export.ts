// Buttons that write rows to a file, as a fold beside the most common one.
import type { App } from "../app";
import type { Rows } from "../data/engine";
import { exportRows, type Format } from "../exporting";
import { el } from "./dom";

const WHY_NOT = "Needs `nestmap explore` and pyarrow: pip install 'nestmap[files]'";

/** csv with one click; row numbers and parquet in a fold. */
export function exportButtons(app: App, name: string, set: () => Rows | null): HTMLElement[] {
  const write = (format: Format) => (): void => {
    const rows = set();
    if (rows) void exportRows(app, rows, name, format);
    fold.open = false;
  };
  const csv = el("button", { class: "solid", onclick: write("csv") }, "Export CSV");
  const parquet = el("button", { onclick: write("parquet"), title: app.kept.parquet ? "" : WHY_NOT }, "Parquet");
  parquet.disabled = !app.kept.parquet;
  const fold = el("details", { class: "fold" }, el("summary", { label: "Other formats", title: "Other formats" }, "▾"),
    el("div", { class: "menu" }, el("button", { onclick: write("ids"), title: "One to a line, as text" }, "Row numbers"), parquet));
  return [el("span", { class: "split" }, csv, fold)];
}
