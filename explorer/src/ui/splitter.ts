// The upper edge of a part at the bottom: dragged, or moved with arrow keys, it makes the part taller.
import { el } from "./dom";

const LEAST = 120; // pixels
const MOST = 0.75; // of the window
const STEP = 24; // pixels of an arrow key

export function splitter(part: HTMLElement, label: string): HTMLElement {
  const edge = el("div", { class: "splitter", label });
  edge.setAttribute("role", "separator");
  edge.setAttribute("aria-orientation", "horizontal");
  edge.tabIndex = 0;
  const resize = (height: number): void => {
    const most = Math.round(MOST * window.innerHeight);
    const now = Math.round(Math.min(Math.max(height, LEAST), most));
    part.style.height = `${now}px`;
    for (const [name, value] of [["valuemin", LEAST], ["valuemax", most], ["valuenow", now]] as const) edge.setAttribute(`aria-${name}`, String(value));
  };
  edge.setAttribute("aria-valuenow", String(LEAST)); // until it is known
  edge.addEventListener("focus", () => resize(part.clientHeight));
  edge.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowUp" ? STEP : event.key === "ArrowDown" ? -STEP : 0;
    if (!by) return;
    event.preventDefault();
    resize(part.clientHeight + by);
  });
  edge.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    edge.setPointerCapture(event.pointerId);
    const bottom = part.getBoundingClientRect().bottom;
    const move = (moved: PointerEvent): void => resize(bottom - moved.clientY);
    edge.addEventListener("pointermove", move);
    edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), { once: true });
  });
  return edge;
}
