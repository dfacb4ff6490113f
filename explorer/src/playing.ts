// A window that moves over the values of a column.
import type { NumberColumn } from "./meta";

export interface Span {
  low: number;
  high: number;
}

/** Widths of the window as shares of the scale; 0: everything from the start. */
export const WIDTHS: readonly (readonly [string, number])[] = [["1/50", 0.02], ["1/20", 0.05], ["1/10", 0.1], ["1/4", 0.25], ["from the start", 0]];

/** What is played through: the scale of the column, so that a few values far out take no time. */
export const span = ({ low, high }: NumberColumn): Span => ({ low, high });

/** The window on the scale. */
export function onScale(now: Span, whole: Span): Span {
  return { low: Math.max(now.low, whole.low), high: Math.min(now.high, whole.high) };
}

/** At an end of the scale the window takes the values beyond it, too. */
export function withEnds({ low, high }: Span, { low: lowest, high: highest, min, max }: NumberColumn): Span {
  return { low: low <= lowest ? min : low, high: high >= highest ? max : high };
}

/** The window one step further; null at the end. `grows`: its low end stays. */
export function advance(now: Span, whole: Span, by: number, grows: boolean): Span | null {
  if (now.high >= whole.high) return null;
  const step = Math.min(by, whole.high - now.high);
  return { low: grows ? whole.low : now.low + step, high: now.high + step };
}
