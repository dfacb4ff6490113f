// Who answers questions about sets of rows in this page, and what the map keeps of the answers.
import { Search } from "../search";
import type { Shared } from "../shared";
import { Shares } from "../shares";
import type { Engine } from "./engine";
import { LocalEngine } from "./local_engine";
import { Marks } from "./marks";
import { ServerEngine } from "./server_engine";

type Files = Pick<Shared, "meta" | "config" | "source" | "cache" | "tiles" | "tree" | "store">;

function openEngine(files: Files): Engine {
  if (files.config.transport === "server") return new ServerEngine(files.config.store);
  return new LocalEngine(files, () => new Search(files.meta, files.cache, files.config));
}

export function openSets(files: Files, arrived: () => void, failed: (error: unknown) => void): Pick<Shared, "engine" | "marks" | "shares"> {
  const engine = openEngine(files);
  const marks = new Marks(engine, arrived, failed);
  return { engine, marks, shares: new Shares(marks, files) };
}
