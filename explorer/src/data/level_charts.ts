// Charts of an engine, and beside them those of the clusters of a level, which are counts of marks.
import { levelOf } from "../filters";
import type { Meta } from "../meta";
import type { Charts, Engine, Rows } from "./engine";

export function withLevels(engine: Engine, meta: Meta): Pick<Engine, "charts"> {
  return {
    charts: async (set: Rows, columns: readonly string[]): Promise<Charts> => {
      const plain = columns.filter((key) => levelOf(key) === null);
      const levels = columns.filter((key) => levelOf(key) !== null);
      const [found, ...counts] = await Promise.all([
        engine.charts(set, plain),
        ...levels.map((key) => engine.marks(set, levelOf(key)!, 0, meta.levels[levelOf(key)!]!.nNodes)),
      ]);
      const clusters = levels.map((column, i) => ({ column, counts: [...(counts[i] as Uint32Array)], missing: 0 }));
      return { count: found.count, charts: [...found.charts, ...clusters] };
    },
  };
}
