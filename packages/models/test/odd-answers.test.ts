import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ModelError } from "@patchbay/engine/ports/model-provider";
import { createModelCatalog } from "../src/catalog.ts";
import { createProviderFetch } from "../src/provider-fetch.ts";
import { wireProvider } from "../src/turn-stream.ts";
import { asking, turnOf } from "./drive.ts";

/** What a turn over Chat Completions becomes when the server answers with this. */
async function answered(body: string, { type = "text/event-stream", status = 200 } = {}) {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": type }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const chosen = createModelCatalog({ openai: { api: "chat", baseUrl } }).choose();
  if ("missing" in chosen) throw new Error("not configured");
  return turnOf(chosen.provider, asking("qwen3")).catch((error: unknown) => error as ModelError);
}

const events = (...data: object[]): string => data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
const hello = { choices: [{ index: 0, delta: { role: "assistant", content: "Hello" } }] };

test("a whole completion in place of a stream is the answer", async () => {
  const message = {
    role: "assistant",
    content: "One moment.",
    tool_calls: [{ id: "c1", type: "function", function: { name: "ping", arguments: "{}" } }],
  };
  const completion = {
    object: "chat.completion",
    model: "qwen3-8b",
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 7, completion_tokens: 3 },
  };

  expect(await answered(JSON.stringify(completion, undefined, 2), { type: "application/json" })).toMatchObject({
    text: "One moment.",
    calls: [{ id: "c1", name: "ping", arguments: "{}" }],
    stop: "calls",
    model: "qwen3-8b",
    usage: { input: 7, output: 3 },
  });
});

test.each([
  ["text/html", "<!DOCTYPE html><title>Sign in</title>"],
  ["application/json", '{"ok":true}'],
  ["text/plain", "no route"],
])("an answer of type %s without events is not asked for again, and the log has its beginning", async (type, body) => {
  const failure = (await answered(body + " ".repeat(200), { type })) as ModelError;

  expect(failure).toMatchObject({ kind: "unreadable", retryable: false });
  expect(failure.message).toBe(
    `openai answered with ${type} instead of events: ${JSON.stringify((body + " ".repeat(200)).slice(0, 100))}`,
  );
});

test("a stream that was cut in its first event may succeed later", async () => {
  expect(await answered('data: {"choices"')).toMatchObject({ kind: "truncated", retryable: true });
  expect(await answered("")).toMatchObject({ kind: "truncated", retryable: true });
});

test("the log says how a stream ended without an end of its turn", async () => {
  const failure = await answered(`${events(hello)}data: [DONE]\n\n`, { type: "text/event-stream; charset=utf-8" });

  expect((failure as ModelError).message).toBe(
    "openai ended its turn with only [DONE] (text/event-stream; charset=utf-8)",
  );
});

test("an event with the members of vLLM's errors fails the attempt with its words", async () => {
  const error = { object: "error", message: "CUDA out of memory", type: "InternalServerError", code: 500 };

  for (const failure of [
    await answered(events(hello, error)),
    await answered(JSON.stringify(error), { type: "application/json" }),
  ])
    expect(failure).toMatchObject({ kind: "server", message: expect.stringContaining("CUDA out of memory") });
});

/** A turn whose body is these pieces, and how many of them are read. */
async function readPieces(pieces: readonly Buffer[]) {
  let taken = 0;
  async function* body() {
    for (const piece of pieces) {
      taken++;
      yield piece;
    }
  }
  const accumulator = { take: () => [], end: () => undefined, held: () => [], soFar: () => undefined };
  const response = { body: body() as never, headers: new Headers({ "content-type": "text/plain" }) };
  const provider = wireProvider("odd", () => ({ accumulator, open: () => Promise.resolve(response) }));
  const failure = (await turnOf(provider, asking("m")).catch((error: unknown) => error)) as ModelError;
  return { failure, taken };
}

/** A chunk that counts as this many bytes. */
const chunk = (text: string, length: number): Buffer =>
  Object.defineProperty(Buffer.from(text), "length", { value: length });

test("an answer without events is read up to the length of the longest event", async () => {
  const { failure, taken } = await readPieces(Array.from({ length: 100 }, () => chunk("no event\n", 1_048_576)));

  expect(failure).toMatchObject({
    kind: "unreadable",
    message: expect.stringContaining('text/plain instead of events: "no event'),
  });
  expect(taken).toBe(17);
});

test("a turn is read up to 512 MiB", async () => {
  const { failure, taken } = await readPieces([
    Buffer.from("data: {}\n\n"),
    ...Array.from({ length: 600 }, () => chunk("data: {}\n\n", 1_048_576)),
  ]);

  expect(failure).toMatchObject({ kind: "server", message: "odd sent more than 536870912 bytes in one turn" });
  expect(taken).toBe(513);
});

test("an endless refusal is read up to 65,536 characters", async () => {
  const endless = createServer((request, response) => {
    request.resume();
    response.writeHead(400, { "content-type": "text/plain" });
    const more = (): void => {
      while (response.write("no ".repeat(10_000)));
    };
    response.on("drain", more);
    more();
  });
  await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void endless.close());

  const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}/`;
  const response = await createProviderFetch()(url, { method: "POST", headers: new Headers(), body: "{}" });

  expect(response.status).toBe(400);
  expect(await response.text()).toMatch(/^(no ){20000,60000}/);
});

test.each([
  ["application/json", '{"error":"model is loading"}', "model is loading"],
  ["application/json", '{"object":"error","message":"out of slots","code":503}', "out of slots"],
  ["application/json", '{"detail":[{"loc":["body","stop"]}]}', '{"detail":[{"loc":["body","stop"]}]}'],
  ["text/plain", "upstream gone", "upstream gone"],
])("a refusal of type %s keeps the server's words: %s", async (type, body, words) => {
  expect((await answered(body, { type, status: 503 })) as ModelError).toMatchObject({
    kind: "overloaded",
    message: `openai answered 503: ${words}`,
  });
});

test("a fault in code that reads an answer is reported as such, with its place", async () => {
  const accumulator = {
    take: () => (undefined as unknown as string).length as never,
    end: () => undefined,
    held: () => [],
    soFar: () => undefined,
  };
  const body = new Blob([events(hello)]).stream();
  const provider = wireProvider("odd", () => ({ accumulator, open: async () => ({ body, headers: new Headers() }) }));

  const failure = (await turnOf(provider, asking("m")).catch((error: unknown) => error)) as ModelError;

  expect(failure).toMatchObject({ kind: "internal", retryable: false });
  expect(failure.message).toMatch(/TypeError: Cannot read properties of undefined.*odd-answers\.test\.ts/);
});

test("a key that no header can contain fails its run, and is not in the error", async () => {
  for (const name of ["openai", "anthropic", "gemini"] as const) {
    const account = { apiKey: "sk-s\u00e9cret\u2026", api: "chat" as const };
    const chosen = createModelCatalog({ [name]: account }).choose();
    if ("missing" in chosen) throw new Error("not configured");

    const failure = await turnOf(chosen.provider, asking("m")).catch((error: unknown) => error);

    expect(failure).toMatchObject({ kind: "authentication", message: expect.stringContaining("no HTTP header takes") });
    expect(String(failure)).not.toContain("cret");
  }
});
