// Files of the store in memory: wished for in order, a few under way at once, the least recently used let go.
import type { Source } from "./source";

export interface Wish<T> {
  name: string;
  parse: (bytes: ArrayBuffer) => T;
}

interface Kept {
  value: unknown;
  bytes: number;
}

const AT_ONCE = 6;
const RETRY_AFTER = 8000; // milliseconds

export class Cache {
  onArrival: (name?: string) => void = () => {};
  onFailure: (error: Error) => void = () => {};
  onRelease: (value: unknown) => void = () => {};
  private readonly kept = new Map<string, Kept>(); // least recently used first
  private readonly underWay = new Map<string, Promise<unknown>>();
  private readonly failed = new Map<string, { at: number; error: Error }>();
  private readonly wishes = new Map<string, Wish<unknown>[]>();
  private bytes = 0;

  constructor(private readonly source: Source, private readonly most = 256 << 20) {}

  /** The file if it is here. */
  peek<T>(name: string): T | undefined {
    const kept = this.kept.get(name);
    if (!kept) return undefined;
    this.kept.delete(name);
    this.kept.set(name, kept);
    return kept.value as T;
  }

  /** Replaces what one owner waits for, most urgent first. */
  want(owner: string, wishes: Wish<unknown>[]): void {
    this.wishes.set(owner, wishes);
    this.pump();
  }

  /** The file now, ahead of all wishes. */
  load<T>(wish: Wish<T>): Promise<T> {
    const here = this.peek<T>(wish.name);
    if (here !== undefined) return Promise.resolve(here);
    const error = this.failure(wish.name);
    if (error) return Promise.reject(error);
    return (this.underWay.get(wish.name) as Promise<T> | undefined) ?? this.start(wish);
  }

  get busy(): boolean {
    return this.underWay.size > 0;
  }

  private pump(): void {
    for (const wishes of this.wishes.values())
      for (const wish of wishes) {
        if (this.underWay.size >= AT_ONCE) return;
        if (this.kept.has(wish.name) || this.underWay.has(wish.name)) continue;
        if (this.failure(wish.name)) continue;
        this.start(wish).catch(() => undefined); // told by onFailure
      }
  }

  /** What went wrong with a file, for a while: a missing file is not asked for again and again. */
  private failure(name: string): Error | null {
    const failed = this.failed.get(name);
    return failed && performance.now() - failed.at < RETRY_AFTER ? failed.error : null;
  }

  private start<T>(wish: Wish<T>): Promise<T> {
    const promise = this.source.get(wish.name).then(
      (bytes) => {
        const value = wish.parse(bytes);
        this.kept.set(wish.name, { value, bytes: bytes.byteLength });
        this.bytes += bytes.byteLength;
        this.failed.delete(wish.name);
        this.release();
        return value;
      },
    ).catch((error: unknown) => {
      const known = error instanceof Error ? error : new Error(String(error));
      if (!this.failed.has(wish.name)) this.onFailure(known);
      this.failed.set(wish.name, { at: performance.now(), error: known });
      throw known;
    }).finally(() => {
      this.underWay.delete(wish.name);
      this.onArrival(wish.name);
      this.pump();
    });
    this.underWay.set(wish.name, promise);
    return promise;
  }

  private release(): void {
    if (this.bytes <= this.most) return;
    const wanted = new Set([...this.wishes.values()].flat().map((w) => w.name));
    for (const [name, kept] of this.kept) {
      if (this.bytes <= this.most) break;
      if (wanted.has(name)) continue;
      this.kept.delete(name);
      this.bytes -= kept.bytes;
      this.onRelease(kept.value);
    }
  }
}
