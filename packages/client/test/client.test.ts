import { expect, test } from "vitest";
import { createClient, PatchbayError, type ClientOptions } from "../src/index.ts";
import { json, startFakeService } from "./support/fake-service.ts";

const answer = { success: true, response: "Two orders are late.", threadId: "thr_1", runId: "run_1" };
const clientFor = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl, agentId: "agt 1", apiKey: "service_live_x", ...options });
const failure = (request: Promise<unknown>) =>
  request.then(
    () => expect.unreachable("the request succeeded"),
    (error: unknown) => error as PatchbayError,
  );

test("query sends its body with the API key and an Idempotency-Key, and returns the answer", async () => {
  await using service = await startFakeService([json(200, answer)]);

  const returned = await clientFor(`${service.url}/`).query({ query: "Which are late?", role: "support" });

  expect(returned).toEqual(answer);
  expect(service.requests[0]).toMatchObject({
    method: "POST",
    path: "/agents/agt%201/query",
    headers: {
      "x-api-key": "service_live_x",
      "content-type": "application/json",
      "idempotency-key": expect.stringMatching(/^[0-9a-f]{32}$/),
    },
  });
  expect(JSON.parse(service.requests[0]?.body ?? "")).toEqual({ query: "Which are late?", role: "support" });
});

test("the token of the caller goes with each request, a new one where it changes", async () => {
  await using service = await startFakeService([json(200, answer), json(200, { items: [], nextCursor: null })]);
  let count = 0;
  const client = clientFor(service.url, { callerToken: async () => `token-${++count}` });

  await client.query({ query: "Which are late?" });
  await client.listThreads();

  expect(service.requests.map(({ headers }) => headers["x-patchbay-caller"])).toEqual(["token-1", "token-2"]);
});

test("a token is sent as the only credential, a new one where it changes", async () => {
  await using service = await startFakeService([json(200, answer), json(200, answer), json(200, answer)]);
  let count = 0;
  const options = { baseUrl: service.url, agentId: "agt 1" };
  const client = createClient({ ...options, token: async () => `token-${++count}` });

  await client.query({ query: "Which are late?" });
  await client.query({ query: "And which are lost?" });
  await createClient({ ...options, token: "token-3" }).query({ query: "Thanks" });

  const sent = service.requests.map(({ headers }) => headers);
  expect(sent.map(({ authorization }) => authorization)).toEqual([
    "Bearer token-1",
    "Bearer token-2",
    "Bearer token-3",
  ]);
  expect(sent.flatMap((headers) => [headers["x-api-key"], headers["x-patchbay-caller"]])).toEqual(
    sent.flatMap(() => [undefined, undefined]),
  );
});

test("a token that a key would make useless, or that no header can carry, is refused", async () => {
  for (const more of [{ apiKey: "service_live_x" }, { callerToken: () => "eyJ" }])
    expect(() => createClient({ baseUrl: "http://127.0.0.1:1", agentId: "agt_1", token: "eyJ", ...more })).toThrow(
      "leave out apiKey and callerToken",
    );
  const spaced = createClient({ baseUrl: "http://127.0.0.1:1", agentId: "agt_1", token: "secret secret" });
  const error = String(await failure(spaced.query({ query: "hi" })));
  expect(error).toMatch(/^TypeError: The token contains/);
  expect(error).not.toContain("secret");
});

test("options of a query become its headers", async () => {
  await using service = await startFakeService([json(200, answer)]);

  await clientFor(service.url).query({ query: "Which?" }, { idempotencyKey: "mine", cancelOnDisconnect: true });

  expect(service.requests[0]?.headers).toMatchObject({ "idempotency-key": "mine", "x-on-disconnect": "cancel" });
});

test("a run without an answer is returned, not thrown", async () => {
  const failed = { ...answer, success: false, errorMessage: "Run timed out", code: "deadline_exceeded" };
  await using service = await startFakeService([json(200, failed)]);

  expect(await clientFor(service.url).query({ query: "Which?" })).toEqual(failed);
});

