// Rows and nodes as anti-aliased discs. Places are relative to the tile; the tile's own place arrives in double precision.
import * as twgl from "twgl.js";
import type { Size, View } from "../camera";
import type { Tile } from "../tiles";

const VERTEX = `#version 300 es
in float x;
in float y;
in float radius;
in vec4 color;
in float near;         // in a map in space 1 nearest to the reader, 0 farthest; else 1
in vec4 kept;          // shares that pass the filters and that a time window has left behind; the size by a column
uniform vec2 origin;   // of the tile, in pixels from the centre of the view
uniform vec2 halfSize; // of the view, in pixels
uniform float scale;
uniform float radiusScale; // 0: all items have the radius leastRadius
uniform float leastRadius;
uniform float mostRadius;
uniform float pixels;  // device pixels per pixel
uniform float opacity;
uniform int layer;     // 0: no filters; what is filtered out (1), left behind (2), let through (3)
uniform vec4 pale;     // what is filtered out
uniform vec2 sizes;    // of rows with the lowest and the highest value of a column, over their usual size
out vec4 shade;
out float half_;
void main() {
  vec2 at = vec2(x, y) * scale + origin;
  float share = layer < 2 ? 1.0 : layer == 2 ? kept.y : kept.x;
  half_ = clamp(radius * sqrt(share) * radiusScale, leastRadius, mostRadius) * pixels;
  half_ *= mix(0.7, 1.0, near);
  gl_Position = vec4(at / halfSize, 1.0 - 2.0 * clamp(near, 0.0, 1.0), 1.0);
  if (radiusScale == 0.0 && layer != 1) half_ *= mix(sizes.x, sizes.y, sqrt(kept.z));
  bool away = layer == 1 ? kept.x == 1.0 || radiusScale == 0.0 && kept.y == 1.0 : share == 0.0;
  vec4 own = layer == 1 ? vec4(pale.rgb, pale.a * color.a) : layer == 2 ? vec4(color.rgb, 0.3 * color.a) : color;
  if (color.a == 0.0 || away) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = 2.0 * half_ + 2.0;
  float a = own.a * opacity * mix(0.45, 1.0, near);
  shade = vec4(own.rgb * a, a);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 shade;
in float half_;
uniform float rim; // darker towards the rim, so that discs close up are told apart
out vec4 result;
void main() {
  float d = length(gl_PointCoord - 0.5) * (2.0 * half_ + 2.0);
  float inside = clamp(half_ + 0.5 - d, 0.0, 1.0);
  if (inside <= 0.0) discard;
  float edge = 1.0 - rim * smoothstep(half_ - 1.8, half_, d);
  result = vec4(shade.rgb * edge, shade.a) * inside;
}`;

interface Buffers {
  info: twgl.BufferInfo;
  vao: WebGLVertexArrayObject;
  color: WebGLBuffer;
  kept: WebGLBuffer;
  turned: number; // of the tile, as its places were sent
  shares: Uint8Array | null; // as they were sent
  version: number;
  final: boolean;
}

export interface Discs {
  radiusScale: number;
  least: number;
  most: number;
  opacity: number;
  rim: number;
}

/** Which items of the tiles are drawn: all, or by what the filters do to them, from the bottom up. */
export const LAYERS = { all: 0, out: 1, left: 2, through: 3 } as const;
export type Layer = (typeof LAYERS)[keyof typeof LAYERS];

