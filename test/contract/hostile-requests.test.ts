import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { ROUTES } from "@patchbay/server/query/routes";
import { printFigure, quantile } from "@patchbay/test-support/figures";
import { scriptFor } from "@patchbay/test-support/providers";
import { startContractSystem, type ContractSystem } from "./contract-system.ts";

const REQUESTS = 3_000;
const SLOW_SOCKETS = 400;

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
/** Bodies that can break parsers, by description. */
const BODIES: Record<string, () => string> = {
  "arrays 100,000 deep": () => "[".repeat(100_000) + "]".repeat(100_000),
  "objects 100,000 deep": () => deep(100_000),
  "a context 100,000 deep": () => JSON.stringify({ query: "hi", contextJson: deep(100_000) }),
  "10 MB": () => JSON.stringify({ query: "x".repeat(10_000_000) }),
  "a prototype": () => '{"__proto__":{"query":"hi","role":"admin"},"constructor":{"prototype":{"role":"admin"}}}',
  "a million properties": () => `{${Array.from({ length: 100_000 }, (_, i) => `"${i}":0`).join()}}`,
  "endless numbers": () => `{"query":"hi","llmConfig":{"provider":"openai","maxTokens":${"9".repeat(100_000)}}}`,
  "half a surrogate": () => '{"query":"\\ud800"}',
};

test.each(Object.keys(BODIES))("a body of %s is accepted or answered with 4xx, never with 5xx", async (name) => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }));
  for (const path of [system.path(), system.path("query-stream"), "/agent/query-stream"]) {
    const response = await system.post(path, BODIES[name]!(), { authorization: `Bearer ${system.accessToken}` });
    await response.text();
    expect(response.status).toBeLessThan(500);
    // The local variant has other names for some properties, and ignores these.
    if (name !== "half a surrogate" && path !== "/agent/query-stream") expect([400, 413]).toContain(response.status);
  }
  expect(({} as { role?: string }).role).toBeUndefined();
  expect(await system.query("hi")).toMatchObject({ success: true });
});

test("no random request to any route is answered with 5xx", async () => {
  const seed = Number(process.env["PATCHBAY_TEST_SEED"] ?? 2_026);
  await using system = await startContractSystem(scriptFor({ text: "Hello." }));
  const text = fc.string({ unit: "binary", maxLength: 30 });
  const header = fc.string({ unit: fc.constantFrom(...Array.from(" !#$%&'*+-./:;<=>?@[]{}azAZ09é")), maxLength: 30 });
  const value = fc.oneof(fc.jsonValue({ maxDepth: 4 }), text, fc.constantFrom("hi", "{}", null, -1, 1e308));
  const members = [
    "query",
    "threadId",
    "sessionId",
    "role",
    "contextJson",
    "analysisMode",
    "llmConfig",
    "includeDeltas",
  ];
  const body = fc.oneof(
    fc
      .dictionary(fc.constantFrom(...members, "__proto__", "context", "max_tokens"), value)
      .map((one) => JSON.stringify(one)),
    text,
  );
  const part = fc.oneof(fc.constantFrom("run_x", "%", "%00", "..", "%2F", "a".repeat(2_000)), fc.webSegment());
  const headers = fc.dictionary(
    fc.constantFrom("Idempotency-Key", "Last-Event-ID", "X-On-Disconnect", "X-Request-Id", "Origin", "Content-Type"),
    header,
  );
  const statuses = new Map<number, number>();
  let lists = 0;

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...ROUTES),
      fc.boolean(),
      part,
      body,
      headers,
      fc.webQueryParameters(),
      async (route, own, odd, sent, more, search) => {
        const agent = own ? system.agentId : odd;
        const path = route.path.replace(":agent_id", agent).replace(/:\w+/g, odd);
        const post = route.method === "POST";
        const response = await fetch(`${system.url}${path}?${search}`, {
          method: route.method,
          headers: {
            "content-type": "application/json",
            "x-api-key": system.apiKey,
            authorization: `Bearer ${route.access === "runtime" ? system.runtimeKey : system.accessToken}`,
            ...more,
          },
          ...(post && { body: sent }),
        });
        await response.text();
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        if (response.status === 200) lists++;
        expect(response.status, `${route.method} ${path}`).toBeLessThan(500);
      },
    ),
    { numRuns: REQUESTS, seed },
  );

  printFigure("random requests", {
    seed,
    requests: REQUESTS,
    "5xx": 0,
    statuses: [...statuses.keys()].toSorted((one, other) => one - other).join(" "),
  });
  expect(lists).toBeGreaterThan(REQUESTS / 20);
  expect(await system.query("hi")).toMatchObject({ success: true });
});

/** Sends the beginning of a request, then one byte of a header per second without end. */
function slowHeaders(port: number): { socket: Socket; closedInMs: Promise<number> } {
  const began = performance.now();
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {}).resume();
  socket.write("POST /agents/x/query HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
  const drip = setInterval(() => socket.write("a"), 1_000);
  const closedInMs = new Promise<number>((resolve) => {
    socket.once("close", () => {
      clearInterval(drip);
      resolve(performance.now() - began);
    });
  });
  return { socket, closedInMs };
}

async function askOften(system: ContractSystem, done: () => boolean): Promise<number[]> {
  const taken: number[] = [];
  while (!done()) {
    const began = performance.now();
    expect(await system.query("hi")).toMatchObject({ success: true });
    taken.push(performance.now() - began);
    await sleep(20);
  }
  return taken;
}

test("requests with endless headers are closed, and other requests are served meanwhile", async () => {
  await using system = await startContractSystem(scriptFor({ text: "Hello." }));
  let left = 60;
  const before = await askOften(system, () => left-- === 0);
  const slow = Array.from({ length: SLOW_SOCKETS }, () => slowHeaders(system.plane.port));
  let over = false;
  const closing = Promise.all(slow.map(({ closedInMs }) => closedInMs)).finally(() => (over = true));

  const meanwhile = await askOften(system, () => over);
  const closedIn = await closing;

  const [p99, base] = [quantile(meanwhile, 0.99), quantile(before, 0.99)];
  printFigure("slow headers", {
    sockets: SLOW_SOCKETS,
    "closed within ms": Math.round(Math.max(...closedIn)),
    "p99 ms of others": Math.round(p99),
    "p99 ms before": Math.round(base),
  });
  expect(meanwhile.length).toBeGreaterThan(0);
});
