// A choice among any number of things, found by typing: a combobox with a list (ARIA 1.2). Only the first matches exist as
// elements, so that thousands of columns cost nothing.
import { cut, el } from "./dom";

const MOST = 60; // lines at once
const ROOM = 320; // pixels of the list, if the window has them

export interface Choice {
  value: string;
  text: string;
  group: string; // "" for none
}

let made = 0;

export class Combobox {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly list = el("div", { class: "choices" });
  private readonly id = `choices${made++}`;
  private value = "";
  private found: Choice[] = [];
  private at = -1;

  constructor(label: string, private readonly choices: readonly Choice[], private readonly pick: (value: string) => void) {
    this.input = el("input", { type: "text", label });
    this.input.autocomplete = "off";
    this.input.spellcheck = false;
    const about = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.id };
    for (const [name, text] of Object.entries(about)) this.input.setAttribute(name, text);
    this.list.id = this.id;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", label);
    this.list.hidden = true;
    this.element = el("div", { class: "combobox" }, this.input);
    document.body.append(this.list); // over everything, whatever the card that it belongs to cuts off
    this.listen();
  }

  /** The choice in effect. */
  show(value: string): void {
    this.value = value;
    if (!this.open) this.input.value = this.choices.find((choice) => choice.value === value)?.text ?? "";
  }

  private get open(): boolean {
    return !this.list.hidden;
  }

  private listen(): void {
    const { input, list } = this;
    input.addEventListener("click", () => this.unfold(""));
    input.addEventListener("focus", () => input.select());
    input.addEventListener("input", () => this.unfold(input.value));
    input.addEventListener("blur", () => this.fold());
    input.addEventListener("keydown", (event) => this.key(event));
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the input
    list.addEventListener("click", (event) => {
      const line = (event.target as HTMLElement).closest<HTMLElement>("[role=option]");
      if (line) this.choose(Number(line.dataset.at));
    });
    window.addEventListener("resize", () => this.fold());
  }

  private key(event: KeyboardEvent): void {
    const { open, found } = this;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const by = event.key === "ArrowDown" ? 1 : -1;
      if (!open) this.unfold("");
      else this.mark((Math.max(this.at, by < 0 ? 0 : -1) + by + found.length) % Math.max(found.length, 1));
    } else if (event.key === "Enter" && open) this.choose(Math.max(this.at, 0));
    else if (event.key === "Escape" && open) this.fold();
    else if (event.key === "Tab") return this.fold();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private unfold(query: string): void {
    const wanted = query.trim().toLowerCase();
    const matches = this.choices.filter(({ text }) => text.toLowerCase().includes(wanted));
    // those that begin like it come first; without letters the order stays
    if (wanted) matches.sort((a, b) => Number(b.text.toLowerCase().startsWith(wanted)) - Number(a.text.toLowerCase().startsWith(wanted)));
    this.found = matches.slice(0, MOST);
    const lines: HTMLElement[] = [];
    this.found.forEach((choice, i) => {
      if (choice.group && choice.group !== this.found[i - 1]?.group) lines.push(heading(choice.group));
      lines.push(this.line(choice, i));
    });
    const more = matches.length - this.found.length;
    if (more > 0) lines.push(heading(`${more.toLocaleString("en")} more: type to find them`));
    if (!matches.length) lines.push(heading("Nothing is called so"));
    this.list.replaceChildren(...lines);
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.place();
    this.mark(wanted ? 0 : this.found.findIndex(({ value }) => value === this.value));
  }

  private line({ value, text }: Choice, i: number): HTMLElement {
    const line = el("div", { class: "choice", title: text.length > 36 ? cut(text, 200) : "" }, cut(text, 80) || "(empty)");
    line.id = `${this.id}-${i}`;
    line.dataset.at = String(i);
    line.dataset.value = value;
    line.setAttribute("role", "option");
    line.setAttribute("aria-selected", String(value === this.value));
    return line;
  }

  private mark(at: number): void {
    this.at = this.found.length ? at : -1;
    for (const line of this.list.querySelectorAll(".choice")) line.classList.remove("marked");
    const line = this.at < 0 ? null : document.getElementById(`${this.id}-${this.at}`);
    line?.classList.add("marked");
    line?.scrollIntoView({ block: "nearest" });
    if (line) this.input.setAttribute("aria-activedescendant", line.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  /** Below the input, or above it where there is more room. */
  private place(): void {
    const box = this.input.getBoundingClientRect();
    const below = window.innerHeight - box.bottom - 12;
    const above = box.top - 12;
    const up = below < ROOM && above > below;
    const width = Math.max(box.width, Math.min(240, window.innerWidth - 16));
    const { style } = this.list;
    style.maxHeight = `${Math.min(up ? above : below, ROOM)}px`;
    style.width = `${width}px`;
    style.left = `${Math.max(Math.min(box.left, window.innerWidth - width - 8), 8)}px`;
    style.top = up ? "auto" : `${box.bottom + 4}px`;
    style.bottom = up ? `${window.innerHeight - box.top + 4}px` : "auto";
  }

  private choose(at: number): void {
    const choice = this.found[at];
    if (!choice) return;
    this.value = choice.value;
    this.fold();
    this.pick(choice.value);
  }

  private fold(): void {
    if (!this.open) return;
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.show(this.value);
  }
}

function heading(text: string): HTMLElement {
  const line = el("div", { class: "choice-group" }, cut(text, 80));
  line.setAttribute("role", "presentation");
  return line;
}
