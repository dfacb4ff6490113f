// Outlines of clusters: filled areas, and borders as strips of constant width in pixels with soft edges.
import earcut from "earcut";
import * as twgl from "twgl.js";
import type { Size, View } from "../camera";
import type { Rgb } from "../colors";
import { insideRings } from "../ranges";
import type { Outline } from "../parse";

const VERTEX = `#version 300 es
in vec2 place;
in vec4 color;
uniform vec2 origin;
uniform vec2 halfSize;
uniform float scale;
uniform float opacity;
out vec4 shade;
void main() {
  gl_Position = vec4((place * scale + origin) / halfSize, 0.0, 1.0);
  float a = color.a * opacity;
  shade = vec4(color.rgb * a, a);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 shade;
out vec4 result;
void main() { result = shade; }`;

const STRIP_VERTEX = `#version 300 es
in vec2 place;
in vec2 normal;
in float side;
in vec4 color;
uniform vec2 origin;
uniform vec2 halfSize;
uniform float scale;
uniform float width;
uniform float opacity;
out vec4 shade;
out float across;
void main() {
  vec2 at = place * scale + origin + normal * side * (width * 0.5 + 1.0);
  across = side * (width * 0.5 + 1.0);
  gl_Position = vec4(at / halfSize, 0.0, 1.0);
  float a = color.a * opacity;
  shade = vec4(color.rgb * a, a);
}`;

const STRIP_FRAGMENT = `#version 300 es
precision highp float;
in vec4 shade;
in float across;
uniform float width;
uniform float soft; // of the width, that fades
out vec4 result;
void main() {
  float half_ = width * 0.5;
  float inside = 1.0 - smoothstep(half_ * (1.0 - soft) - 0.6, half_ + 0.6, abs(across));
  result = shade * inside;
}`;

/** Rings in groups of one outer ring and its holes, by how deep they are nested. */
export function groupRings(rings: readonly Float32Array[]): Float32Array[][] {
  const usable = rings.filter((r) => r.length >= 6);
  const depth = usable.map((ring) => usable.filter((other) => other !== ring && insideRings([other], ring[0]!, ring[1]!)).length);
  const groups = usable.map((ring, i) => (depth[i]! % 2 === 0 ? [ring] : null));
  usable.forEach((ring, i) => {
    if (depth[i]! % 2 === 0) return;
    const outer = usable.findIndex((o, j) => depth[j] === depth[i]! - 1 && insideRings([o], ring[0]!, ring[1]!));
    groups[outer]?.push(ring);
  });
  return groups.filter((g): g is Float32Array[] => g !== null);
}

interface Mesh {
  fill: { vao: WebGLVertexArrayObject; color: WebGLBuffer; count: number; node: Uint32Array } | null;
  strip: { vao: WebGLVertexArrayObject; color: WebGLBuffer; count: number; node: Uint32Array } | null;
  version: string; // of the colours
}

/** Triangles of all areas; node[v] says whose each vertex is. */
export function triangulate(outlines: readonly Outline[]): { place: number[]; node: number[]; indices: number[] } {
  const [place, node, indices]: [number[], number[], number[]] = [[], [], []];
  outlines.forEach(({ rings }, n) => {
    for (const group of groupRings(rings)) {
      const flat: number[] = [];
      const holes: number[] = [];
      group.forEach((ring, r) => {
        if (r > 0) holes.push(flat.length / 2);
        for (const v of ring) flat.push(v);
      });
      const first = place.length / 2;
      for (const i of earcut(flat, holes)) indices.push(first + i);
      for (const v of flat) place.push(v);
      for (let i = 0; i < flat.length / 2; i++) node.push(n);
    }
  });
  return { place, node, indices };
}

/** Two vertices per corner of each ring, pushed apart along the mitre by the shader. */
export function strips(outlines: readonly Outline[]): { place: number[]; normal: number[]; side: number[]; node: number[]; indices: number[] } {
  const out = { place: [] as number[], normal: [] as number[], side: [] as number[], node: [] as number[], indices: [] as number[] };
  outlines.forEach(({ rings }, n) => {
    for (const raw of rings) {
      const ring = distinct(raw);
      const count = ring.length / 2;
      if (count < 3) continue;
      const first = out.side.length;
      for (let i = 0; i < count; i++) {
        const [mx, my] = mitre(ring, i, count);
        for (const side of [-1, 1]) {
          out.place.push(ring[2 * i]!, ring[2 * i + 1]!);
          out.normal.push(mx, my);
          out.side.push(side);
          out.node.push(n);
        }
        const a = first + 2 * i;
        const b = first + 2 * ((i + 1) % count);
        out.indices.push(a, a + 1, b, b, a + 1, b + 1);
      }
    }
  });
  return out;
}

function distinct(ring: Float32Array): number[] {
  const out: number[] = [];
  const n = ring.length;
  for (let i = 0; i < n; i += 2) {
    const j = (i + n - 2) % n;
    if (ring[i] !== ring[j] || ring[i + 1] !== ring[j + 1]) out.push(ring[i]!, ring[i + 1]!);
  }
  return out;
}

