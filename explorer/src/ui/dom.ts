// Elements made in code. Data only ever arrives as text: nothing here parses markup.

import type { NumberColumn } from "../meta";

type Child = Node | string | null;

export interface Options {
  class?: string;
  title?: string;
  type?: string;
  label?: string; // aria-label
  onclick?: (event: MouseEvent) => void;
}

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, options: Options = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (options.class) element.className = options.class;
  if (options.title) element.title = options.title;
  if (options.label) element.setAttribute("aria-label", options.label);
  if (tag === "button") element.setAttribute("type", options.type ?? "button");
  else if (options.type) element.setAttribute("type", options.type);
  const { onclick } = options;
  if (onclick) element.addEventListener("click", (event) => onclick(event as MouseEvent));
  element.append(...children.filter((c): c is Node | string => c !== null));
  return element;
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no element ${id}.`);
  return element as T;
}

export function swatch(color: string): HTMLElement {
  const element = el("i", { class: "swatch" });
  element.setAttribute("aria-hidden", "true");
  element.style.backgroundColor = color;
  return element;
}

const LONG = 300;

export const cut = (text: string, most = LONG): string => (text.length > most ? `${text.slice(0, most)}…` : text);

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

export const count = (n: number, thing: string): string => `${whole.format(n)} ${thing}${n === 1 ? "" : "s"}`;
/** " in 3 places", ", scattered", or nothing for a cluster that lies in one. */
export const inPlaces = (places: number | null | undefined): string =>
  places === 0 ? ", scattered" : (places ?? 1) > 1 ? ` in ${places} places` : "";
export const number = (n: number): string => (Number.isInteger(n) && Math.abs(n) < 1e15 ? whole.format(n) : short.format(n));
export const percent = (share: number): string => (share > 0 && share < 0.001 ? "< 0.1%" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`);

export function day(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString().replace(/T00:00:00\.000Z$/, "").replace(/\.\d+Z$/, "Z").replace("T", " ");
}

const FOCUSABLE = "button, input, select";
const told = (part: Element): string => `${part.tagName} ${part.getAttribute("aria-label") ?? part.closest("label, button")?.textContent}`;

/** New content; the keyboard stays on the control of the same name. */
export function refill(part: HTMLElement, ...children: (HTMLElement | null)[]): void {
  const focused = document.activeElement;
  const name = focused && part.contains(focused) ? told(focused) : null;
  part.replaceChildren(...children.filter((child) => child !== null));
  if (name === null) return;
  const same = [...part.querySelectorAll<HTMLElement>(FOCUSABLE)].find((each) => told(each) === name);
  same?.focus({ preventScroll: true });
}

const LONG_TIME = 40 * 86400; // seconds: of columns that span more, days are told

/** How values of a column are written: dates as days or minutes, years without a comma. */
export function teller(column: NumberColumn): (value: number) => string {
  const { min, max, low, high, time } = column;
  if (time) return (value) => day(value).slice(0, high - low > LONG_TIME ? 10 : 16);
  const isYear = [min, max, low, high].every(Number.isInteger) && min >= 1000 && max < 3000;
  return isYear ? (value) => (Number.isInteger(value) ? String(value) : value.toFixed(1)) : number;
}