test("an error body becomes a PatchbayError with code, status, request id and details", async () => {
  const body = {
    success: false,
    errorMessage: "Invalid request",
    code: "invalid_request",
    requestId: "req_1",
    details: [{ path: "role", message: "is too long" }],
  };
  await using service = await startFakeService([json(400, body)]);

  const error = await failure(clientFor(service.url).query({ query: "Which?" }));

  expect(error).toBeInstanceOf(PatchbayError);
  expect(error).toMatchObject({
    code: "invalid_request",
    status: 400,
    requestId: "req_1",
    message: "Invalid request",
    body,
    transient: false,
  });
  expect(service.requests).toHaveLength(1);
});

test("a rate limit is not retried and names the time to wait", async () => {
  const body = { success: false, errorMessage: "Too many queries", code: "rate_limited", requestId: "req_1" };
  await using service = await startFakeService([json(429, body, { "Retry-After": "7" })]);

  expect(await failure(clientFor(service.url).query({ query: "Which?" }))).toMatchObject({
    code: "rate_limited",
    retryAfterMs: 7_000,
  });
});

test.each([
  ["an error page of a proxy", 403, "<h1>Forbidden</h1>", "The service answered 403 without an error body."],
  ["a body that is not JSON", 200, "{", "The service answered 200 with a body that is not JSON."],
])("%s is reported as invalid_response with its status", async (_what, status, text, message) => {
  await using service = await startFakeService([
    (response) => void response.writeHead(status, { "X-Request-Id": "req_1" }).end(text),
  ]);

  expect(await failure(clientFor(service.url).getRun("run_1"))).toMatchObject({
    code: "invalid_response",
    status,
    requestId: "req_1",
    message,
  });
});

