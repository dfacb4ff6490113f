// Bins of the charts: from what meta.json says of a column, so that page and server agree without asking.
import type { Column, NumberColumn } from "../meta";

export const MISSING = 255; // the code of a row without a value
const STEPS = 48;
const FEWEST_WHOLE = 8;
const MOST_WHOLE = 60;

export interface Bins {
  n: number;
  start: number; // the lower edge of the first bin
  step: number;
}

/** Bins of a number column: one per whole number where there are few of them, else equal steps of the scale of colours. */
export function binsOf(column: NumberColumn): Bins {
  const { low, high } = column;
  const whole = [column.min, column.max, low, high].every(Number.isInteger) && !column.quality;
  if (whole && high - low >= FEWEST_WHOLE && high - low <= MOST_WHOLE) return { n: high - low + 1, start: low - 0.5, step: 1 };
  return { n: STEPS, start: low, step: (high - low) / STEPS };
}

/** The first and the last bin take all values beyond the scale. */
export function binOf({ n, start, step }: Bins, value: number): number {
  const at = step > 0 ? Math.floor((value - start) / step) : 0;
  return at < 0 ? 0 : at >= n ? n - 1 : at;
}

/** A column as one byte per row: its bin or category, or MISSING. */
export function codesOf(column: Column, values: Float32Array | Uint8Array): Uint8Array {
  if (values instanceof Uint8Array) return values;
  if (column.kind !== "number") throw new Error(`${column.key} holds numbers and is no column of numbers.`);
  const bins = binsOf(column);
  const codes = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    codes[i] = value === value ? binOf(bins, value) : MISSING;
  }
  return codes;
}
