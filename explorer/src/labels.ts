// Names without overlap: the most important first; what was shown stays where it was while it can.

export interface Candidate {
  key: string;
  name: string;
  x: number; // of the centre, in pixels
  y: number;
  lines: string[];
  font: number; // pixels
  width: number;
  height: number;
  weight: number; // importance
  large: boolean;
}

export interface Placed extends Candidate {
  shift: number; // lines up or down from its own place
}

const KEEP = 2.5; // how much more important a name is that is shown already
const GAP = 5; // pixels between names
const SHIFTS = [0, 1, -1]; // in heights

type Rect = [number, number, number, number];

const meets = (a: Rect, b: Rect): boolean => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];

/** Chooses and places names; `before` holds the shift of each name that is shown now. */
export function placeLabels(candidates: readonly Candidate[], before: ReadonlyMap<string, number>, most: number): Placed[] {
  const order = [...candidates].sort(
    (a, b) => Number(b.large) - Number(a.large) || score(b, before) - score(a, before) || (a.key < b.key ? -1 : 1),
  );
  const taken: Rect[] = [];
  const placed: Placed[] = [];
  for (const c of order) {
    if (placed.length >= most) break;
    const kept = before.get(c.key);
    const shifts = kept === undefined ? SHIFTS : [kept, ...SHIFTS.filter((s) => s !== kept)];
    for (const shift of c.large ? shifts.slice(0, 1) : shifts) {
      const y = c.y + shift * (c.height + GAP);
      const rect: Rect = [c.x - c.width / 2 - GAP, y - c.height / 2 - GAP / 2, c.x + c.width / 2 + GAP, y + c.height / 2 + GAP / 2];
      if (taken.some((other) => meets(rect, other))) continue;
      taken.push(rect);
      placed.push({ ...c, shift });
      break;
    }
  }
  return placed;
}

function score(c: Candidate, before: ReadonlyMap<string, number>): number {
  return c.weight * (before.has(c.key) ? KEEP : 1);
}

/** Names as the map shows them: without the number that tells equal ones apart, "Shirt (7)" where there is a "Shirt". */
export function bareNames(names: readonly string[]): string[] {
  const known = new Set(names);
  return names.map((name) => {
    const bare = name.replace(/ \(\d+\)$/, "");
    return known.has(bare) ? bare : name;
  });
}

/** A name in at most two lines of about `most` letters; long ones end in an ellipsis. */
export function wrapName(name: string, most: number): string[] {
  const words = Array.from(name.slice(0, 400).replace(/\s+/g, " ").trim()).slice(0, 3 * most).join("").split(" ");
  const lines: string[] = [""];
  for (const word of words) {
    const line = lines[lines.length - 1]!;
    if (!line) lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= most) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  const kept = lines.slice(0, 2).map((line) => (line.length > most + 6 ? `${line.slice(0, most + 5)}…` : line));
  if (lines.length > 2 && !kept[1]!.endsWith("…")) kept[1] += "…";
  return kept;
}

/** Letters larger for more rows, by the square root, from `least` to `most` pixels. */
export function fontSize(size: number, largest: number, least: number, most: number): number {
  return least + (most - least) * Math.sqrt(Math.min(size / Math.max(largest, 1), 1));
}
