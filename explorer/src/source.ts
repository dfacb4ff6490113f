// Where files of the store come from: the local server, or scripts beside the page (also from file://).
import { RebuiltError, StoreError } from "./meta";

export interface Config {
  transport: "server" | "static";
  around: "notebook" | "streamlit" | null; // what the page is a frame of; a notebook answers in place of the server
  store: string; // changes when the store is written again
  budget: number; // rows drawn at once
}

export interface Source {
  readonly transferred: number;
  get(name: string): Promise<ArrayBuffer>;
}

export function readConfig(raw: unknown, narrow: boolean): Config {
  if (!raw || typeof raw !== "object")
    throw new StoreError("The page has no configuration: open it with `nestmap explore` or `nestmap export`.");
  const data = raw as { transport?: unknown; around?: unknown; store?: unknown; budget?: unknown };
  return {
    transport: data.transport === "static" ? "static" : "server",
    around: data.around === "notebook" || data.around === "streamlit" ? data.around : null,
    store: typeof data.store === "string" ? data.store : "",
    budget: typeof data.budget === "number" && data.budget > 0 ? data.budget : narrow ? 120000 : 300000,
  };
}

const REBUILT = 409; // of the server, to a version that it does not have

/** An address of the server, for this version of the store only. */
export function versioned(address: string, store: string): string {
  return store ? `${address}${address.includes("?") ? "&" : "?"}v=${encodeURIComponent(store)}` : address;
}

export function checkAnswer(answer: Response, what: string): void {
  if (answer.status === REBUILT) throw new RebuiltError();
  if (!answer.ok) throw new StoreError(`${what}: the server says ${answer.status} ${answer.statusText}.`);
}

export class ServerSource implements Source {
  transferred = 0;
  private stale = false; // nothing fits any more
  constructor(private readonly store: string) {}

  async get(name: string): Promise<ArrayBuffer> {
    if (this.stale) throw new RebuiltError();
    let answer: Response;
    try {
      answer = await fetch(versioned(`data/${name}`, this.store));
    } catch {
      throw new StoreError(`The server does not answer (asked for ${name}). Is \`nestmap explore\` still running?`);
    }
    this.stale = answer.status === REBUILT;
    checkAnswer(answer, name);
    const bytes = await answer.arrayBuffer();
    this.transferred += Number(answer.headers.get("Content-Length")) || bytes.byteLength;
    return bytes;
  }
}

type Arrived = (name: string, text: string, store: string) => void;

export class StaticSource implements Source {
  transferred = 0;
  private readonly waiting = new Map<string, (text: string, store: string) => void>();

  constructor(private readonly store: string) {
    const arrived: Arrived = (name, text, store) => this.waiting.get(name)?.(text, store);
    (window as unknown as { nestmapData: Arrived }).nestmapData = arrived;
  }

  async get(name: string): Promise<ArrayBuffer> {
    const text = await this.load(name);
    this.transferred += text.length;
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  private load(name: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const done = () => {
        this.waiting.delete(name);
        script.remove();
      };
      this.waiting.set(name, (text, store) => {
        done();
        if (store === this.store) resolve(text);
        else reject(new RebuiltError());
      });
      script.onerror = () => {
        done();
        reject(new StoreError(`data/${name}.js is missing. Was the folder copied as a whole?`));
      };
      script.onload = () => {
        if (!this.waiting.has(name)) return;
        done();
        reject(new StoreError(`data/${name}.js holds something else.`));
      };
      script.src = versioned(`data/${name}.js`, this.store);
      document.head.append(script);
    });
  }
}

export function openSource(config: Config): Source {
  return config.transport === "static" ? new StaticSource(config.store) : new ServerSource(config.store);
}
