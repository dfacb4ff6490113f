// A component of Streamlit: the static page in a frame. What is chosen is the component's value; each new one runs the
// script again, so that a view that moves is not told.
import type { Around, Choice, FromPage } from "./protocol";

interface Rendered {
  type?: unknown;
  args?: { choice?: Partial<Choice> | null; height?: number };
}

export class Streamlit implements Around {
  onChoice: (choice: Partial<Choice>) => void = () => {};
  private value: Partial<Choice> = {};
  private asked = "null"; // what the script wants: only a change of it counts
  private waiting: Partial<Choice> | null = null;
  private ready = false;

  constructor(private readonly around: Window) {
    window.addEventListener("message", (event: MessageEvent<Rendered | null>) => {
      if (event.source !== around || event.data?.type !== "streamlit:render") return;
      const { choice, height } = event.data.args ?? {};
      this.send("setFrameHeight", { height: height ?? 640 });
      const asked = JSON.stringify(choice ?? null);
      if (asked === this.asked) return;
      this.asked = asked;
      if (!choice) return;
      if (this.ready) this.take(choice);
      else this.waiting = choice;
    });
    this.send("componentReady", { apiVersion: 1 });
  }

  tell(told: FromPage): void {
    if (told.kind === "ready") {
      this.ready = true;
      if (this.waiting) this.take(this.waiting);
      return;
    }
    if (told.kind !== "choice") return;
    const { view: _moved, ...choice } = told.choice;
    if (!Object.keys(choice).length) return;
    this.give(choice);
  }

  /** What the script chooses is the value, too: it sees in the next run what is shown. */
  private take(choice: Partial<Choice>): void {
    this.onChoice(choice);
    this.give(choice);
  }

  private give(choice: Partial<Choice>): void {
    this.value = { ...this.value, ...choice };
    this.send("setComponentValue", { value: this.value, dataType: "json" });
  }

  private send(type: string, told: object): void {
    this.around.postMessage({ isStreamlitMessage: true, type: `streamlit:${type}`, ...told }, "*"); // nothing of it is secret: it is what the script asks for
  }
}