function mitre(ring: number[], i: number, count: number): [number, number] {
  const at = (k: number): [number, number] => {
    const j = ((k + count) % count) * 2;
    return [ring[j]!, ring[j + 1]!];
  };
  const unit = ([ax, ay]: [number, number], [bx, by]: [number, number]): [number, number] => {
    const length = Math.hypot(bx - ax, by - ay) || 1;
    return [-(by - ay) / length, (bx - ax) / length];
  };
  const [n1, n2] = [unit(at(i - 1), at(i)), unit(at(i), at(i + 1))];
  const [sx, sy] = [n1[0] + n2[0], n1[1] + n2[1]];
  const square = sx * sx + sy * sy;
  if (square < 0.2) return n2; // a hairpin: no mitre
  const stretch = Math.min(2 / square, 1.5);
  return [sx * stretch, sy * stretch];
}

export interface Style {
  fill: number;
  border: number;
  width: number;
  soft: number;
}

/** Four bytes as one number, which every machine with WebGL reads lowest first. */
function pack({ rgb: [r, g, b], alpha }: { rgb: Rgb; alpha: number }): number {
  return (Math.round(r) | (Math.round(g) << 8) | (Math.round(b) << 16) | (Math.round(255 * alpha) << 24)) >>> 0;
}

export class Coasts {
  private readonly areas: twgl.ProgramInfo;
  private readonly borders: twgl.ProgramInfo;
  private readonly meshes = new Map<number, Mesh>();

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.areas = twgl.createProgramInfo(gl, [VERTEX, FRAGMENT]);
    this.borders = twgl.createProgramInfo(gl, [STRIP_VERTEX, STRIP_FRAGMENT]);
  }

  /** Sends the outlines of a level once, and their colours when they change. */
  prepare(level: number, outlines: readonly Outline[], version: string, color: (node: number) => { rgb: Rgb; alpha: number }): void {
    let mesh = this.meshes.get(level);
    if (!mesh) this.meshes.set(level, (mesh = this.build(outlines)));
    if (mesh.version === version) return;
    mesh.version = version;
    const colors = Uint32Array.from(outlines, (_, n) => pack(color(n)));
    for (const part of [mesh.fill, mesh.strip]) {
      if (!part) continue;
      const rgba = new Uint32Array(part.node.length);
      for (let v = 0; v < rgba.length; v++) rgba[v] = colors[part.node[v]!]!;
      this.gl.bindBuffer(this.gl.ARRAY_BUFFER, part.color);
      this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, rgba);
    }
  }

  draw(level: number, origin: [number, number], view: View, size: Size, style: Style): void {
    const mesh = this.meshes.get(level);
    if (!mesh) return;
    const common = {
      origin: [(origin[0] - view.x) * view.scale, (origin[1] - view.y) * view.scale],
      halfSize: [size.width / 2, size.height / 2], scale: view.scale, width: style.width, soft: style.soft,
    };
    if (style.fill > 0 && mesh.fill) this.drawPart(this.areas, mesh.fill, { ...common, opacity: style.fill });
    if (style.border > 0 && mesh.strip) this.drawPart(this.borders, mesh.strip, { ...common, opacity: style.border });
  }

  private drawPart(program: twgl.ProgramInfo, part: { vao: WebGLVertexArrayObject; count: number }, uniforms: Record<string, unknown>): void {
    const { gl } = this;
    gl.useProgram(program.program);
    twgl.setUniforms(program, uniforms);
    gl.bindVertexArray(part.vao);
    gl.drawElements(gl.TRIANGLES, part.count, gl.UNSIGNED_INT, 0);
    gl.bindVertexArray(null);
  }

  private build(outlines: readonly Outline[]): Mesh {
    const areas = triangulate(outlines);
    const edges = strips(outlines);
    return {
      fill: this.upload(this.areas, areas.node, areas.indices, { place: { numComponents: 2, data: new Float32Array(areas.place) } }),
      strip: this.upload(this.borders, edges.node, edges.indices, {
        place: { numComponents: 2, data: new Float32Array(edges.place) },
        normal: { numComponents: 2, data: new Float32Array(edges.normal) },
        side: { numComponents: 1, data: new Float32Array(edges.side) },
      }),
      version: "",
    };
  }

  private upload(program: twgl.ProgramInfo, node: number[], indices: number[], arrays: Record<string, twgl.FullArraySpec>): Mesh["fill"] {
    if (!indices.length) return null;
    const info = twgl.createBufferInfoFromArrays(this.gl, {
      ...arrays,
      color: { numComponents: 4, type: Uint8Array, normalize: true, data: new Uint8Array(4 * node.length) },
      indices: { numComponents: 3, data: new Uint32Array(indices) },
    });
    const vao = twgl.createVAOFromBufferInfo(this.gl, program, info)!;
    return { vao, color: info.attribs!.color!.buffer, count: indices.length, node: Uint32Array.from(node) };
  }
}
