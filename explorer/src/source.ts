// Where files of the store come from: the local server, or scripts beside the page (also from file://).
import { StoreError } from "./meta";

export interface Config {
  transport: "server" | "static";
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
  const data = raw as { transport?: unknown; store?: unknown; budget?: unknown };
  return {
    transport: data.transport === "static" ? "static" : "server",
    store: typeof data.store === "string" ? data.store : "",
    budget: typeof data.budget === "number" && data.budget > 0 ? data.budget : narrow ? 120000 : 300000,
  };
}

export class ServerSource implements Source {
  transferred = 0;
  constructor(private readonly store: string) {}

  async get(name: string): Promise<ArrayBuffer> {
    const version = this.store && !name.startsWith("names/") ? `?v=${encodeURIComponent(this.store)}` : "";
    let answer: Response;
    try {
      answer = await fetch(`data/${name}${version}`);
    } catch {
      throw new StoreError(`The server does not answer (asked for ${name}). Is \`nestmap explore\` still running?`);
    }
    if (!answer.ok) throw new StoreError(`${name}: the server says ${answer.status} ${answer.statusText}.`);
    const bytes = await answer.arrayBuffer();
    this.transferred += Number(answer.headers.get("Content-Length")) || bytes.byteLength;
    return bytes;
  }
}

type Arrived = (name: string, text: string) => void;

export class StaticSource implements Source {
  transferred = 0;
  private readonly waiting = new Map<string, (text: string) => void>();

  constructor() {
    const arrived: Arrived = (name, text) => this.waiting.get(name)?.(text);
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
      this.waiting.set(name, (text) => {
        done();
        resolve(text);
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
      script.src = `data/${name}.js`;
      document.head.append(script);
    });
  }
}

export function openSource(config: Config): Source {
  return config.transport === "static" ? new StaticSource() : new ServerSource(config.store);
}
