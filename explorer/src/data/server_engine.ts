// Answers by the server, from whole columns that the page never loads. Of each kind of question the server works on a few at
// a time; what was asked twice while an answer is under way is asked once.
import { ROWS, StoreError } from "../meta";
import type { Ranges } from "../ranges";
import { checkAnswer, versioned } from "../source";
import type { Charts, Engine, Order, Page, Rows, Summary } from "./engine";

const AT_ONCE = 3; // questions; a browser has six connections to a server, and tiles need some

export class ServerEngine implements Engine {
  private readonly underWay = new Map<string, Promise<Response>>();
  private readonly waiting: (() => void)[] = [];
  private working = 0;

  constructor(private readonly store: string) {}

  async charts(set: Rows, columns: readonly string[]): Promise<Charts> {
    return (await this.ask("charts", { set, columns })).json() as Promise<Charts>;
  }

  async marks(set: Rows, level: number, begin: number, end: number): Promise<Uint32Array> {
    const bytes = await this.bytes("marks", { set, level, begin, end });
    return level === ROWS ? bitsOf(new Uint8Array(bytes), end - begin) : new Uint32Array(bytes);
  }

  async page(set: Rows, order: Order, offset: number, limit: number): Promise<Page> {
    const { column, descending } = order;
    const numbers = new Uint32Array(await this.bytes("page", { set, order: { column, descending }, offset, limit }));
    return { total: numbers[0]!, rows: numbers.subarray(1) };
  }

  async ranges(set: Rows, most: number): Promise<Ranges | null> {
    const numbers = new Uint32Array(await this.bytes("ranges", { set, most }));
    return numbers[0] ? pairsOf(numbers.subarray(1)) : null;
  }

  async summary(set: Rows, other: Rows | null): Promise<Summary> {
    return (await this.ask("summary", { set, other })).json() as Promise<Summary>;
  }

  private async bytes(what: string, question: object): Promise<ArrayBuffer> {
    return (await this.ask(what, question)).arrayBuffer();
  }

  /** A copy of the answer for each who asks. */
  private async ask(what: string, question: object): Promise<Response> {
    const body = JSON.stringify(question);
    const name = `${what} ${body}`;
    let answer = this.underWay.get(name);
    if (!answer) {
      answer = this.send(what, body).finally(() => this.underWay.delete(name));
      this.underWay.set(name, answer);
    }
    return (await answer).clone();
  }

  private async send(what: string, body: string): Promise<Response> {
    if (this.working >= AT_ONCE) await new Promise<void>((go) => this.waiting.push(go));
    this.working++;
    try {
      return await post(versioned(`api/rows/${what}`, this.store), body);
    } finally {
      this.working--;
      this.waiting.shift()?.();
    }
  }
}

async function post(address: string, body: string): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  } catch {
    throw new StoreError("The server does not answer. Is `nestmap explore` still running?");
  }
  if (answer.status === 400) throw new StoreError(await answer.text());
  checkAnswer(answer, "The rows cannot be told");
  return answer;
}

/** 0 or 1 for each of n bits, the lowest first. */
export function bitsOf(bytes: Uint8Array, n: number): Uint32Array {
  return Uint32Array.from({ length: n }, (_, i) => (bytes[i >> 3]! >> (i & 7)) & 1);
}

export function pairsOf(numbers: Uint32Array): Ranges {
  return Array.from({ length: numbers.length >> 1 }, (_, i): [number, number] => [numbers[2 * i]!, numbers[2 * i + 1]!]);
}
