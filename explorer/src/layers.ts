// Which levels are drawn and how strongly: the one that fits, and until its tiles are here the best that is.

export interface Ready {
  fraction: number; // of the visible tiles of the level that fits
  fallback: number | null; // another level that is wholly here
}

const FADE = 260; // milliseconds

export class Layers {
  private readonly alphas = new Map<number, number>();
  private last = 0;

  /** Moves all levels towards their strength; true while something still changes. */
  update(target: number, ready: Ready, now: number): boolean {
    const first = this.alphas.size === 0; // the first picture does not wait
    const step = first ? 1 : Math.min(Math.max(now - this.last, 0), 120) / FADE;
    this.last = now;
    const wanted = new Map<number, number>([[target, 1]]);
    if (ready.fraction < 1 && ready.fallback !== null) wanted.set(ready.fallback, 1 - 0.8 * ready.fraction);
    let moving = false;
    for (const level of new Set([...wanted.keys(), ...this.alphas.keys()])) {
      const goal = wanted.get(level) ?? 0;
      const before = this.alphas.get(level) ?? 0;
      const alpha = goal > before ? Math.min(goal, before + step) : Math.max(goal, before - step);
      if (alpha !== goal) moving = true;
      if (alpha <= 0 && goal <= 0) this.alphas.delete(level);
      else this.alphas.set(level, alpha);
    }
    return moving;
  }

  /** Levels to draw, coarse first. */
  get drawn(): [number, number][] {
    return [...this.alphas].sort((a, b) => b[0] - a[0]);
  }
}
