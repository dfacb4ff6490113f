// Search by text or row number: asked of the server, or read from files of texts beside the static page.
import type { Cache } from "./cache";
import type { Meta } from "./meta";
import { parseJson } from "./parse";
import { checkAnswer, versioned, type Config } from "./source";

export interface Hits {
  total: number;
  rows: number[];
  complete: boolean;
}

const CHUNK = 8192;

export class Search {
  private turn = 0;
  constructor(private readonly meta: Meta, private readonly cache: Cache, private readonly config: Config) {}

  /** Hits of a query; null if a newer query has been asked meanwhile. */
  async find(query: string, most = 500): Promise<Hits | null> {
    const turn = ++this.turn;
    const hits = this.config.transport === "server" ? await this.ask(query, most) : await this.scan(query, most, turn);
    return turn === this.turn ? hits : null;
  }

  private async ask(query: string, most: number): Promise<Hits> {
    const answer = await fetch(versioned(`api/search?q=${encodeURIComponent(query)}&most=${most}`, this.config.store));
    checkAnswer(answer, "The search failed");
    const data = (await answer.json()) as { total: number; more?: boolean; hits: [number, string][] };
    return { total: data.total, rows: data.hits.map(([i]) => i), complete: !data.more };
  }

  private async scan(query: string, most: number, turn: number): Promise<Hits> {
    const wanted = query.trim().toLowerCase();
    const rows: number[] = await this.byNumber(query);
    const byNumber = new Set(rows);
    let total = rows.length;
    if (!this.meta.searchable || !wanted) return { total, rows, complete: true };
    const chunks = Math.ceil(this.meta.nRows / CHUNK);
    for (let c = 0; c < chunks && turn === this.turn; c++) {
      const texts = (await this.cache.load({ name: `search/${c}.json`, parse: parseJson })) as string[];
      texts.forEach((text, i) => {
        if (!text.includes(wanted) || byNumber.has(c * CHUNK + i)) return;
        total++;
        if (rows.length < most) rows.push(c * CHUNK + i);
      });
      if (rows.length >= most && c > 50) return { total, rows, complete: c === chunks - 1 };
    }
    return { total, rows, complete: true };
  }

  /** A number is also the user's own row number. */
  private async byNumber(query: string): Promise<number[]> {
    const match = /^#?(\d{1,10})$/.exec(query.trim());
    const row = match ? Number(match[1]) : Infinity;
    if (row >= this.meta.nRows) return [];
    const name = `places/${Math.floor(row / CHUNK)}.bin`;
    const places = await this.cache.load({ name, parse: (bytes) => new Uint32Array(bytes) });
    const place = places[row % CHUNK];
    return place === undefined ? [] : [place];
  }
}
