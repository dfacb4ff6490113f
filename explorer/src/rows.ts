// What the store says about single rows: fields, neighbours, thumbnails.
import type { Cache } from "./cache";
import type { Meta } from "./meta";
import { parseJson } from "./parse";

export type Value = string | number | boolean | null;

export class RowFiles {
  private readonly titleField: number;

  constructor(readonly meta: Meta, private readonly cache: Cache) {
    const named = meta.fields.findIndex((f) => /^(name|title|text|label|word|id)$/i.test(f));
    this.titleField = named >= 0 ? named : meta.fields.findIndex((f) => f !== "row");
  }

  async values(row: number): Promise<Value[]> {
    return this.chunkRow(await this.cache.load(this.wish(row)), row);
  }

  /** The values if they are here; asks for them otherwise. */
  peek(row: number): Value[] | undefined {
    const wish = this.wish(row);
    const chunk = this.cache.peek<Value[][]>(wish.name);
    if (chunk) return this.chunkRow(chunk, row);
    this.cache.load(wish).catch(() => undefined); // told by the cache
    return undefined;
  }

  /** A short line for lists. */
  title(row: number): string | undefined {
    const values = this.peek(row);
    if (!values) return undefined;
    const number = this.meta.fields[0] === "row" ? `#${values[0]}` : `#${row}`;
    const value = this.titleField >= 0 ? values[this.titleField] : null;
    if (value === null || value === undefined || value === "") return number;
    const field = this.meta.fields[this.titleField]!;
    return typeof value === "number" ? `${number} · ${field} ${value}` : String(value);
  }

  async neighbors(row: number): Promise<number[]> {
    const { chunk, neighbors: k } = this.meta;
    if (!k) return [];
    const name = `neighbors/${Math.floor(row / chunk)}.bin`;
    const all = await this.cache.load({ name, parse: (bytes) => new Uint32Array(bytes) });
    const at = (row % chunk) * k;
    return [...all.subarray(at, at + k)].filter((i) => i < this.meta.nRows);
  }

  /** The picture that holds a row's thumbnail, and where in it; asks for it if it is not here. */
  thumbnail(row: number): { image: ImageBitmap; x: number; y: number } | undefined {
    const { images, chunk } = this.meta;
    if (!images) return undefined;
    const name = `images/${Math.floor(row / chunk)}.png`;
    const held = this.cache.peek<{ image?: ImageBitmap }>(name);
    if (!held) {
      this.cache.load({ name, parse: (bytes) => this.decode(bytes) }).catch(() => undefined);
      return undefined;
    }
    if (!held.image) return undefined;
    const at = row % chunk;
    return { image: held.image, x: (at % 32) * images.width, y: Math.floor(at / 32) * images.height };
  }

  private decode(bytes: ArrayBuffer): { image?: ImageBitmap } {
    const held: { image?: ImageBitmap } = {};
    createImageBitmap(new Blob([bytes], { type: "image/png" })).then((image) => {
      held.image = image;
      this.cache.onArrival();
    }, () => undefined); // a damaged picture is no picture
    return held;
  }

  private wish(row: number) {
    return { name: `rows/${Math.floor(row / this.meta.chunk)}.json`, parse: (b: ArrayBuffer) => parseJson(b) as Value[][] };
  }

  private chunkRow(chunk: Value[][], row: number): Value[] {
    return chunk[row % this.meta.chunk] ?? [];
  }
}
