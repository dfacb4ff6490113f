// The view as a picture: PNG as on the screen, SVG with names as text.
import type { App } from "./app";
import { toScreen, viewBox } from "./camera";
import { css, type Rgb } from "./colors";
import { download } from "./csv";
import { ROWS } from "./meta";
import { SvgBrush } from "./svg";
import { place, type Tile } from "./tiles";
import type { MapView } from "./view";

const MOST_CIRCLES = 5000; // points as vectors: beyond, programs that edit SVG become slow
const PALE = 0.35; // opacity of what is filtered out

export function fileName(app: App, ending: string): string {
  const name = app.shared.meta.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60);
  return `${name || "map"}.${ending}`;
}

/** Maps side by side as they are shown; drawn anew, for the browser keeps no picture of what the GPU drew. */
function draw(app: App): HTMLCanvasElement {
  const views = shown(app);
  const canvas = document.createElement("canvas");
  canvas.width = views.reduce((sum, view) => sum + view.overlayCanvas.width, 0);
  canvas.height = Math.max(...views.map((view) => view.overlayCanvas.height));
  const context = canvas.getContext("2d")!;
  let left = 0;
  for (const view of views) {
    view.frame();
    context.drawImage(view.ground.canvas, left, 0);
    context.drawImage(view.overlayCanvas, left, 0);
    left += view.overlayCanvas.width;
  }
  return canvas;
}

const shown = (app: App): MapView[] => app.views.filter((view) => !view.element.hidden);

function png(app: App): Promise<Blob> {
  const canvas = draw(app);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser made no picture."))), "image/png"));
}

export async function copyPicture(app: App): Promise<void> {
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png(app) })]);
    app.told.notice("The picture is copied.");
  } catch {
    await savePng(app);
    app.told.notice("This browser lets no page copy pictures: it was downloaded.");
  }
}

export async function savePng(app: App): Promise<void> {
  try {
    download(fileName(app, "png"), [await png(app)], "image/png");
  } catch (error) {
    app.told.failed(error, "There is no picture.");
  }
}

export async function saveSvg(app: App): Promise<void> {
  const { title } = app.shared.meta;
  shown(app).forEach((view, i) => download(fileName(app, i ? `${i + 1}.svg` : "svg"), [svg(view, title)], "image/svg+xml"));
}

/** Areas, points and names as vectors; beyond 5,000 points, or where depth, sizes or time change them, the ground is one picture below the names. */
export function svg(view: MapView, title: string): string {
  const brush = new SvgBrush();
  const { width, height } = view.size;
  const { shares } = view.shared;
  const flat = !view.space && !shares.sized && !shares.haunted;
  if (flat && countCircles(view) <= MOST_CIRCLES) {
    brush.fillStyle = view.shared.painter.theme.background;
    brush.fillRect(0, 0, width, height);
    drawAreas(view, brush);
    drawCircles(view, brush);
  } else {
    view.frame();
    brush.image(view.ground.canvas.toDataURL("image/png"), 0, 0, width, height);
  }
  view.drawOver(brush);
  return brush.document(width, height, title);
}

function countCircles(view: MapView): number {
  const [x0, y0, x1, y1] = viewBox(view.view, view.size);
  let n = 0;
  for (const tile of view.visible())
    for (let i = 0; i < tile.n; i++) {
      const [x, y] = place(tile, i);
      if (x >= x0 && x <= x1 && y >= y0 && y <= y1) n++;
    }
  return n;
}

function drawAreas(view: MapView, brush: SvgBrush): void {
  const { tree, painter, store } = view.shared;
  const level = view.ground.outlinedLevel(store.now.focus);
  if (level === null) return;
  const colors = painter.column ? null : painter.ofLevel(level);
  tree.outline(level, view.index)?.forEach(({ rings }, node) => {
    brush.beginPath();
    for (const ring of rings) {
      for (let i = 0; i < ring.length; i += 2) {
        const at = view.fromMiddle(ring[i]!, ring[i + 1]!);
        if (i) brush.lineTo(...at);
        else brush.moveTo(...at);
      }
      brush.closePath();
    }
    const color = colors?.[node] ?? painter.theme.quiet;
    brush.fillStyle = brush.strokeStyle = css(color);
    brush.lineWidth = 1.1;
    brush.globalAlpha = painter.column ? 0.07 : 0.15;
    brush.fill();
    brush.globalAlpha = 0.55;
    brush.stroke();
  });
  brush.globalAlpha = 1;
}

/** What the filters leave out lies below, pale. */
function drawCircles(view: MapView, brush: SvgBrush): void {
  const { shares } = view.shared;
  drawSome(view, brush, true, (tile, i) => !shares.passes(tile, i));
  drawSome(view, brush, false, (tile, i) => shares.passes(tile, i));
}

function drawSome(view: MapView, brush: SvgBrush, pale: boolean, wanted: (tile: Tile, i: number) => boolean): void {
  const { painter } = view.shared;
  const row = view.ground.rowRadius(view.view);
  for (const tile of view.visible()) {
    const { rgba } = painter.paint(tile);
    for (let i = 0; i < tile.n; i++) {
      if (!wanted(tile, i)) continue;
      const [x, y] = toScreen(view.view, view.size, ...place(tile, i));
      const alpha = rgba[4 * i + 3]! / 255;
      const radius = tile.nodes ? view.ground.nodeRadius(tile.nodes.size[i]!) * view.view.scale : row;
      if (!alpha || x < -radius || y < -radius || x > view.size.width + radius || y > view.size.height + radius) continue;
      const own: Rgb = pale ? painter.theme.quiet : [rgba[4 * i]!, rgba[4 * i + 1]!, rgba[4 * i + 2]!];
      brush.circle(x, y, Math.max(radius, 1), css(own), alpha * (pale ? PALE : tile.level === ROWS ? 0.9 : 0.8));
    }
  }
}
