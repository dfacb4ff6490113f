// What the page in a notebook's frame and the widget around it tell each other, and the widget its kernel.
import type { Rows } from "../data/engine";
import type { Condition } from "../filters";

/** What is chosen in the page, and can be chosen from outside. */
export interface Choice {
  view: string; // as in the page's address, without #
  filters: readonly (readonly [string, Condition])[]; // by the key of the column
  selected: Rows | null;
}

/** A request as the server's handler takes it. */
export interface Asked {
  id: string;
  method: string;
  path: string;
  type: string; // of the body
  body: string;
}

export interface Answered {
  id: string;
  status: number;
  headers: Readonly<Record<string, string>>; // names in lower case
}

export type FromPage =
  | { nestmap: 1; kind: "ask"; asked: Asked }
  | { nestmap: 1; kind: "choice"; choice: Partial<Choice> }
  | { nestmap: 1; kind: "ready" };

export type ToPage =
  | { nestmap: 1; kind: "answer"; answered: Answered; body: ArrayBuffer }
  | { nestmap: 1; kind: "choice"; choice: Partial<Choice> };

/** What the page is a frame of. */
export interface Around {
  onChoice: (choice: Partial<Choice>) => void;
  tell(told: FromPage): void;
}

export function isOurs(data: unknown): boolean {
  return typeof data === "object" && data !== null && (data as { nestmap?: unknown }).nestmap === 1;
}
