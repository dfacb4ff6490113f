// Scrolling over any number of lines. Browsers end elements at some 17 to 33 million pixels: beyond a limit the bar stands
// for a share of the lines, while wheel and keys still move line by line.

const MOST_PIXELS = 8_000_000;

export class Scroll {
  top = 0; // the first line in sight, with its part out of sight
  private n = 0;
  private room = 1; // pixels of the window

  constructor(readonly line: number) {}

  resize(n: number, room: number): void {
    this.n = n;
    this.room = Math.max(room, 1);
    this.top = Math.min(this.top, this.last);
  }

  /** Pixels of all lines, as far as the browser bears them. */
  get height(): number {
    return Math.min(this.n * this.line, MOST_PIXELS);
  }

  get isScaled(): boolean {
    return this.n * this.line > MOST_PIXELS;
  }

  /** Where the bar stands. */
  get pixels(): number {
    return this.last ? (this.top / this.last) * Math.max(this.height - this.room, 0) : 0;
  }

  /** The bar was moved. */
  dragTo(pixels: number): void {
    const most = this.height - this.room;
    this.moveTo(most > 0 ? (pixels / most) * this.last : 0);
  }

  moveTo(top: number): void {
    this.top = Math.min(Math.max(top, 0), this.last);
  }

  /** Moves no further than it takes to see a line wholly. */
  reveal(i: number): void {
    const whole = Math.max(this.room / this.line - 1, 0);
    if (i < this.top) this.moveTo(i);
    else if (i > this.top + whole) this.moveTo(i - whole);
  }

  /** Lines in sight: from, and up to. */
  get seen(): [number, number] {
    const first = Math.floor(this.top);
    return [first, Math.min(Math.ceil(this.top + this.room / this.line), this.n)];
  }

  /** Lines of a whole window. */
  get page(): number {
    return Math.max(Math.floor(this.room / this.line), 1);
  }

  private get last(): number {
    return Math.max(this.n - this.room / this.line, 0);
  }
}
