// Selections that are kept under a name: by the server beside the run where it may write, else for this visit.
import type { App } from "./app";
import { download } from "./csv";
import type { Rows } from "./data/engine";
import { readRows } from "./data/sets";
import { rowNumber } from "./exporting";
import { checkAnswer, versioned } from "./source";

export interface KeptSelection {
  name: string;
  count: number;
}

const ADDRESS = "api/selections";

export class Kept {
  list: readonly KeptSelection[] = [];
  saved = false; // beside the run; else for this visit
  parquet = false; // the server can write it
  onChange: () => void = () => {};
  private readonly sets = new Map<string, Rows>(); // of this visit

  constructor(private readonly app: App) {}

  /** Asks the server which there are; without one there are none yet. */
  async start(): Promise<void> {
    const { config } = this.app.shared;
    if (config.transport !== "server") return;
    try {
      this.take(await this.ask(ADDRESS));
    } catch (error) {
      this.app.told.failed(error);
    }
  }

  /** Keeps what is selected; a selection of the same name is replaced. */
  async keep(name: string): Promise<void> {
    const { selection, chosen } = this.app.shared.store.now;
    if (!selection || !chosen) return;
    await this.change(name, selection, chosen.count);
  }

  async remove(name: string): Promise<void> {
    await this.change(name, null, 0);
  }

  /** The rows of one, as a set. */
  async set(name: string): Promise<Rows> {
    const own = this.sets.get(name);
    if (own) return own;
    const answer = (await this.ask(`${ADDRESS}?name=${encodeURIComponent(name)}`)) as { set?: unknown };
    const set = readRows(answer.set, this.app.shared.meta);
    if (!set) throw new Error(`The rows of “${name}” cannot be read.`);
    return set;
  }

  /** All of this visit, by row numbers. */
  async download(): Promise<void> {
    const found: Record<string, number[]> = {};
    for (const { name } of this.list) found[name] = await this.rowNumbers(await this.set(name));
    download("nestmap-selections.json", [JSON.stringify(found)], "application/json");
  }

  private async rowNumbers(set: Rows): Promise<number[]> {
    const { count, ranges } = await this.app.selecting.rowsOf(set);
    if (!ranges) throw new Error(`${count} rows in so many places are too many to be listed by a page without a server.`);
    const numbers: number[] = [];
    for (const [begin, end] of ranges) for (let i = begin; i < end; i++) numbers.push(await rowNumber(this.app, i));
    return numbers.sort((a, b) => a - b);
  }

  private async change(name: string, set: Rows | null, count: number): Promise<void> {
    try {
      if (this.saved) this.take(await this.ask(ADDRESS, { name, set }));
      else this.changeHere(name, set, count);
    } catch (error) {
      this.app.told.failed(error, "The selection was not kept.");
    }
  }

  private changeHere(name: string, set: Rows | null, count: number): void {
    const others = this.list.filter((each) => each.name !== name);
    this.list = set ? [...others, { name, count }] : others;
    if (set) this.sets.set(name, set);
    else this.sets.delete(name);
    this.onChange();
  }

  private take(answer: unknown): void {
    const { selections, can_save, can_parquet } = answer as { selections?: unknown; can_save?: unknown; can_parquet?: unknown };
    const found = (Array.isArray(selections) ? selections : []) as Partial<KeptSelection>[];
    this.list = found.map(({ name, count }) => ({ name: String(name), count: Number(count) }));
    this.saved = can_save === true;
    this.parquet = can_parquet === true;
    this.onChange();
  }

  private async ask(address: string, body?: unknown): Promise<unknown> {
    const init = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch(versioned(address, this.app.shared.config.store), init);
    if (answer.status === 400 || answer.status === 500) throw new Error(await answer.text()); // it says why
    checkAnswer(answer, "Selections");
    return answer.json();
  }
}
