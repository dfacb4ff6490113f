// Pointer and touch on one map: pan, zoom, pinch, lasso and box, hover, click.
import { zoomAt } from "./camera";
import type { How } from "./data/sets";
import type { Hit, MapView } from "./view";

export interface Gestures {
  hover: (view: MapView, hit: Hit | null, px: number, py: number) => void;
  click: (view: MapView, hit: Hit | null, how: How | null) => void;
  drawn: (view: MapView, how: How | null) => void;
  tool: () => Tool | null; // null: a drag moves the map
  shiftTool: () => Tool; // of a drag with shift
}

export type Tool = "lasso" | "box";

/** How keys that are held join a set to the selection; null: as the buttons say. */
export function heldHow(event: { ctrlKey: boolean; metaKey: boolean; altKey: boolean }): How | null {
  const add = event.ctrlKey || event.metaKey;
  if (event.altKey) return add ? "intersect" : "subtract";
  return add ? "add" : null;
}

const STILL = 5; // pixels that a click may move

export class Input {
  private readonly pointers = new Map<number, [number, number]>();
  private start: [number, number] = [0, 0];
  private moved = false;
  private drawing: Tool | null = null;
  private pinch = 0;

  constructor(private readonly view: MapView, private readonly gestures: Gestures) {
    const target = view.overlayCanvas;
    target.addEventListener("pointerdown", (e) => this.down(e));
    target.addEventListener("pointermove", (e) => this.move(e));
    target.addEventListener("pointerup", (e) => this.up(e));
    target.addEventListener("pointercancel", (e) => this.cancel(e));
    target.addEventListener("pointerleave", () => this.pointers.size || gestures.hover(view, null, 0, 0));
    target.addEventListener("dblclick", (e) => {
      if (view.hit(...this.at(e))) return; // the first click has opened it
      view.fly(view.zoomed(...this.at(e), e.shiftKey ? 0.4 : 2.5));
    });
    target.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    target.addEventListener("contextmenu", (e) => e.preventDefault());
  }

  private at(event: MouseEvent): [number, number] {
    const box = this.view.overlayCanvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private down(event: PointerEvent): void {
    this.view.overlayCanvas.setPointerCapture(event.pointerId);
    this.view.overlayCanvas.style.cursor = "grabbing";
    this.pointers.set(event.pointerId, this.at(event));
    if (this.pointers.size === 1) {
      this.start = this.at(event);
      this.moved = false;
      this.drawing = this.gestures.tool() ?? (event.shiftKey ? this.gestures.shiftTool() : null);
      this.view.lasso = this.drawing ? [this.start] : [];
    } else {
      this.drawing = null;
      this.moved = true;
      this.view.lasso = [];
      this.pinch = this.spread();
    }
  }

  private move(event: PointerEvent): void {
    const now = this.at(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") this.hover(now);
      return;
    }
    if (Math.hypot(now[0] - this.start[0], now[1] - this.start[1]) > STILL) this.moved = true;
    const middle = this.middle();
    this.pointers.set(event.pointerId, now);
    if (this.drawing) {
      this.draw(now, this.drawing);
      this.view.request();
    } else if (this.moved) {
      const { view } = this.view;
      const [mx, my] = this.middle();
      const turns = this.view.space && this.pointers.size === 1 && event.buttons === 1;
      if (turns) return this.view.orbit(mx - middle[0], my - middle[1]);
      let next = { ...view, x: view.x - (mx - middle[0]) / view.scale, y: view.y + (my - middle[1]) / view.scale };
      if (this.pointers.size === 2) {
        const spread = this.spread();
        if (this.pinch > 0) next = zoomAt(next, this.view.size, mx, my, spread / this.pinch);
        this.pinch = spread;
      }
      this.view.setView(next, false);
    }
  }

  private up(event: PointerEvent): void {
    if (!this.pointers.delete(event.pointerId)) return;
    if (this.pointers.size) return;
    if (this.drawing && this.moved) this.gestures.drawn(this.view, heldHow(event));
    else if (!this.moved) {
      const at = this.at(event);
      this.gestures.click(this.view, this.view.hit(...at), heldHow(event));
    } else this.view.onView(true);
    this.cancel(event);
  }

  private cancel(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
    this.drawing = null;
    this.view.lasso = [];
    this.view.request();
  }

  private draw([x, y]: [number, number], tool: Tool): void {
    const [left, top] = this.start;
    if (tool === "lasso") this.view.lasso.push([x, y]);
    else this.view.lasso = [[left, top], [x, top], [x, y], [left, y]];
  }

  private hover(at: [number, number]): void {
    const hit = this.view.hit(...at);
    this.view.overlayCanvas.style.cursor = hit ? "pointer" : "grab";
    this.gestures.hover(this.view, hit, ...at);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 300 : 1;
    const step = Math.min(Math.max(event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016), -0.9), 0.9);
    this.view.setView(this.view.zoomed(...this.at(event), Math.exp(-step)));
  }

  private middle(): [number, number] {
    const all = [...this.pointers.values()];
    return [all.reduce((s, p) => s + p[0], 0) / all.length, all.reduce((s, p) => s + p[1], 0) / all.length];
  }

  private spread(): number {
    const [a, b] = [...this.pointers.values()];
    return a && b ? Math.hypot(a[0] - b[0], a[1] - b[1]) : 0;
  }
}
