// The widget of a notebook (anywidget): a frame with the page, which asks the kernel through this module. Under the frame
// lies a picture: that is what is left where no kernel answers.
import { isOurs, type Answered, type Choice, type FromPage, type ToPage } from "./protocol";

interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(name: string, listener: (...told: never[]) => void): void;
  off(name: string, listener: (...told: never[]) => void): void;
}

type Cleanup = () => void;

const TRAITS = { view: "_view", filters: "_filters", selected: "_selected" } as const;
const KEYS = Object.keys(TRAITS) as (keyof Choice)[];
const PATIENCE = 4000; // milliseconds for the page to come from the kernel
const UNREACHED = "A picture of the map: no kernel answers here. Run the cell again for the explorer.";

function make<K extends keyof HTMLElementTagNameMap>(tag: K, style: string, parent: HTMLElement): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.style.cssText = style;
  parent.append(made);
  return made;
}

/** A buffer of a message, whatever the notebook wraps it in. */
function asBuffer(given: ArrayBuffer | ArrayBufferView | undefined): ArrayBuffer {
  if (!given) return new ArrayBuffer(0);
  if (given instanceof ArrayBuffer) return given;
  return new Uint8Array(given.buffer as ArrayBuffer, given.byteOffset, given.byteLength).slice().buffer;
}

class View {
  private readonly own = Math.random().toString(36).slice(2); // other views of the same widget hear our answers
  private readonly frame: HTMLIFrameElement;
  private readonly note: HTMLElement;
  private readonly timer: number;
  private readonly told: Partial<Record<keyof Choice, string>> = {}; // by the page, last

  constructor(private readonly model: Model, element: HTMLElement) {
    const height = Number(model.get("_height")) || 640;
    const box = make("div", `position:relative;height:${height}px;width:100%;overflow:hidden;text-align:center`, element);
    const picture = String(model.get("_picture") ?? "");
    if (picture.startsWith("data:image/")) {
      const image = make("img", "max-height:100%;max-width:100%", box);
      image.alt = "map";
      image.src = picture;
    }
    this.note = make("div", "position:absolute;left:0;right:0;bottom:0;font-size:12px", box);
    this.frame = make("iframe", "position:absolute;inset:0;width:100%;height:100%;border:0;visibility:hidden", box);
    this.frame.title = "map";
    this.frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    this.timer = window.setTimeout(() => (this.note.textContent = UNREACHED), PATIENCE);
  }

  start(): Cleanup {
    this.showStills(false);
    window.addEventListener("message", this.fromPage);
    this.model.on("msg:custom", this.fromKernel);
    const heard = KEYS.map((key) => [`change:${TRAITS[key]}`, () => this.hear(key)] as const);
    for (const [name, listener] of heard) this.model.on(name, listener);
    this.model.send({ kind: "page", id: this.own });
    return () => {
      window.clearTimeout(this.timer);
      window.removeEventListener("message", this.fromPage);
      this.model.off("msg:custom", this.fromKernel);
      for (const [name, listener] of heard) this.model.off(name, listener);
      this.frame.remove();
      this.showStills(true);
    };
  }

  /** Pictures of the same map beside the widget: for notebooks that are opened without its kernel. */
  private showStills(shown: boolean): void {
    const name = String(this.model.get("_still") ?? "");
    if (!/^nestmap-[0-9a-f]+$/.test(name)) return;
    for (const still of document.querySelectorAll<HTMLElement>(`.${name}`)) still.style.display = shown ? "" : "none";
  }

  private readonly fromKernel = (told: { kind?: string; answered?: Answered; id?: string }, buffers: readonly (ArrayBuffer | DataView)[]): void => {
    if (told.kind === "page" && told.id === this.own) {
      window.clearTimeout(this.timer);
      this.note.textContent = "";
      this.frame.srcdoc = new TextDecoder().decode(asBuffer(buffers[0]));
      this.frame.style.visibility = "visible";
    } else if (told.kind === "answer" && told.answered) {
      const [own, id] = told.answered.id.split(".");
      if (own !== this.own || id === undefined) return;
      const body = asBuffer(buffers[0]);
      this.tell({ nestmap: 1, kind: "answer", answered: { ...told.answered, id }, body }, [body]);
    }
  };

  private readonly fromPage = (event: MessageEvent<unknown>): void => {
    if (event.source !== this.frame.contentWindow || !isOurs(event.data)) return;
    const told = event.data as FromPage;
    if (told.kind === "ask") this.model.send({ kind: "ask", asked: { ...told.asked, id: `${this.own}.${told.asked.id}` } });
    else if (told.kind === "ready") this.choose(KEYS);
    else this.keep(told.choice);
  };

  /** What the page has chosen, for the kernel and for other views. */
  private keep(choice: Partial<Choice>): void {
    for (const key of KEYS) {
      if (choice[key] === undefined) continue;
      this.told[key] = JSON.stringify(choice[key]);
      this.model.set(TRAITS[key], choice[key]);
    }
    this.model.save_changes();
  }

  /** What the page has said itself comes back as a change: by then it may have gone on. */
  private hear(key: keyof Choice): void {
    const now = JSON.stringify(this.model.get(TRAITS[key]));
    if (now === this.told[key]) return;
    this.told[key] = now;
    this.choose([key]);
  }

  /** Shows what is chosen elsewhere. */
  private choose(keys: readonly (keyof Choice)[]): void {
    const choice = Object.fromEntries(keys.map((key) => [key, this.model.get(TRAITS[key])])) as Partial<Choice>;
    this.tell({ nestmap: 1, kind: "choice", choice });
  }

  private tell(told: ToPage, moved: Transferable[] = []): void {
    this.frame.contentWindow?.postMessage(told, "*", moved); // the frame is sandboxed: it has no origin to name
  }
}

export default {
  render: ({ model, el }: { model: Model; el: HTMLElement }): Cleanup => new View(model, el).start(),
};
