// Where the map tears a cluster from its true neighbours: links that it makes far, counted when the store was written.
import { middle } from "./camera";
import { parseJson } from "./parse";
import type { Shared } from "./shared";
import type { NodeId } from "./tree";

export interface Tear {
  links: number; // of all rows of the cluster to their true neighbours
  far: number; // of these, over a tenth of the map long
  bundles: [number, number, number, number, number][]; // begin, end (relative to the middle of the frame), links
  to: [number, number][]; // clusters of the same level, links: those that most lead to
}

/** Links that lie together, in places of the map. */
export interface Bundle {
  from: [number, number];
  to: [number, number];
  share: number; // of the widest
}

const CHUNK = 256; // clusters of a file

const wish = (map: number, { level, index }: NodeId) => ({ name: `m${map}/tears/${level}/${Math.floor(index / CHUNK)}.json`, parse: parseJson });

const isTear = (raw: unknown): raw is Tear => {
  const { links, far, bundles, to } = (raw ?? {}) as Partial<Record<keyof Tear, unknown>>;
  return typeof links === "number" && typeof far === "number" && Array.isArray(bundles) && Array.isArray(to);
};

/** Null where nothing was measured. */
export async function loadTear({ meta, cache }: Shared, map: number, id: NodeId): Promise<Tear | null> {
  if (!meta.maps[map]!.tears.has(id.level)) return null;
  const chunk = (await cache.load(wish(map, id))) as unknown[];
  const own = chunk[id.index % CHUNK];
  return isTear(own) ? own : null;
}

/** What is drawn of the open cluster while its tears are shown; asks for them if they are not here. */
export function bundlesOf(shared: Shared, map: number): Bundle[] {
  const { tears, cluster } = shared.store.now;
  if (!tears || !cluster || !shared.meta.maps[map]!.tears.has(cluster.level)) return [];
  const chunk = shared.cache.peek<unknown[]>(wish(map, cluster).name);
  if (!chunk) shared.cache.load(wish(map, cluster)).catch(() => undefined); // told by the cache
  const own = chunk?.[cluster.index % CHUNK];
  if (!isTear(own)) return [];
  const [cx, cy] = middle(shared.meta.maps[map]!.frame);
  const widest = Math.max(...own.bundles.map((b) => b[4]), 1);
  return own.bundles.map(([x0, y0, x1, y1, n]) => ({ from: [cx + x0, cy + y0], to: [cx + x1, cy + y1], share: n / widest }));
}
