// Rows beyond the first view: at its edge how many there are, and the way there.
import { middle, toScreen, viewBox, type Box } from "../camera";
import type { Beyond, Side } from "../meta";
import type { MapView } from "../view";
import { count, el } from "./dom";

const AROUND = 0.1; // of the frame's longer side, around rows that the reader flies to
const CLOSER = 1.02; // than the first view: what lies beyond it is left out on purpose
const NARROW = 600; // pixels
type Range = [number, number];
// where along an edge a count may stand, in shares of it: beside legend and levels, which have their corner
const FREE: Record<Side, Range> = { left: [0.08, 0.4], right: [0.08, 0.92], top: [0.2, 0.8], bottom: [0.4, 0.8] };
const FREE_IF_NARROW: Record<Side, Range> = { left: [0.3, 0.8], right: [0.3, 0.8], top: [0.3, 0.7], bottom: [0.3, 0.7] };
const ARROWS: Record<Side, string> = { left: "←", right: "→", top: "↑", bottom: "↓" };

export function showBeyond(view: MapView): void {
  const { beyond } = view.shared.meta.maps[view.index]!;
  const sides = [...new Set(beyond.map(({ side }) => side))];
  const counts = sides.map((side) => new Count(view, side, beyond.filter((rows) => rows.side === side)));
  view.onFrame = () => {
    const seen = viewBox(view.view, view.size);
    const home = view.home();
    const isFirst = view.view.scale <= CLOSER * home.scale && holds(seen, [home.x, home.y, home.x, home.y]);
    for (const each of counts) each.show(isFirst ? seen : null);
  };
}

/** How many rows there are beyond one side. */
class Count {
  private readonly button: HTMLButtonElement;
  private out: readonly Beyond[] = []; // not wholly in view

  constructor(private readonly view: MapView, private readonly side: Side, private readonly rows: readonly Beyond[]) {
    this.button = el("button", { class: `beyond ${side}`, title: "Show them", onclick: () => this.go() });
    view.element.append(this.button);
  }

  /** `seen`: the part of the map in view; null: nothing is told. */
  show(seen: Box | null): void {
    this.out = seen ? this.rows.filter(({ box }) => !holds(seen, box)) : [];
    this.button.hidden = !this.out.length;
    if (!this.out.length) return;
    const text = `${count(this.out.reduce((sum, { nRows }) => sum + nRows, 0), "row")} further out`;
    const told = this.side === "right" ? `${text} ${ARROWS.right}` : `${ARROWS[this.side]} ${text}`;
    if (this.button.textContent !== told) this.button.textContent = told;
    this.place();
  }

  private place(): void {
    const { view, size } = this.view;
    const [x, y] = toScreen(view, size, ...middle(around(this.out)));
    const upright = this.side === "left" || this.side === "right";
    const [low, high] = (size.width < NARROW ? FREE_IF_NARROW : FREE)[this.side];
    const along = Math.min(Math.max(upright ? y / size.height : x / size.width, low), high);
    this.button.style[upright ? "top" : "left"] = `${100 * along}%`;
  }

  private go(): void {
    const { frame } = this.view.shared.meta.maps[this.view.index]!;
    const pad = AROUND * Math.max(frame[2] - frame[0], frame[3] - frame[1]);
    const [x0, y0, x1, y1] = around(this.out);
    this.view.flyToBox([x0 - pad, y0 - pad, x1 + pad, y1 + pad]);
  }
}

function around(rows: readonly Beyond[]): Box {
  const of = (i: number, pick: (...values: number[]) => number) => pick(...rows.map(({ box }) => box[i]!));
  return [of(0, Math.min), of(1, Math.min), of(2, Math.max), of(3, Math.max)];
}

function holds(outer: Box, inner: Box): boolean {
  return outer[0] <= inner[0] && outer[1] <= inner[1] && outer[2] >= inner[2] && outer[3] >= inner[3];
}
