import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { openSocket } from "./support/raw-socket.ts";
import { ACCESS_TOKEN, API_KEY, QUERY, startHttp, STREAM } from "./support/start-http.ts";

const RUNS = 250;
const text = fc.string({ unit: "binary", maxLength: 40 });
const headerText = fc.string({
  unit: fc.constantFrom(...Array.from(" !\"#$%&'*+-.,;:/<=>?@[]_{}~azAZ09é\t")),
  maxLength: 40,
});

const member = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  text,
  fc.constantFrom("", null, "{}", '{"__proto__":{}}', -1, 1e308),
);
const request = fc.dictionary(
  fc.constantFrom(
    "query",
    "threadId",
    "sessionId",
    "role",
    "contextJson",
    "analysisMode",
    "llmConfig",
    "includeDeltas",
    "__proto__",
    "max_tokens",
    "context",
    "llm_config",
  ),
  member,
);
const body = fc.oneof(
  request.map((value) => JSON.stringify(value)),
  fc.json(),
  text,
  fc.integer({ min: 1, max: 3000 }).map((depth) => "[".repeat(depth)),
);

test("any body gets 200 or a 4xx with the error body, never a 5xx", async () => {
  await using http = await startHttp();
  const paths = [QUERY, STREAM, "/agent/query-stream"];
  await fc.assert(
    fc.asyncProperty(body, fc.constantFrom(...paths), async (sent, path) => {
      const response = await http.post(path, sent, { Authorization: `Bearer ${ACCESS_TOKEN}` });
      const answer = await response.text();
      expect([200, 400]).toContain(response.status);
      if (response.status === 400)
        expect(JSON.parse(answer)).toMatchObject({ success: false, code: "invalid_request" });
    }),
    { numRuns: RUNS },
  );
  expect(http.lines).toEqual([]);
});

test("any headers get a 2xx or 4xx, never a 5xx", async () => {
  await using http = await startHttp();
  const names = [
    "X-API-Key",
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "Last-Event-ID",
    "X-On-Disconnect",
    "X-Request-Id",
    "Origin",
    "Accept",
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...names), headerText),
      fc.constantFrom(QUERY, STREAM, "/agent/query-stream", "/healthz"),
      fc.boolean(),
      async (headers, path, keyed) => {
        const response = await http.post(path, { query: "hi" }, { ...headers, ...(keyed && { "X-API-Key": API_KEY }) });
        await response.text();
        expect(response.status).toBeLessThan(500);
        expect(response.headers.get("X-Request-Id")).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
      },
    ),
    { numRuns: RUNS },
  );
  expect(http.lines).toEqual([]);
});

test("any path gets an answer below 500", async () => {
  await using http = await startHttp();
  const part = fc.oneof(
    fc.constantFrom("agents", "agent-1", "agent", "runs", "threads", "query", "events", "..", "%", "%00", "%ff", "%2F"),
    fc.webSegment(),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 6 }), fc.webQueryParameters(), async (parts, query) => {
      const response = await http.get(`/${parts.join("/")}?${query}&limit=%`);
      await response.text();
      expect(response.status).toBeLessThan(500);
    }),
    { numRuns: RUNS },
  );
});

test("any bytes on a connection get at most a 4xx, and the next connection is served", async () => {
  await using http = await startHttp();
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .tuple(fc.constantFrom("GET", "POST", "QUERY", "X"), text, headerText)
      .map(([method, path, header]) =>
        Buffer.from(
          `${method} /${path} HTTP/1.1\r\nHost: ${header}\r\nX-API-Key: ${API_KEY}\r\nConnection: close\r\n\r\n`,
          "latin1",
        ),
      ),
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (sent) => {
      using socket = await openSocket(http.port);
      socket.write(sent);
      socket.socket.end();
      const received = await socket.closed();
      expect(received === "" || /^HTTP\/1\.1 [24]\d\d /.test(received), received).toBe(true);
    }),
    { numRuns: RUNS },
  );
  expect((await http.get("/healthz")).status).toBe(200);
});
