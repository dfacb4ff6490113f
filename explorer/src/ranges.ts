// Sets of rows as sorted ranges of the tree order: a cluster is one range, a lasso is many.

export type Ranges = readonly [number, number][];

/** The last index i with sorted[i] <= value, or -1. */
export function lastAtMost(sorted: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function joinRanges(parts: Iterable<readonly [number, number]>): Ranges {
  const sorted = [...parts].filter(([a, b]) => b > a).sort((p, q) => p[0] - q[0]);
  const joined: [number, number][] = [];
  for (const [begin, end] of sorted) {
    const last = joined[joined.length - 1];
    if (last && begin <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([begin, end]);
  }
  return joined;
}

/** Rows in both sets. */
export function intersectRanges(a: Ranges, b: Ranges): Ranges {
  const shared: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const begin = Math.max(a[i]![0], b[j]![0]);
    const end = Math.min(a[i]![1], b[j]![1]);
    if (begin < end) shared.push([begin, end]);
    if (a[i]![1] < b[j]![1]) i++;
    else j++;
  }
  return shared;
}

/** All other rows of `n`. */
export function complementRanges(ranges: Ranges, n: number): Ranges {
  const cuts = [0, ...ranges.flat(), n];
  const rest: [number, number][] = [];
  for (let i = 0; i < cuts.length; i += 2) if (cuts[i]! < cuts[i + 1]!) rest.push([cuts[i]!, cuts[i + 1]!]);
  return rest;
}

export function countRows(ranges: Ranges): number {
  return ranges.reduce((sum, [a, b]) => sum + b - a, 0);
}

/** Is a point inside the rings (even-odd rule)? Rings are x, y, x, y, … */
export function insideRings(rings: readonly ArrayLike<number>[], x: number, y: number): boolean {
  let inside = false;
  for (const ring of rings) {
    const n = ring.length;
    for (let i = 0, j = n - 2; i < n; j = i, i += 2) {
      const yi = ring[i + 1]!;
      const yj = ring[j + 1]!;
      if (yi > y === yj > y) continue;
      const cut = ring[i]! + ((y - yi) / (yj - yi)) * (ring[j]! - ring[i]!);
      if (x < cut) inside = !inside;
    }
  }
  return inside;
}
