// In a notebook's frame there is no server: what the page fetches is asked of the widget around it, and of its kernel.
import { isOurs, type Answered, type Around, type Choice, type FromPage, type ToPage } from "./protocol";

const BASE = "http://page/"; // addresses are relative; the frame itself has none

export class Frame implements Around {
  onChoice: (choice: Partial<Choice>) => void = () => {};
  private readonly waiting = new Map<string, (answer: Response) => void>();
  private asked = 0;

  constructor(private readonly around: Window) {
    window.addEventListener("message", (event: MessageEvent<unknown>) => {
      if (event.source !== around || !isOurs(event.data)) return;
      const told = event.data as ToPage;
      if (told.kind === "choice") this.onChoice(told.choice);
      else this.take(told.answered, told.body);
    });
    window.fetch = (input, init) => this.fetch(input, init);
  }

  tell(told: FromPage): void {
    this.around.postMessage(told, "*"); // it may have any origin, and is who gave us everything
  }

  private async fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const request = new Request(input instanceof Request ? input : new URL(input, BASE), init);
    const body = await request.text();
    const id = String(this.asked++);
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      const path = request.url.slice(BASE.length);
      this.tell({ nestmap: 1, kind: "ask", asked: { id, method: request.method, path, type: request.headers.get("Content-Type") ?? "", body } });
    });
  }

  private take(answered: Answered, body: ArrayBuffer): void {
    const resolve = this.waiting.get(answered.id);
    this.waiting.delete(answered.id);
    const { "content-encoding": packed, ...headers } = answered.headers;
    const plain = packed === "gzip" ? new Blob([body]).stream().pipeThrough(new DecompressionStream("gzip")) : body;
    resolve?.(new Response(plain, { status: answered.status, headers }));
  }
}
