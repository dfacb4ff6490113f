// Rows in the order of a column, as the server has it: rows without a value come last, equal ones in tree order, or downwards
// in the reverse of it.
import { MISSING } from "./bins";
import type { Values } from "./masks";

export function sortedRows(values: Values, descending: boolean): Uint32Array {
  const bytes = values instanceof Uint8Array;
  const known: number[] = [];
  const missing: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    (bytes ? value === MISSING : value !== value) ? missing.push(i) : known.push(i);
  }
  const order = Uint32Array.from(known);
  order.sort(descending ? (a, b) => values[b]! - values[a]! || b - a : (a, b) => values[a]! - values[b]! || a - b);
  const all = new Uint32Array(values.length);
  all.set(order);
  all.set(missing, order.length);
  return all;
}
