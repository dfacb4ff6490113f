// What is drawn over the map on a 2-D canvas: names, thumbnails, lines to neighbours, marks, the lasso.
import { toScreen, type Size, type View } from "./camera";
import type { Theme } from "./colors";
import { FAMILY, type Name } from "./names";
import type { Brush } from "./svg";
import type { Bundle } from "./tears";

export type Place = [number, number]; // in the map

export interface Mark {
  at: Place;
  radius: number; // pixels
  kind: "hit" | "hover" | "row" | "neighbor" | "link";
}

export interface Tie {
  to: Place;
  torn: boolean;
}

export interface Picture {
  at: Place;
  image: ImageBitmap;
  x: number;
  y: number;
  width: number;
  height: number;
  color: string;
}

export interface Drawing {
  names: readonly Name[];
  hot: Name | null; // the name under the pointer
  bundles: readonly Bundle[]; // links to true neighbours far off
  copies: readonly { at: Place; count: number; beside: number }[]; // rows at one place
  rings: readonly (readonly Place[])[]; // of the open cluster
  circle: { at: Place; radius: number } | null;
  from: Place | null;
  ties: readonly Tie[];
  marks: readonly Mark[];
  pictures: readonly Picture[];
  pictureSize: number;
  lasso: readonly [number, number][];
}

const ACCENT = { light: "#c2410c", dark: "#ff9d5c" };
const CALM = { light: "rgba(30, 41, 59, 0.7)", dark: "rgba(226, 232, 240, 0.75)" };

const BOW = 0.16; // how far a bundle bends, of its length

export class Overlay {
  constructor(private readonly context: Brush) {}

  draw(what: Drawing, view: View, size: Size, pixels: number, theme: Theme): void {
    const c = this.context;
    c.setTransform(pixels, 0, 0, pixels, 0, 0);
    c.clearRect(0, 0, size.width, size.height);
    const screen = ([x, y]: Place) => toScreen(view, size, x, y);
    this.pictures(what, screen, theme);
    this.cluster(what, screen, view, theme);
    this.bundles(what.bundles, screen, theme);
    this.ties(what, screen, theme);
    this.copies(what.copies, screen, theme);
    this.marks(what, screen, theme);
    for (const name of what.names) this.name(name, theme, name.key === what.hot?.key);
    this.lasso(what.lasso, theme);
  }

  private pictures(what: Drawing, screen: (p: Place) => Place, theme: Theme): void {
    const c = this.context;
    const s = what.pictureSize;
    c.imageSmoothingEnabled = false;
    for (const p of what.pictures) {
      const [x, y] = screen(p.at);
      c.fillStyle = theme.background;
      c.fillRect(x - s / 2 - 1.5, y - s / 2 - 1.5, s + 3, s + 3);
      c.drawImage(p.image, p.x, p.y, p.width, p.height, x - s / 2, y - s / 2, s, s);
      c.strokeStyle = p.color;
      c.lineWidth = 2;
      c.strokeRect(x - s / 2 - 1, y - s / 2 - 1, s + 2, s + 2);
    }
    c.imageSmoothingEnabled = true;
  }

  private cluster(what: Drawing, screen: (p: Place) => Place, view: View, theme: Theme): void {
    const c = this.context;
    c.strokeStyle = theme.text;
    c.lineWidth = 1.6;
    c.globalAlpha = 0.75;
    c.beginPath();
    for (const ring of what.rings) {
      ring.forEach((p, i) => (i ? c.lineTo(...screen(p)) : c.moveTo(...screen(p))));
      c.closePath();
    }
    if (what.circle) {
      c.setLineDash([5, 5]);
      const [x, y] = screen(what.circle.at);
      c.moveTo(x + what.circle.radius * view.scale, y);
      c.arc(x, y, what.circle.radius * view.scale, 0, 2 * Math.PI);
    }
    c.stroke();
    c.setLineDash([]);
    c.globalAlpha = 1;
  }

