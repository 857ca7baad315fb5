import { expect, test } from "vitest";
import { handleChat, type HandleChatOptions } from "../src/index.ts";
import { json, startFakeService } from "./support/fake-service.ts";

const SITE = "https://shop.example";

const handlerFor = (url: string, options: Partial<HandleChatOptions> = {}) =>
  handleChat({ url, agent: "agt 1", key: "service_live_x", role: () => "customer", ...options });

const MESSAGES = [{ id: "m1", role: "user", parts: [{ type: "text", text: "Where is my order?" }] }];

/** A message as `useChat` sends it. */
function message(body: unknown = { id: "chat_1", messages: MESSAGES, trigger: "submit-message" }, headers = {}) {
  return new Request(`${SITE}/api/chat`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

const STREAM = { "Content-Type": "text/event-stream", "X-Vercel-AI-UI-Message-Stream": "v1", "X-Run-Id": "run_1" };
const bodyOf = (request: { body: string } | undefined) => JSON.parse(request?.body ?? "{}") as { id: string };
const contextOf = (header: unknown): unknown => JSON.parse(Buffer.from(String(header), "base64url").toString());

test("a message is sent with the key, and with the role and the context that the owner's functions return", async () => {
  await using service = await startFakeService([
    (response) => void response.writeHead(200, STREAM).end("data: [DONE]\n\n"),
  ]);
  const chat = handlerFor(service.url, {
    role: (request) => request.headers.get("cookie")?.replace("who=", ""),
    context: async () => ({ customerId: "größe_1" }),
  });

  const response = await chat(message(undefined, { cookie: "who=agent" }));

  expect([response.status, await response.text()]).toEqual([200, "data: [DONE]\n\n"]);
  expect(service.requests[0]).toMatchObject({
    method: "POST",
    path: "/agents/agt%201/ui-stream",
    headers: { "x-api-key": "service_live_x", "x-patchbay-role": "agent", "content-type": "application/json" },
  });
  expect(contextOf(service.requests[0]?.headers["x-patchbay-context"])).toEqual({ customerId: "größe_1" });
  expect(bodyOf(service.requests[0])).toEqual({
    id: expect.stringMatching(/^[\w-]{43}$/),
    messages: MESSAGES,
    trigger: "submit-message",
  });
});

test("nothing of the page but the message reaches the service", async () => {
  await using service = await startFakeService([(response) => void response.writeHead(200, STREAM).end()]);
  const forged = {
    cookie: "session=1",
    authorization: "Bearer service_client_x",
    "x-api-key": "service_live_other",
    "x-patchbay-role": "manager",
    "x-patchbay-context": "e30",
    "x-patchbay-caller": "jwt",
    "x-forwarded-for": "10.0.0.1",
  };
  const body = { id: "chat_1", messages: MESSAGES, role: "manager", contextJson: "{}", llmConfig: { model: "big" } };

  await handlerFor(service.url)(message(body, forged));

  const { headers } = service.requests[0]!;
  expect(headers).toMatchObject({ "x-api-key": "service_live_x", "x-patchbay-role": "customer" });
  for (const name of ["cookie", "authorization", "x-patchbay-context", "x-patchbay-caller", "x-forwarded-for"])
    expect(headers).not.toHaveProperty(name);
  expect(Object.keys(bodyOf(service.requests[0])).toSorted()).toEqual(["id", "messages"]);
});

test("the paths of a chat name the chat that its messages name", async () => {
  await using service = await startFakeService([
    (response) => void response.writeHead(200, STREAM).end(),
    (response) => void response.writeHead(204).end(),
    json(202, { success: true, runId: "run_1", status: "running" }),
    json(200, { messages: [], nextCursor: null }),
  ]);
  const chat = handlerFor(service.url, { reasoning: true });
  const at = (method: string, path: string) => chat(new Request(`${SITE}/api/chat${path}`, { method }));

  await chat(message({ id: "chat 1", messages: MESSAGES }));
  const statuses = [
    (await at("GET", "/chat%201/stream")).status,
    (await at("POST", "/chat%201/stop")).status,
    (await at("GET", "/chat%201/messages?limit=5&cursor=c1&role=manager")).status,
  ];

  const { id } = bodyOf(service.requests[0]);
  expect(statuses).toEqual([204, 202, 200]);
  expect(service.requests.map(({ method, path }) => `${method} ${path.replace("/agents/agt%201", "")}`)).toEqual([
    "POST /ui-stream?reasoning=1",
    `GET /ui-stream/${id}/stream?reasoning=1`,
    `POST /ui-stream/${id}/stop?reasoning=1`,
    `GET /ui-stream/${id}/messages?limit=5&cursor=c1&reasoning=1`,
  ]);
});

test("the same chat id of another person is another chat on the service", async () => {
  const answer = (response: Parameters<ReturnType<typeof json>>[0]) => void response.writeHead(200, STREAM).end();
  await using service = await startFakeService([answer, answer, answer, answer, answer, answer]);
  const ask = async (options: Partial<HandleChatOptions>) => {
    await handlerFor(service.url, options)(message());
    return bodyOf(service.requests.at(-1)).id;
  };

  const ana = await ask({ context: () => ({ customerId: "ana" }) });
  const ben = await ask({ context: () => ({ customerId: "ben" }) });
  const agent = await ask({ role: () => "agent", context: () => ({ customerId: "ana" }) });
  const again = await ask({ context: () => ({ customerId: "ana" }) });
  const named = await ask({ user: () => "ana", context: () => ({ locale: "de" }) });
  const promoted = await ask({ user: () => "ana", role: () => "agent", context: () => ({ locale: "en" }) });

  expect(new Set([ana, ben, agent, named]).size).toBe(4);
  expect(again).toBe(ana);
  expect(promoted).toBe(named);
});

test("a response of `role` is the answer, and the service is not asked", async () => {
  await using service = await startFakeService([]);
  const chat = handlerFor(service.url, { role: async () => new Response("Sign in first.", { status: 401 }) });

  const response = await chat(message());

  expect([response.status, await response.text()]).toEqual([401, "Sign in first."]);
  expect(service.requests).toEqual([]);
});

test("what the owner's functions throw is thrown", async () => {
  const lost = new Error("no session store");
  const chat = handlerFor("http://127.0.0.1:9", {
    role: () => {
      throw lost;
    },
  });

  await expect(chat(message())).rejects.toBe(lost);
});

test("a context above 8 KiB is an error of the owner's code", async () => {
  const chat = handlerFor("http://127.0.0.1:9", { context: () => ({ text: "ü".repeat(4100) }) });

  await expect(chat(message())).rejects.toThrow("The context of a chat has 8211 bytes as JSON, and may have 8192.");
});

test.each([
  ["a page of another site", { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" }, 403],
  ["a page of another subdomain", { "Sec-Fetch-Site": "same-site", Origin: "https://blog.shop.example" }, 403],
  ["a page without an origin", { "Sec-Fetch-Site": "none" }, 403],
  ["an older browser on another site", { "Sec-Fetch-Site": undefined, Origin: "https://evil.example" }, 403],
  ["an older browser in a sandbox", { "Sec-Fetch-Site": undefined, Origin: "null" }, 403],
  ["an older browser on this site", { "Sec-Fetch-Site": undefined, Origin: SITE }, 200],
  [
    "an older browser before a proxy",
    { "Sec-Fetch-Site": undefined, Origin: "https://www.example", "X-Forwarded-Host": "www.example" },
    200,
  ],
  ["a listed origin", { "Sec-Fetch-Site": "same-site", Origin: "https://app.shop.example" }, 200],
  ["a program", { "Sec-Fetch-Site": undefined }, 200],
])("a message of %s", async (_of, given, status) => {
  await using service = await startFakeService([(response) => void response.writeHead(200, STREAM).end()]);
  const request = message();
  for (const [name, value] of Object.entries(given))
    if (value === undefined) request.headers.delete(name);
    else request.headers.set(name, value);

  const response = await handlerFor(service.url, { origins: ["https://app.shop.example"] })(request);

  expect(response.status).toBe(status);
  expect(service.requests).toHaveLength(status === 200 ? 1 : 0);
  if (status === 403) expect(await response.json()).toMatchObject({ success: false, code: "csrf_refused" });
});

test.each([
  ["a form", message("id=1", { "Content-Type": "application/x-www-form-urlencoded" }), 415, "unsupported_media_type"],
  ["a body that is not JSON", message("{"), 400, "invalid_request"],
  ["a body that is not an object", message("null"), 400, "invalid_request"],
  ["a body without the id of a chat", message({ messages: MESSAGES }), 400, "invalid_request"],
  ["a body above 4 MiB", message({ id: "c", text: "x".repeat(4 * 2 ** 20) }), 413, "payload_too_large"],
  ["another method", new Request(`${SITE}/api/chat`), 405, "method_not_allowed"],
  ["another method of a path", new Request(`${SITE}/api/chat/c/stop`), 405, "method_not_allowed"],
])("%s is refused before the service is asked", async (_what, request, status, code) => {
  await using service = await startFakeService([]);

  const response = await handlerFor(service.url)(request);

  expect([response.status, await response.json()]).toEqual([status, expect.objectContaining({ success: false, code })]);
  expect(service.requests).toEqual([]);
});

const refusal = (code: string, errorMessage: string) => ({ success: false, code, errorMessage, requestId: "req_1" });

test("a refusal of the service is passed on with its status and the time to wait", async () => {
  const limited = refusal("rate_limited", "Too many queries");
  await using service = await startFakeService([json(429, limited, { "Retry-After": "7", "Set-Cookie": "a=1" })]);

  const response = await handlerFor(service.url)(message());

  expect([response.status, await response.json()]).toEqual([429, limited]);
  expect(response.headers.get("retry-after")).toBe("7");
  expect(response.headers.get("set-cookie")).toBeNull();
});

test.each([
  [401, "authentication_failed", "Authentication failed"],
  [403, "agent_mismatch", "Agent ID mismatch"],
])("a refused key is not shown as a visitor who must sign in (%i)", async (status, code, text) => {
  await using service = await startFakeService([json(status, refusal(code, text))]);

  const response = await handlerFor(service.url)(message());

  expect([response.status, await response.json()]).toEqual([
    502,
    { success: false, code, errorMessage: `The agent refuses the key of this server: ${text}.` },
  ]);
});

test("a failure to reach the service names no address", async () => {
  const closed = await startFakeService([]);
  await closed[Symbol.asyncDispose]();
  await using redirecting = await startFakeService([json(308, {}, { location: "https://internal.example" })]);

  const answers = [await handlerFor(closed.url)(message()), await handlerFor(redirecting.url)(message())];

  expect(answers.map(({ status }) => status)).toEqual([503, 502]);
  for (const answer of answers) expect(await answer.text()).not.toMatch(/127\.0\.0\.1|internal/);
});

test("only headers that are for the page are passed on", async () => {
  const headers = { ...STREAM, "X-Accel-Buffering": "no", "Access-Control-Allow-Origin": "*", "Set-Cookie": "a=1" };
  await using service = await startFakeService([(response) => void response.writeHead(200, headers).end()]);

  const response = await handlerFor(service.url)(message());

  expect(Object.fromEntries(response.headers)).toEqual({
    "cache-control": "no-store, no-transform",
    "content-type": "text/event-stream",
    "x-accel-buffering": "no",
    "x-run-id": "run_1",
    "x-vercel-ai-ui-message-stream": "v1",
  });
});

test("each part of a stream is passed on when it arrives, and a page that leaves ends the request to the service", async () => {
  const left = Promise.withResolvers<void>();
  const first = Promise.withResolvers<() => void>();
  await using service = await startFakeService([
    (response) => {
      response.writeHead(200, STREAM).write("data: 1\n\n");
      response.on("close", () => left.resolve());
      first.resolve(() => void response.write("data: 2\n\n"));
    },
  ]);

  const response = await handlerFor(service.url)(message());
  const reader = response.body!.getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);

  expect(await read()).toBe("data: 1\n\n");
  (await first.promise)();
  expect(await read()).toBe("data: 2\n\n");
  await reader.cancel();
  await left.promise;
});

test("a page that leaves before the service answers ends the request to the service", async () => {
  const left = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  await using service = await startFakeService([
    (response) => {
      response.on("close", () => left.resolve());
      asked.resolve();
    },
  ]);
  const page = new AbortController();

  const answer = handlerFor(service.url)(new Request(message(), { signal: page.signal }));
  await asked.promise;
  page.abort();

  expect((await answer).status).toBe(499);
  await left.promise;
});
