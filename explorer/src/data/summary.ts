// What rows of a set have more often than others, from their charts.
import type { CategoryColumn, Column, NumberColumn } from "../meta";
import { binsOf } from "./bins";
import type { Chart, Charts, Summary } from "./engine";

const MOST_TRAITS = 8;
const MOST_CLUSTERS = 40;
const FEWEST = 0.2; // share of the set's rows of which a trait is true
const TWICE = 2; // as often as among others
const TOP = 0.2; // a number is high beyond the highest fifth of the others

interface Trait {
  text: string;
  weight: number;
}

/** `clusters`: rows of the set in each node of `level`. Typical and odd rows need the rows themselves, which are not here. */
export function summarize(columns: readonly Column[], own: Charts, others: Charts, level: number, clusters: Uint32Array): Summary {
  const traits = columns.flatMap((column, i) => {
    const [a, b] = [own.charts[i]!, others.charts[i]!];
    return column.kind === "category" ? ofCategories(column, a, b) : ofNumbers(column, a, b);
  });
  const found = [...clusters].map((count, index) => ({ level, index, count })).filter(({ count }) => count > 0);
  return {
    count: own.count,
    traits: traits.sort((a, b) => b.weight - a.weight).slice(0, MOST_TRAITS).map((trait) => trait.text),
    clusters: found.sort((a, b) => b.count - a.count || a.index - b.index).slice(0, MOST_CLUSTERS),
    typical: [],
    odd: [],
  };
}

const total = (chart: Chart): number => chart.counts.reduce((sum, n) => sum + n, 0);

function trait(name: string, inside: number, outside: number): Trait[] {
  if (inside < FEWEST || inside < TWICE * outside) return [];
  const share = (x: number): string => `${Math.round(100 * x)}%`;
  return [{ text: `${name}: ${share(inside)} (${share(outside)} of the others)`, weight: inside - outside }];
}

function ofCategories(column: CategoryColumn, own: Chart, others: Chart): Trait[] {
  const [n, m] = [total(own), total(others)];
  if (!n || !m) return [];
  return column.categories.flatMap((category, code) => trait(`${column.name} ${category}`, (own.counts[code] ?? 0) / n, (others.counts[code] ?? 0) / m));
}

function ofNumbers(column: NumberColumn, own: Chart, others: Chart): Trait[] {
  const { n } = binsOf(column);
  const [a, b] = [own.counts.slice(0, n), others.counts.slice(0, n)];
  const words = column.time ? ["late", "early"] : ["high", "low"];
  return [beyond(`${words[0]} ${column.name}`, [...a].reverse(), [...b].reverse()), beyond(`${words[1]} ${column.name}`, a, b)].flat();
}

/** Bins from an end of the scale that hold at most a fifth of the others. */
function beyond(name: string, own: readonly number[], others: readonly number[]): Trait[] {
  const [n, m] = [own, others].map((counts) => counts.reduce((sum, count) => sum + count, 0)) as [number, number];
  if (!n || !m) return [];
  let [inside, outside] = [0, 0];
  for (let i = 0; i < own.length && outside + others[i]! <= TOP * m; i++) {
    inside += own[i]!;
    outside += others[i]!;
  }
  return trait(name, inside / n, outside / m);
}