export class Points {
  private readonly program: twgl.ProgramInfo;
  private readonly buffers = new Map<Tile, Buffers>();
  private readonly largest: number;

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.program = twgl.createProgramInfo(gl, [VERTEX, FRAGMENT]);
    this.largest = (gl.getParameter(gl.ALIASED_POINT_SIZE_RANGE) as Float32Array)[1]! / 2 - 2;
  }

  draw(tiles: readonly Tile[], view: View, size: Size, pixels: number, discs: Discs, layer: Layer, pale: readonly number[], sizes: readonly number[], opacity: (tile: Tile) => number): void {
    const { gl, program } = this;
    gl.useProgram(program.program);
    twgl.setUniforms(program, {
      halfSize: [size.width / 2, size.height / 2], scale: view.scale, pixels, radiusScale: discs.radiusScale,
      leastRadius: discs.least, mostRadius: Math.min(discs.most, this.largest / pixels), rim: layer === LAYERS.out ? 0 : discs.rim, layer, pale, sizes,
    });
    for (const tile of tiles) {
      const buffers = this.buffers.get(tile);
      if (!buffers) continue;
      twgl.setUniforms(program, {
        origin: [(tile.origin[0] - view.x) * view.scale, (tile.origin[1] - view.y) * view.scale],
        opacity: discs.opacity * opacity(tile),
      });
      gl.bindVertexArray(buffers.vao);
      gl.drawArrays(gl.POINTS, 0, tile.n);
    }
    gl.bindVertexArray(null);
  }

  /** Sends a tile's places, and its colours and shares if they changed. */
  prepare(tile: Tile, version: number, radius: () => Float32Array, paint: () => { rgba: Uint8Array; final: boolean }, shares: Uint8Array | null, inSpace: boolean): void {
    this.prepareColors(tile, version, radius, paint, inSpace);
    const buffers = this.buffers.get(tile)!;
    this.preparePlaces(tile, buffers);
    if (!shares || buffers.shares === shares) return;
    buffers.shares = shares;
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffers.kept);
    this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, shares);
  }

  /** Of a map in space: they change with every turn. */
  private preparePlaces(tile: Tile, buffers: Buffers): void {
    if (!tile.near || buffers.turned === tile.turned) return;
    const parts = { x: tile.x, y: tile.y, near: tile.near };
    for (const [name, values] of Object.entries(parts)) {
      this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffers.info.attribs![name]!.buffer);
      this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, values);
    }
    buffers.turned = tile.turned;
  }

  private prepareColors(tile: Tile, version: number, radius: () => Float32Array, paint: () => { rgba: Uint8Array; final: boolean }, inSpace: boolean): void {
    const before = this.buffers.get(tile);
    if (before && before.version === version && before.final) return;
    const { rgba, final } = paint();
    if (before) {
      this.gl.bindBuffer(this.gl.ARRAY_BUFFER, before.color);
      this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, rgba);
      Object.assign(before, { version, final });
      return;
    }
    const info = twgl.createBufferInfoFromArrays(this.gl, {
      x: { numComponents: 1, data: finite(tile.x) },
      y: { numComponents: 1, data: finite(tile.y) },
      radius: tile.nodes ? { numComponents: 1, data: radius() } : { value: [0] },
      near: inSpace ? { numComponents: 1, data: new Float32Array(tile.n).fill(1) } : { value: [1] },
      color: { numComponents: 4, type: Uint8Array, normalize: true, data: rgba },
      kept: { numComponents: 4, type: Uint8Array, normalize: true, data: new Uint8Array(4 * tile.n) },
    });
    const vao = twgl.createVAOFromBufferInfo(this.gl, this.program, info)!;
    this.buffers.set(tile, { info, vao, color: info.attribs!.color!.buffer, kept: info.attribs!.kept!.buffer, shares: null, version, final, turned: -1 });
  }

  release(tile: Tile): void {
    const buffers = this.buffers.get(tile);
    if (!buffers) return;
    for (const attribute of Object.values(buffers.info.attribs ?? {})) if (attribute.buffer) this.gl.deleteBuffer(attribute.buffer);
    this.gl.deleteVertexArray(buffers.vao);
    this.buffers.delete(tile);
  }
}

// a place that is no number is drawn nowhere: far outside of every view
function finite(values: Float32Array): Float32Array {
  return values.some((v) => !Number.isFinite(v)) ? values.map((v) => (Number.isFinite(v) ? v : 3e38)) : values;
}
