// Columns of the table: thumbnail, fields of the rows, the cluster of the level in focus.
import type { App } from "../app";
import type { Value } from "../rows";
import { cut } from "./dom";
import { fieldText, nodeLabel, thumbnail } from "./rowbits";

const MOST_SHOWN = 9; // fields at first; others can be chosen
const LONGEST = 200; // letters of a cell

export interface TableColumn {
  key: string;
  title: string;
  least: number; // pixels
  grow: number; // share of the room that is left
  order: string | null | undefined; // the engine's column; null: tree order; undefined: none to sort by
  right: boolean;
  extra: boolean; // not shown until chosen
  cell: (row: number, values: readonly Value[]) => HTMLElement | string;
}

export function columnsOf(app: App): readonly TableColumn[] {
  const { meta } = app.shared;
  const fields = meta.fields.map((name, i) => field(app, name, i));
  const picture: TableColumn = {
    key: "images", title: "picture", least: 40, grow: 0, order: undefined, right: false, extra: false,
    cell: (row) => thumbnail(app, row, 22) ?? "",
  };
  return [...(meta.images ? [picture] : []), ...fields, ...(meta.levels.length ? [cluster(app)] : [])];
}

function field(app: App, name: string, i: number): TableColumn {
  const { meta, config } = app.shared;
  const column = meta.columns.find((each) => each.name === name);
  const isRow = i === 0 && name === "row";
  const right = isRow || column?.kind === "number";
  // a page without a server has the numbers of rows only tile by tile
  const order = isRow && config.transport === "server" ? "row" : column?.key;
  const [least, grow] = right ? [84, 0.5] : column ? [110, 0.8] : [180, 2];
  return {
    key: `field ${i}`, title: cut(name, 60), least: least!, grow: grow!, order, right, extra: i >= MOST_SHOWN,
    cell: (_row, values) => cut(fieldText(app, i, values[i]), LONGEST),
  };
}

/** Rows of a cluster follow each other in tree order. */
function cluster(app: App): TableColumn {
  return {
    key: "cluster", title: "cluster", least: 140, grow: 1, order: null, right: false, extra: false,
    cell: (row) => {
      const { tree, store } = app.shared;
      const { focus } = store.now;
      const index = tree.held(focus) ? tree.nodeOfRow(row, focus) : undefined;
      return index === undefined ? "…" : nodeLabel(app, { level: focus, index }, LONGEST);
    },
  };
}