  /** Bows, the widest last; as wide as they have links. */
  private bundles(bundles: readonly Bundle[], screen: (p: Place) => Place, theme: Theme): void {
    const c = this.context;
    c.lineCap = "round";
    for (const { from, to, share } of [...bundles].reverse()) {
      const [x0, y0] = screen(from);
      const [x1, y1] = screen(to);
      c.beginPath();
      c.moveTo(x0, y0);
      c.quadraticCurveTo((x0 + x1) / 2 + BOW * (y0 - y1), (y0 + y1) / 2 + BOW * (x1 - x0), x1, y1);
      const width = 1.2 + 8 * Math.sqrt(share);
      this.line(theme.background, width + 2, 0.55);
      this.line(ACCENT[theme.name], width, 0.25 + 0.6 * Math.sqrt(share));
    }
    c.lineCap = "butt";
    c.globalAlpha = 1;
  }

  private line(color: string, width: number, alpha: number): void {
    const c = this.context;
    [c.strokeStyle, c.lineWidth, c.globalAlpha] = [color, width, alpha];
    c.stroke();
  }

  private copies(copies: Drawing["copies"], screen: (p: Place) => Place, theme: Theme): void {
    const c = this.context;
    c.font = `600 11px ${FAMILY}`;
    c.textAlign = "left";
    c.textBaseline = "middle";
    c.lineJoin = "round";
    [c.strokeStyle, c.fillStyle, c.lineWidth] = [theme.halo, theme.text, 3.5];
    for (const { at, count, beside } of copies) {
      const [x, y] = screen(at);
      const told = `×${count.toLocaleString("en")}`;
      c.strokeText(told, x + beside * 0.7 + 2, y - beside * 0.7 - 2);
      c.fillText(told, x + beside * 0.7 + 2, y - beside * 0.7 - 2);
    }
  }

  private ties(what: Drawing, screen: (p: Place) => Place, theme: Theme): void {
    if (!what.from) return;
    const c = this.context;
    const [x, y] = screen(what.from);
    for (const tie of what.ties) {
      const [tx, ty] = screen(tie.to);
      c.strokeStyle = theme.background;
      c.lineWidth = 4;
      c.globalAlpha = 0.6;
      c.beginPath();
      c.moveTo(x, y);
      c.lineTo(tx, ty);
      c.stroke();
      c.globalAlpha = 1;
      c.strokeStyle = tie.torn ? ACCENT[theme.name] : CALM[theme.name];
      c.lineWidth = tie.torn ? 1.8 : 1.4;
      c.setLineDash(tie.torn ? [6, 4] : []);
      c.stroke();
      c.setLineDash([]);
    }
  }

  private marks(what: Drawing, screen: (p: Place) => Place, theme: Theme): void {
    const c = this.context;
    for (const mark of what.marks) {
      const [x, y] = screen(mark.at);
      const strong = mark.kind === "row" || mark.kind === "hit";
      c.beginPath();
      c.arc(x, y, mark.radius, 0, 2 * Math.PI);
      c.strokeStyle = theme.background;
      c.lineWidth = strong ? 5 : 4;
      c.stroke();
      c.strokeStyle = mark.kind === "hit" ? ACCENT[theme.name] : theme.text;
      c.lineWidth = strong ? 2.2 : 1.6;
      c.stroke();
    }
  }

  private name(name: Name, theme: Theme, hot: boolean): void {
    const c = this.context;
    const step = name.font * 1.18;
    const top = name.y + name.shift * (name.height + 5) - name.height / 2 + step / 2;
    c.font = `${name.large ? 650 : 550} ${name.font}px ${FAMILY}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.lineJoin = "round";
    c.globalAlpha = name.alpha;
    c.strokeStyle = theme.halo;
    c.fillStyle = theme.text;
    name.lines.forEach((line, i) => {
      const y = top + i * step;
      c.lineWidth = name.large ? 4.5 : 3.5;
      c.strokeText(line, name.x, y);
      c.fillText(line, name.x, y);
      if (hot) c.fillRect(name.x - name.width / 2, y + name.font * 0.55, name.width, 1.2);
    });
    c.globalAlpha = 1;
  }

  private lasso(points: readonly [number, number][], theme: Theme): void {
    if (points.length < 2) return;
    const c = this.context;
    c.beginPath();
    points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.closePath();
    c.fillStyle = theme.name === "dark" ? "rgba(255, 255, 255, 0.08)" : "rgba(15, 23, 42, 0.06)";
    c.fill();
    c.strokeStyle = theme.text;
    c.lineWidth = 1.4;
    c.setLineDash([5, 4]);
    c.stroke();
    c.setLineDash([]);
  }
}
