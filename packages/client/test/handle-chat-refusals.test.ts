import { expect, test } from "vitest";
import { handlerFor, message, MESSAGES, SITE, STREAM } from "./support/chat-page.ts";
import { json, startFakeService } from "./support/fake-service.ts";

const refusal = (code: string, errorMessage: string) => ({ success: false, code, errorMessage, requestId: "req_1" });

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

test("a refused token of the caller is shown as a visitor who must sign in", async () => {
  const expired = refusal(
    "authentication_failed",
    "Authentication failed: the token in X-Patchbay-Caller is not accepted.",
  );
  await using service = await startFakeService([json(401, expired)]);

  const response = await handlerFor(service.url, { callerToken: () => "eyJ" })(message());

  expect([response.status, await response.json()]).toEqual([401, expired]);
});

test("a failure to reach the service names no address", async () => {
  const closed = await startFakeService([]);
  await closed[Symbol.asyncDispose]();
  await using redirecting = await startFakeService([json(308, {}, { location: "https://internal.example" })]);

  const answers = [await handlerFor(closed.url)(message()), await handlerFor(redirecting.url)(message())];

  expect(answers.map(({ status }) => status)).toEqual([503, 502]);
  for (const answer of answers) expect(await answer.text()).not.toMatch(/127\.0\.0\.1|internal/);
});
