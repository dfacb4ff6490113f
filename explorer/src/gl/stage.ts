// What a map is drawn on. It needs nothing of the store, so that shaders are compiled while the first files are on their way.
import { StoreError } from "../meta";
import { Coasts } from "./coasts";
import { Points } from "./points";

export class Stage {
  readonly canvas: HTMLCanvasElement;
  readonly gl: WebGL2RenderingContext;
  points: Points;
  private made: Coasts | null = null; // when first asked for: the first picture has none

  constructor() {
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    const gl = this.canvas.getContext("webgl2", { alpha: false, antialias: true, premultipliedAlpha: true });
    if (!gl) throw new StoreError("This browser has no WebGL 2, which the map is drawn with. Try another browser, or turn on hardware acceleration.");
    this.gl = gl;
    this.points = new Points(gl);
  }

  /** After the browser lost its graphics context: all buffers are gone. */
  restore(): void {
    this.points = new Points(this.gl);
    this.made = null;
  }

  get coasts(): Coasts {
    return (this.made ??= new Coasts(this.gl));
  }
}
