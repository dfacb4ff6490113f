// What all parts of the page share.
import type { Cache } from "./cache";
import type { Engine } from "./data/engine";
import type { Marks } from "./data/marks";
import type { Meta } from "./meta";
import type { Painter } from "./paint";
import type { RowFiles } from "./rows";
import type { Shares } from "./shares";
import type { Config, Source } from "./source";
import type { Store } from "./state";
import type { TileFiles } from "./tiles";
import type { Tree } from "./tree";

export interface Shared {
  meta: Meta;
  config: Config;
  source: Source;
  cache: Cache;
  tiles: TileFiles;
  tree: Tree;
  rows: RowFiles;
  store: Store;
  painter: Painter;
  engine: Engine;
  marks: Marks;
  shares: Shares; // what the filters let through
}
