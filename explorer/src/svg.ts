// What the overlay draws, written down as SVG: the part of a 2-D canvas that it uses.

export type Brush = Pick<CanvasRenderingContext2D,
  | "setTransform" | "clearRect" | "fillRect" | "strokeRect" | "drawImage" | "beginPath" | "closePath" | "moveTo" | "lineTo" | "quadraticCurveTo" | "arc"
  | "setLineDash" | "stroke" | "fill" | "strokeText" | "fillText"
  | "fillStyle" | "strokeStyle" | "lineWidth" | "globalAlpha" | "font" | "textAlign" | "textBaseline" | "lineJoin" | "lineCap" | "imageSmoothingEnabled">;

const round = (value: number): string => String(Math.round(value * 100) / 100);

/** A text or an attribute of XML, without what XML forbids. */
export function escapeXml(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, " ")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

export class SvgBrush implements Brush {
  fillStyle: string | CanvasGradient | CanvasPattern = "#000";
  strokeStyle: string | CanvasGradient | CanvasPattern = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign: CanvasTextAlign = "start";
  textBaseline: CanvasTextBaseline = "alphabetic";
  lineJoin: CanvasLineJoin = "miter";
  lineCap: CanvasLineCap = "butt";
  imageSmoothingEnabled = true;
  readonly parts: string[] = [];
  private path: string[] = [];
  private dash = "";

  setTransform(): void {} // pictures of vectors have one unit
  clearRect(): void {} // they begin empty

  beginPath(): void {
    this.path = [];
  }

  closePath(): void {
    this.path.push("Z");
  }

  moveTo(x: number, y: number): void {
    this.path.push(`M${round(x)} ${round(y)}`);
  }

  lineTo(x: number, y: number): void {
    this.path.push(`L${round(x)} ${round(y)}`);
  }

  quadraticCurveTo(cx: number, cy: number, x: number, y: number): void {
    this.path.push(`Q${round(cx)} ${round(cy)} ${round(x)} ${round(y)}`);
  }

  /** Whole circles only: the overlay has no others. */
  arc(x: number, y: number, r: number): void {
    const [left, right, R] = [round(x - r), round(x + r), round(r)];
    this.path.push(`M${left} ${round(y)}A${R} ${R} 0 1 1 ${right} ${round(y)}A${R} ${R} 0 1 1 ${left} ${round(y)}Z`);
  }

  setLineDash(segments: Iterable<number>): void {
    this.dash = [...segments].join(" ");
  }

  stroke(): void {
    if (this.path.length) this.parts.push(`<path d="${this.path.join("")}" fill="none"${this.strokes()}/>`);
  }

  fill(): void {
    if (this.path.length) this.parts.push(`<path d="${this.path.join("")}" fill-rule="evenodd"${this.fills()}/>`);
  }

  fillRect(x: number, y: number, w: number, h: number): void {
    this.parts.push(`<rect${box(x, y, w, h)}${this.fills()}/>`);
  }

  strokeRect(x: number, y: number, w: number, h: number): void {
    this.parts.push(`<rect${box(x, y, w, h)} fill="none"${this.strokes()}/>`);
  }

  strokeText(text: string, x: number, y: number): void {
    this.text(text, x, y, `fill="none"${this.strokes()}`);
  }

  fillText(text: string, x: number, y: number): void {
    this.text(text, x, y, this.fills());
  }

  drawImage(image: CanvasImageSource, ...at: number[]): void {
    const [sx, sy, sw, sh, x, y, w, h] = at as [number, number, number, number, number, number, number, number];
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [sw, sh];
    canvas.getContext("2d")!.drawImage(image, sx, sy, sw, sh, 0, 0, sw, sh);
    this.image(canvas.toDataURL("image/png"), x, y, w, h, !this.imageSmoothingEnabled);
  }

  image(url: string, x: number, y: number, w: number, h: number, crisp = false): void {
    this.parts.push(`<image${box(x, y, w, h)}${crisp ? ' style="image-rendering:pixelated"' : ""} href="${url}"/>`);
  }

  circle(x: number, y: number, r: number, fill: string, alpha: number): void {
    this.parts.push(`<circle cx="${round(x)}" cy="${round(y)}" r="${round(r)}" fill="${fill}" fill-opacity="${round(alpha)}"/>`);
  }

  document(width: number, height: number, title: string): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}">`
      + `<title>${escapeXml(title)}</title>\n${this.parts.join("\n")}\n</svg>\n`;
  }

  private text(text: string, x: number, y: number, look: string): void {
    const anchor = { center: "middle", right: "end", end: "end", left: "start", start: "start" }[this.textAlign];
    const shift = this.textBaseline === "middle" ? ' dominant-baseline="central"' : "";
    this.parts.push(`<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"${shift} style="font:${escapeXml(this.font)}" ${look}>${escapeXml(text)}</text>`);
  }

  private strokes(): string {
    const dash = this.dash ? ` stroke-dasharray="${this.dash}"` : "";
    return ` stroke="${color(this.strokeStyle)}" stroke-width="${round(this.lineWidth)}" stroke-linejoin="${this.lineJoin}"${dash}${this.alpha()}`;
  }

  private fills(): string {
    return ` fill="${color(this.fillStyle)}"${this.alpha()}`;
  }

  private alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${round(this.globalAlpha)}"` : "";
  }
}

const box = (x: number, y: number, w: number, h: number): string => ` x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}"`;
const color = (style: string | CanvasGradient | CanvasPattern): string => (typeof style === "string" ? escapeXml(style) : "none");