test("a query is retried under the same Idempotency-Key after a 503 and after a broken connection", async () => {
  await using service = await startFakeService([
    json(503, {}, { "Retry-After": "0" }),
    (response) => void response.destroy(),
    (response) => {
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" });
      response.write("{", () => response.destroy());
    },
    json(200, answer),
  ]);

  expect(await clientFor(service.url).query({ query: "Which?" })).toEqual(answer);
  expect(new Set(service.requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  expect(service.requests).toHaveLength(4);
});

test("a failure that stays ends the retries", async () => {
  await using service = await startFakeService([json(503, {}, { "Retry-After": "0" }), json(502, {})]);

  const error = await failure(clientFor(service.url, { maxRetries: 1 }).query({ query: "Which?" }));

  expect(error).toMatchObject({ status: 502, transient: true });
});

test("an address where nothing listens fails without retries", async () => {
  const service = await startFakeService([]);
  await service[Symbol.asyncDispose]();

  const error = await failure(clientFor(service.url, { maxRetries: 100 }).query({ query: "Which?" }));

  expect(error).toMatchObject({ code: "unreachable", status: 0, message: `${service.url} does not answer.` });
});

test("a malformed address is a TypeError", async () => {
  await expect(clientFor("no address").query({ query: "Which?" })).rejects.toThrow(TypeError);
});

test("a redirect is an error, and the key does not reach the other address", async () => {
  await using other = await startFakeService([json(200, answer)]);
  await using service = await startFakeService([json(307, {}, { location: other.url })]);

  const error = await failure(clientFor(service.url).query({ query: "hi" }));

  expect(error).toMatchObject({ code: "invalid_response", status: 307 });
  expect(other.requests).toEqual([]);
});

test("a key that no header can carry is refused without quoting it", async () => {
  const client = createClient({ baseUrl: "http://127.0.0.1:9", agentId: "agt_1", apiKey: "service_live_secret\n" });

  const failure = await client.query({ query: "hi" }).catch((error: unknown) => String(error));

  expect(failure).toMatch(/^TypeError: The API key contains/);
  expect(failure).not.toContain("secret");
});

test("abort rejects with the signal's reason, during the request and during the pause before a retry", async () => {
  const request = Promise.withResolvers<void>();
  await using silent = await startFakeService([() => request.resolve()]);
  await using busy = await startFakeService([
    (response) => {
      json(503, {}, { "Retry-After": "3600" })(response);
      response.on("close", () => answered.resolve());
    },
  ]);
  const answered = Promise.withResolvers<void>();
  for (const [service, sent] of [
    [silent, request.promise],
    [busy, answered.promise],
  ] as const) {
    const aborter = new AbortController();
    const error = failure(clientFor(service.url).query({ query: "Which?" }, { signal: aborter.signal }));
    await sent;
    aborter.abort(new Error("no longer needed"));
    expect(await error).toMatchObject({ message: "no longer needed" });
  }
});

test("runs and threads are read, cancelled, rated and deleted at their paths", async () => {
  const bodies = [{ status: "cancelled" }, { runId: "run_1" }, { items: [] }, { threadId: "thr_1" }];
  await using service = await startFakeService([
    ...bodies.map((body) => json(200, body)),
    (response) => void response.writeHead(204).end(),
    (response) => void response.writeHead(204).end(),
    (response) => void response.writeHead(204).end(),
  ]);
  const client = clientFor(service.url);

  const read = [
    await client.cancelRun("run_1"),
    await client.getRun("run_1"),
    await client.listThreads({ limit: 2, cursor: "c&1", sessionId: undefined }),
    await client.getThread("thr_1", { limit: 5 }),
    await client.deleteThread("thr_1"),
    await client.deleteFeedback("run_1"),
    await client.sendFeedback("run_1", { score: -1, tags: ["late"] }),
  ];

  expect(read).toEqual([...bodies, undefined, undefined, undefined]);
  expect(JSON.parse(service.requests.at(-1)?.body ?? "")).toEqual({ score: -1, tags: ["late"] });
  expect(service.requests.map(({ method, path }) => `${method} ${path.replace("/agents/agt%201", "")}`)).toEqual([
    "POST /runs/run_1/cancel",
    "GET /runs/run_1",
    "GET /threads?limit=2&cursor=c%261",
    "GET /threads/thr_1?limit=5",
    "DELETE /threads/thr_1",
    "DELETE /runs/run_1/feedback",
    "POST /runs/run_1/feedback",
  ]);
});

test("failed runs are listed and retried, and a repeated retry joins its run", async () => {
  const page = { items: [], nextCursor: null };
  const retried = { success: true, runId: "run_2", threadId: "thr_1", retryOf: "run_1" };
  await using service = await startFakeService([
    json(200, page),
    json(503, {}),
    json(202, retried),
    json(202, retried),
  ]);
  const client = clientFor(service.url);

  expect(await client.listRuns({ code: "provider_error", endedAfterWrites: true, limit: 2 })).toEqual(page);
  expect(await client.retryRun("run_1")).toEqual(retried);
  await client.retryRun("run_1", { idempotencyKey: "mine" });

  expect(service.requests.map(({ method, path }) => `${method} ${path.replace("/agents/agt%201", "")}`)).toEqual([
    "GET /runs?code=provider_error&endedAfterWrites=true&limit=2",
    ...Array.from({ length: 3 }, () => "POST /runs/run_1/retry"),
  ]);
  const [, first, repeated, own] = service.requests.map(({ headers }) => headers["idempotency-key"]);
  expect(first).toBeTruthy();
  expect([repeated, own]).toEqual([first, "mine"]);
});

test("a client token is asked for with what it allows", async () => {
  const token = { token: "service_client_x", expiresAt: "2026-11-23T14:00:00.000Z" };
  await using service = await startFakeService([json(201, token)]);
  const allowed = {
    role: "customer",
    context: { customerId: "ana" },
    threadKey: "order-7",
    allow: ["ui-stream" as const, "mcp" as const],
    reasoning: true,
    expiresInSeconds: 600,
  };

  expect(await clientFor(service.url).createClientToken(allowed)).toEqual(token);

  expect(service.requests[0]).toMatchObject({ method: "POST", path: "/agents/agt%201/client-tokens" });
  expect(service.requests[0]?.headers["content-type"]).toBe("application/json");
  expect(JSON.parse(service.requests[0]?.body ?? "")).toEqual(allowed);
});
