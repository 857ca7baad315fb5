import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGemini } from "../src/gemini.ts";
import { asking, continued, turnOf } from "./drive.ts";

/** A server in place of Gemini that answers each request with the next of these bodies. */
async function serve(...answers: { status?: number; headers?: Record<string, string>; body: string }[]) {
  const asked: { url: string; body: string }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      asked.push({ url: request.url ?? "", body });
      const { status = 200, headers = { "Content-Type": "text/event-stream" }, body: answer } = answers.shift()!;
      response.writeHead(status, headers).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { provider: createGemini({ apiKey: "AIzaKey", baseUrl }), asked };
}

const chunk = (parts: unknown[], finishReason?: string) => ({
  candidates: [{ content: { role: "model", parts }, ...(finishReason && { finishReason }) }],
});
const said = (...parts: unknown[]): string => JSON.stringify(chunk(parts, "STOP"));

test.each([
  ["comments and other fields", (json: string) => `: keep-alive\n\nid: 1\nevent: message\nretry: 5\ndata:${json}\n\n`],
  ["a closing [DONE]", (json: string) => `data: ${json}\n\ndata: [DONE]\n\n`],
  ["CRLF", (json: string) => `data: ${json}\r\n\r\n`],
  ["CR", (json: string) => `data: ${json}\r\r`],
])("server-sent events with %s are read", async (_, frame) => {
  const { provider } = await serve({ body: frame(said({ text: "Ah\u2028so." })) });

  expect(await turnOf(provider, asking("gemini-3.8-flash"))).toMatchObject({ text: "Ah\u2028so.", stop: "stop" });
});

test("the wait in the body takes precedence over the Retry-After header", async () => {
  const error = { code: 429, message: "slow down", status: "RESOURCE_EXHAUSTED" };
  const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7s" }];
  const headers = { "Retry-After": "2" };
  const { provider } = await serve(
    { status: 429, headers, body: JSON.stringify({ error }) },
    { status: 429, headers, body: JSON.stringify([{ error: { ...error, details } }]) },
    { status: 502, headers: {}, body: "<html>Bad gateway</html>" },
  );

  const request = asking("gemini-3.8-flash");
  await expect(turnOf(provider, request)).rejects.toMatchObject({ kind: "rate_limited", retryAfterMs: 2_000 });
  await expect(turnOf(provider, request)).rejects.toMatchObject({ kind: "rate_limited", retryAfterMs: 7_000 });
  await expect(turnOf(provider, request)).rejects.toMatchObject({ kind: "server" });
});

test.each([
  ["tunedModels/mine", "/v1beta/tunedModels/mine:streamGenerateContent?alt=sse"],
  ["gemini-4-argon:countTokens", "/v1beta/models/gemini-4-argon%3AcountTokens:streamGenerateContent?alt=sse"],
  ["cachedContents/1", "/v1beta/models/cachedContents%2F1:streamGenerateContent?alt=sse"],
])("the model %s can lead to no other method of the API", async (model, url) => {
  const { provider, asked } = await serve({ body: `data: ${said({ text: "Hi." })}\n\n` });

  await turnOf(provider, asking(model));

  expect(asked.map((one) => one.url)).toEqual([url]);
});

test("an unknown function name is sent back unchanged, in the call and in its result", async () => {
  const events = `data: ${said({ functionCall: { name: "default_api.ping", args: {} } })}\n\n`;
  const { provider, asked } = await serve({ body: events }, { body: `data: ${said({ text: "Hi." })}\n\n` });
  const request = asking("gemini-3.8-flash");

  const turn = await turnOf(provider, request);
  const more = continued(turn, { content: "no such function", isError: true });
  await turnOf(provider, { ...request, messages: [...request.messages, ...more] });

  const { contents } = JSON.parse(asked[1]!.body) as { contents: { parts: Record<string, { name: string }>[] }[] };
  expect(
    contents.slice(1).map(({ parts: [part] }) => (part!["functionCall"] ?? part!["functionResponse"])?.name),
  ).toEqual(["default_api.ping", "default_api.ping"]);
});

describe("arguments that arrive in parts", () => {
  const parts = (...calls: unknown[]) =>
    calls.map((functionCall) => `data: ${JSON.stringify(chunk([{ functionCall }]))}\n\n`).join("") +
    `data: ${JSON.stringify(chunk([], "STOP"))}\n\n`;
  const piece = (jsonPath: string, value: object) => ({ partialArgs: [{ jsonPath, ...value }], willContinue: true });

  test("are assembled, call by call, and echoed whole", async () => {
    const { provider } = await serve({
      body: parts(
        { name: "orders_find", id: "a", willContinue: true },
        piece("$.id", { stringValue: "#W", willContinue: true }),
        piece("$.id", { stringValue: "12" }),
        piece("$.tags[0]", { stringValue: "late" }),
        piece("$.filter['max']", { numberValue: 3 }),
        piece("$.filter.open", { boolValue: true }),
        {},
        { name: "ping", id: "b" },
        {},
      ),
    });

    const turn = await turnOf(provider, asking("gemini-3.8-flash"));

    const args = { id: "#W12", tags: ["late"], filter: { max: 3, open: true } };
    expect(turn.calls).toEqual([
      { id: "a", name: "orders.find", arguments: JSON.stringify(args) },
      { id: "b", name: "ping", arguments: "" },
    ]);
    expect(turn.echo?.blocks).toEqual([
      { functionCall: { name: "orders_find", id: "a", args } },
      { functionCall: { name: "ping", id: "b" } },
    ]);
  });

  test.each([
    ["no end", [{ name: "orders_find", willContinue: true }, piece("$.id", { stringValue: "1" })]],
    ["an invalid place", [{ name: "orders_find", willContinue: true }, piece("id", { stringValue: "1" }), {}]],
    ["a gap", [{ name: "orders_find", willContinue: true }, piece("$.tags[5]", { stringValue: "1" }), {}]],
    ["a prototype", [{ name: "orders_find", willContinue: true }, piece("$.__proto__.x", { stringValue: "1" }), {}]],
  ])("run nothing when they have %s", async (_, calls) => {
    const { provider } = await serve({ body: parts(...calls) });

    expect(await turnOf(provider, asking("gemini-3.8-flash"))).toMatchObject({ stop: "malformed", calls: [] });
  });
});
