// Names that readers give: kept by the server, or on a static page by the browser, with a file to download.
import type { App } from "./app";
import { download } from "./csv";
import { checkAnswer, versioned } from "./source";
import type { Node } from "./tree";

interface Kept {
  level: number;
  index: number;
  cluster: number;
  name: string;
}

export class Renaming {
  private readonly key: string;

  constructor(private readonly app: App) {
    const { config, meta } = app.shared;
    this.key = `nestmap-names ${config.store || meta.title}`;
    app.rename = (node, name) => this.rename(node, name);
    if (config.transport === "static") this.recall();
  }

  get count(): number {
    return this.app.shared.tree.edited.size;
  }

  async rename(node: Node, name: string): Promise<void> {
    const { tree, config } = this.app.shared;
    try {
      if (config.transport === "server") {
        name = await this.post(node, name);
        tree.setName(node, name);
        this.app.told.notice(`Saved as “${name}”.`);
      } else {
        tree.setName(node, name.slice(0, 200));
        localStorage.setItem(this.key, JSON.stringify(this.kept()));
        this.app.told.notice("Kept in this browser. Download names.json to keep it with the run.");
      }
    } catch (error) {
      this.app.told.failed(error, "The name was not saved.");
    }
    this.app.redraw();
    this.app.told.renamed();
  }

  private async post(node: Node, name: string): Promise<string> {
    const answer = await fetch(versioned("api/names", this.app.shared.config.store), {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ level: node.level, index: node.index, name }),
    });
    checkAnswer(answer, "The name");
    return String(((await answer.json()) as { name?: unknown }).name ?? name);
  }

  /** The file that a run reads its names from. */
  download(): void {
    const names: Record<string, Record<string, string>> = {};
    for (const { level, cluster, name } of this.kept()) (names[level] ??= {})[cluster] = name;
    download("names.json", [JSON.stringify(names, null, 1)], "application/json");
  }

  private kept(): Kept[] {
    return [...this.app.shared.tree.edited.values()].map(({ node, name }) => ({ level: node.level, index: node.index, cluster: node.cluster, name }));
  }

  private recall(): void {
    try {
      const kept = JSON.parse(localStorage.getItem(this.key) ?? "[]") as Kept[];
      for (const { level, index, cluster, name } of kept)
        this.app.shared.tree.setName({ level, index, cluster, size: 0, firstRow: 0, children: [0, 0], parent: 0 }, String(name));
    } catch {
      // what another page left there is no reason to stop
    }
  }
}
