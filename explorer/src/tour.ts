// An author's tour: views with a title and a text each. The server keeps it, or on a static page this browser.
import type { Size, View } from "./camera";
import { download } from "./csv";
import type { Shared } from "./shared";
import { checkAnswer, versioned } from "./source";
import { parseJson } from "./parse";

export interface Stop {
  title: string;
  text: string;
  view: string; // the part of an address from # on
  width: number; // of the author's map, in pixels
  height: number;
}

const FILE = "tour.json";
const CHANGED = 412; // of the server: another page has changed the tour meanwhile
export const MOST_STOPS = 100;
export const LONGEST_TEXT = 2000; // letters

export class Tour {
  stops: readonly Stop[] = [];
  private mark = "";

  constructor(private readonly shared: Shared) {}

  /** A page whose data comes from elsewhere may have none. */
  async load(): Promise<void> {
    const raw = await this.shared.source.get(FILE).then(parseJson, () => null);
    this.read(raw);
    if (this.shared.config.transport === "static") this.recall();
  }

  /** Keeps the stops; what was there stays if that fails. */
  async save(stops: readonly Stop[]): Promise<void> {
    if (this.shared.config.transport === "static") {
      this.stops = stops;
      localStorage.setItem(this.key, JSON.stringify(stops));
      return;
    }
    const answer = await fetch(versioned("api/tour", this.shared.config.store), {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ stops, mark: this.mark }),
    });
    if (answer.status === CHANGED) throw new Error("It was changed in another page meanwhile: reload this page.");
    checkAnswer(answer, "The tour");
    this.read(await answer.json());
  }

  /** The file that a run reads its tour from. */
  download(): void {
    download(FILE, [JSON.stringify({ stops: this.stops }, null, 1)], "application/json");
  }

  private read(raw: unknown): void {
    const data = (raw ?? {}) as { stops?: unknown; mark?: unknown };
    this.stops = readStops(data.stops);
    this.mark = typeof data.mark === "string" ? data.mark : "";
  }

  /** What was changed here belongs to this tour of the author's only. */
  private get key(): string {
    return `nestmap-tour ${this.shared.config.store} ${this.mark}`;
  }

  private recall(): void {
    try {
      const kept = localStorage.getItem(this.key);
      if (kept) this.stops = readStops(JSON.parse(kept));
    } catch {
      // what another page left there is no reason to stop
    }
  }
}

export function readStops(raw: unknown): Stop[] {
  if (!Array.isArray(raw)) return [];
  const side = (value: unknown, otherwise: number) => (typeof value === "number" && value >= 1 ? value : otherwise);
  return raw.slice(0, MOST_STOPS).flatMap((each) => {
    const { title, text, view, width, height } = (each ?? {}) as Record<string, unknown>;
    if (typeof title !== "string" || typeof view !== "string" || !view.startsWith("#")) return [];
    return [{ title, text: typeof text === "string" ? text : "", view, width: side(width, 1200), height: side(height, 800) }];
  });
}

/** The view of an author on a map of another size: at least what the author saw. */
export function fitted(view: View, author: Size, own: Size): View {
  return { ...view, scale: view.scale * Math.min(own.width / author.width, own.height / author.height) };
}

export function moved<T>(list: readonly T[], from: number, by: number): T[] {
  const to = Math.min(Math.max(from + by, 0), list.length - 1);
  const rest = list.filter((_, i) => i !== from);
  return [...rest.slice(0, to), list[from]!, ...rest.slice(to)];
}
