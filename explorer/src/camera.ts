// The view of a map in double precision: a centre and pixels per unit; y points up in the map, down on the screen.

export interface View {
  x: number;
  y: number;
  scale: number;
}

export type Box = [number, number, number, number];

export function middle([x0, y0, x1, y1]: Box): [number, number] {
  return [(x0 + x1) / 2, (y0 + y1) / 2];
}

export interface Size {
  width: number;
  height: number;
}

export function toScreen(view: View, size: Size, x: number, y: number): [number, number] {
  return [(x - view.x) * view.scale + size.width / 2, size.height / 2 - (y - view.y) * view.scale];
}

export function toWorld(view: View, size: Size, px: number, py: number): [number, number] {
  return [view.x + (px - size.width / 2) / view.scale, view.y - (py - size.height / 2) / view.scale];
}

export function viewBox(view: View, size: Size, margin = 0): Box {
  const w = (size.width / 2 + margin) / view.scale;
  const h = (size.height / 2 + margin) / view.scale;
  return [view.x - w, view.y - h, view.x + w, view.y + h];
}

export function fitBox(box: Box, size: Size, margin = 0.06): View {
  const width = Math.max(box[2] - box[0], 1e-12);
  const height = Math.max(box[3] - box[1], 1e-12);
  const room = 1 - 2 * margin;
  const scale = Math.min((size.width * room) / width, (size.height * room) / height);
  return { x: (box[0] + box[2]) / 2, y: (box[1] + box[3]) / 2, scale: scale > 0 && Number.isFinite(scale) ? scale : 1 };
}

/** The view after zooming by a factor such that the place under a pixel stays under it. */
export function zoomAt(view: View, size: Size, px: number, py: number, factor: number): View {
  const [x, y] = toWorld(view, size, px, py);
  const scale = view.scale * factor;
  return { x: x - (px - size.width / 2) / scale, y: y + (py - size.height / 2) / scale, scale };
}

export interface Limits {
  bounds: Box;
  minScale: number;
  maxScale: number;
}

export function limit(view: View, limits: Limits): View {
  const [x0, y0, x1, y1] = limits.bounds;
  const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);
  return { x: clamp(view.x, x0, x1), y: clamp(view.y, y0, y1), scale: clamp(view.scale, limits.minScale, limits.maxScale) };
}

/** A flight from one view to another that zooms out on the way if they are far apart (van Wijk and Nuij 2003). */
export function flight(from: View, to: View, size: Size): { seconds: number; at: (t: number) => View } {
  const rho = 1.3;
  const w0 = size.width / from.scale;
  const w1 = size.width / to.scale;
  const distance = Math.hypot(to.x - from.x, to.y - from.y);
  const blend = (a: number, b: number, t: number) => a + (b - a) * t;
  if (distance < 1e-6 * Math.min(w0, w1)) {
    const s = Math.abs(Math.log(w1 / w0)) / rho;
    return {
      seconds: s,
      at: (t) => ({ x: blend(from.x, to.x, t), y: blend(from.y, to.y, t), scale: size.width / (w0 * (w1 / w0) ** t) }),
    };
  }
  const b0 = (w1 * w1 - w0 * w0 + rho ** 4 * distance * distance) / (2 * w0 * rho * rho * distance);
  const b1 = (w1 * w1 - w0 * w0 - rho ** 4 * distance * distance) / (2 * w1 * rho * rho * distance);
  const r0 = -Math.asinh(b0);
  const r1 = -Math.asinh(b1);
  const length = (r1 - r0) / rho;
  return {
    seconds: length,
    at: (t) => {
      if (t >= 1) return to;
      const s = t * length;
      const u = ((w0 / (rho * rho)) * (Math.cosh(r0) * Math.tanh(rho * s + r0) - Math.sinh(r0))) / distance;
      const w = (w0 * Math.cosh(r0)) / Math.cosh(rho * s + r0);
      return { x: blend(from.x, to.x, u), y: blend(from.y, to.y, u), scale: size.width / w };
    },
  };
}
