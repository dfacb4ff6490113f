// The address holds the view: #x=…&y=…&z=…&level=…&color=…&size=…&time=…&cluster=level.index&compare=1&filter=c0:1,3&filter=c1:2~7&sel=…&stop=…&tears=1&turn=yaw,pitch
import type { View } from "./camera";
import type { Rows } from "./data/engine";
import { readRows } from "./data/sets";
import { readFilter, writeFilter } from "./filter_text";
import type { Condition, Filters } from "./filters";
import type { Column } from "./meta";
import type { Turn } from "./space";
import { MOST_STOPS } from "./tour";
import type { NodeId } from "./tree";

export interface Link {
  view: View | null;
  level: number | null;
  color: string;
  size: string | null;
  time: string | null;
  cluster: NodeId | null;
  row: number | null;
  compare: boolean;
  stop: number | null;
  tears: boolean;
  turn: Turn | null; // of a map in space
  filters: Filters;
  selection: Rows | null; // only short ones are in an address
}

const LONGEST_SELECTION = 400; // letters in an address

export function writeLink(link: Link): string {
  const parts = new URLSearchParams();
  if (link.view) {
    const digits = Math.max(2, Math.ceil(Math.log10(link.view.scale)) + 1); // a tenth of a pixel
    parts.set("x", link.view.x.toFixed(Math.min(digits, 15)));
    parts.set("y", link.view.y.toFixed(Math.min(digits, 15)));
    parts.set("z", link.view.scale.toPrecision(5));
  }
  if (link.level !== null) parts.set("level", String(link.level));
  if (link.color !== "level") parts.set("color", link.color);
  if (link.size !== null) parts.set("size", link.size);
  if (link.time !== null) parts.set("time", link.time);
  if (link.cluster) parts.set("cluster", `${link.cluster.level}.${link.cluster.index}`);
  if (link.row !== null) parts.set("row", String(link.row));
  if (link.compare) parts.set("compare", "1");
  if (link.turn) parts.set("turn", `${link.turn.yaw.toFixed(1)},${link.turn.pitch.toFixed(1)}`);
  if (link.tears) parts.set("tears", "1");
  if (link.stop !== null) parts.set("stop", String(link.stop + 1));
  for (const [column, condition] of link.filters) parts.append("filter", writeFilter(column, condition));
  const selection = link.selection ? JSON.stringify(link.selection) : "";
  if (selection && selection.length <= LONGEST_SELECTION) parts.set("sel", selection);
  return `#${parts.toString()}`;
}

export interface Known {
  levels: readonly { nNodes: number }[];
  nRows: number;
  columns: readonly Column[];
}

function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null; // a hand has changed the address
  }
}

/** Reads an address; whatever does not exist in this map is left out. */
export function readLink(hash: string, known: Known): Link {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const number = (key: string): number | null => {
    const value = parts.get(key);
    return value !== null && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : null;
  };
  const whole = (key: string, below: number): number | null => {
    const value = number(key);
    return value !== null && Number.isInteger(value) && value >= 0 && value < below ? value : null;
  };
  const [x, y, scale] = [number("x"), number("y"), number("z")];
  const color = parts.get("color") ?? "level";
  const turn = /^(-?\d{1,3}(?:\.\d+)?),(-?\d{1,3}(?:\.\d+)?)$/.exec(parts.get("turn") ?? "");
  const numbers = (key: string): string | null => {
    const name = parts.get(key);
    return known.columns.some((c) => c.key === name && c.kind === "number") ? name : null;
  };
  const stop = whole("stop", MOST_STOPS + 1);
  const match = /^(\d+)\.(\d+)$/.exec(parts.get("cluster") ?? "");
  const cluster = match ? { level: Number(match[1]), index: Number(match[2]) } : null;
  const filters = parts.getAll("filter").map((each) => readFilter(each, known)).filter((each): each is [string, Condition] => each !== null);
  return {
    view: x !== null && y !== null && scale !== null && scale > 0 ? { x, y, scale } : null,
    level: whole("level", known.levels.length),
    color: known.columns.some((c) => c.key === color) ? color : "level",
    size: numbers("size"),
    time: numbers("time"),
    cluster: cluster && cluster.index < (known.levels[cluster.level]?.nNodes ?? 0) ? cluster : null,
    row: whole("row", known.nRows),
    compare: parts.get("compare") === "1",
    turn: turn ? { yaw: Number(turn[1]), pitch: Number(turn[2]) } : null,
    tears: parts.get("tears") === "1",
    stop: stop ? stop - 1 : null, // people count from 1
    filters: new Map(filters),
    selection: readRows(parse(parts.get("sel")), known),
  };
}
