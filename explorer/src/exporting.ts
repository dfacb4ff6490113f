// Rows as a file: written by the server where there is one, else here.
import type { App } from "./app";
import { download, line } from "./csv";
import type { Rows } from "./data/engine";
import { ROWS } from "./meta";
import type { Ranges } from "./ranges";
import { checkAnswer, versioned } from "./source";

export type Format = "csv" | "ids" | "parquet";

const SUFFIX: Record<Format, string> = { csv: "csv", ids: "txt", parquet: "parquet" };
const MOST_HERE = 1_000_000; // rows that the page writes itself

/** Writes the rows of a set; what cannot be done is said. */
export async function exportRows(app: App, set: Rows, name: string, format: Format): Promise<void> {
  try {
    const file = `nestmap-${name}.${SUFFIX[format]}`;
    if (app.shared.config.transport === "server") download(file, [await ask(app, set, format)], "application/octet-stream");
    else await write(app, set, file, format);
  } catch (error) {
    app.told.failed(error, "Nothing was exported.");
  }
}

async function ask(app: App, set: Rows, format: Format): Promise<Blob> {
  const { config, store, meta } = app.shared;
  const level = meta.levels.length ? store.now.focus : null;
  const answer = await fetch(versioned("api/export", config.store), {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ set, format, level }),
  });
  if (answer.status === 400) throw new Error(await answer.text()); // it says why
  checkAnswer(answer, "The export failed");
  return answer.blob();
}

async function write(app: App, set: Rows, file: string, format: Format): Promise<void> {
  if (format === "parquet") throw new Error("A page without a server writes no parquet: use csv, or `nestmap explore`.");
  const { count, ranges } = await app.selecting.rowsOf(set);
  if (!ranges || count > MOST_HERE) throw new Error(`${count} rows are too many for a page without a server: select fewer, or use \`nestmap explore\`.`);
  download(file, format === "csv" ? await csv(app, ranges) : await ids(app, ranges), "text/plain;charset=utf-8");
}

async function ids(app: App, ranges: Ranges): Promise<string[]> {
  const numbers: number[] = [];
  for (const [begin, end] of ranges) for (let i = begin; i < end; i++) numbers.push(await rowNumber(app, i));
  return numbers.sort((a, b) => a - b).map((row) => `${row}\n`);
}

/** Row numbers, fields and the cluster in focus of each row. */
async function csv(app: App, ranges: Ranges): Promise<string[]> {
  const { meta, rows, tree, store } = app.shared;
  const numbered = meta.fields[0] === "row";
  const focus = store.now.focus;
  const level = tree.held(focus) ? await tree.loadLevel(focus) : null;
  const parts = [line([...(numbered ? [] : ["row"]), ...meta.fields, ...(level ? [`cluster of level ${focus}`] : [])])];
  for (const [begin, end] of ranges)
    for (let i = begin; i < end; i++) {
      const values = await rows.values(i);
      const cells = numbered ? [...values] : [await rowNumber(app, i), ...values];
      if (level) cells.push(tree.title({ level: focus, index: tree.nodeOfRow(i, focus)! }));
      parts.push(line(cells));
    }
  return parts;
}

export async function rowNumber(app: App, i: number): Promise<number> {
  const { tile, at } = await app.shared.tiles.locate(0, ROWS, i);
  return tile.rows!.row[at]!;
}
