import assert from "node:assert/strict";
import { test } from "node:test";
import { EVERY_ROW } from "../src/data/engine";
import { ServerEngine, bitsOf, pairsOf } from "../src/data/server_engine";
import { RebuiltError } from "../src/meta";

interface Asked {
  address: string;
  body: string;
  answer: (response: Response) => void;
}

/** Stands in for fetch; each question waits until the test answers it. */
function listen(): Asked[] {
  const asked: Asked[] = [];
  globalThis.fetch = ((address: string, init: { body: string }) =>
    new Promise<Response>((answer) => asked.push({ address, body: init.body, answer }))) as unknown as typeof fetch;
  return asked;
}

const numbers = (...given: number[]): Response => new Response(new Uint32Array(given));
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("answers come as they were packed", async () => {
  assert.deepEqual([...bitsOf(Uint8Array.of(0b101, 0b1), 9)], [1, 0, 1, 0, 0, 0, 0, 0, 1]);
  assert.deepEqual(pairsOf(Uint32Array.of(1, 4, 9, 10)), [[1, 4], [9, 10]]);
  const asked = listen();
  const engine = new ServerEngine("abc");
  const page = engine.page(EVERY_ROW, { column: "c1", descending: true }, 5, 2);
  await settle();
  assert.equal(asked[0]!.address, "api/rows/page?v=abc");
  assert.deepEqual(JSON.parse(asked[0]!.body), { set: { kind: "all", of: [] }, order: { column: "c1", descending: true }, offset: 5, limit: 2 });
  asked[0]!.answer(numbers(70, 8, 3));
  assert.deepEqual(await page, { total: 70, rows: Uint32Array.of(8, 3) });
  const none = engine.ranges(EVERY_ROW, 3);
  await settle();
  asked[1]!.answer(numbers(0));
  assert.equal(await none, null);
});

test("the same question is asked once while it is under way, others wait for their turn", async () => {
  const asked = listen();
  const engine = new ServerEngine("");
  const twice = [engine.marks(EVERY_ROW, 0, 0, 2), engine.marks(EVERY_ROW, 0, 0, 2)];
  const others = [3, 4, 5].map((end) => engine.marks(EVERY_ROW, 0, 0, end));
  await settle();
  assert.equal(asked.length, 3);
  for (let i = 0; i < 4; i++) {
    asked[i]!.answer(numbers(1, 2));
    await settle();
  }
  assert.deepEqual((await Promise.all([...twice, ...others])).map((each) => [...each]), Array.from({ length: 5 }, () => [1, 2]));
  assert.equal(asked.length, 4);
});

test("what is wrong is told in the server's words", async () => {
  const asked = listen();
  const engine = new ServerEngine("");
  const wrong = assert.rejects(engine.charts(EVERY_ROW, ["x"]), /no column x/);
  const old = assert.rejects(engine.summary(EVERY_ROW, null), RebuiltError);
  await settle();
  asked[0]!.answer(new Response("there is no column x", { status: 400 }));
  asked[1]!.answer(new Response("", { status: 409 }));
  await Promise.all([wrong, old]);
});
