import { expect, test } from "vitest";
import type { HandleChatOptions } from "../src/index.ts";
import { handlerFor, message, MESSAGES, SITE, STREAM } from "./support/chat-page.ts";
import { json, startFakeService } from "./support/fake-service.ts";

const bodyOf = (request: { body: string } | undefined) => JSON.parse(request?.body ?? "{}") as { id: string };
const contextOf = (header: unknown): unknown => JSON.parse(Buffer.from(String(header), "base64url").toString());

test("a message is sent with the key, and with the role and the context that the owner's functions return", async () => {
  await using service = await startFakeService([
    (response) => void response.writeHead(200, STREAM).end("data: [DONE]\n\n"),
  ]);
  const chat = handlerFor(service.url, {
    role: (request) => request.headers.get("cookie")?.replace("who=", ""),
    context: async () => ({ customerId: "größe_1" }),
    callerToken: async () => "eyJ.of.ana",
  });

  const response = await chat(message(undefined, { cookie: "who=agent" }));

  expect([response.status, await response.text()]).toEqual([200, "data: [DONE]\n\n"]);
  expect(service.requests[0]).toMatchObject({
    method: "POST",
    path: "/agents/agt%201/ui-stream",
    headers: {
      "x-api-key": "service_live_x",
      "x-patchbay-role": "agent",
      "x-patchbay-caller": "eyJ.of.ana",
      "content-type": "application/json",
    },
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
  const body = {
    id: "chat_1",
    messages: MESSAGES,
    supersede: true,
    role: "manager",
    contextJson: "{}",
    llmConfig: { model: "big" },
  };

  await handlerFor(service.url)(message(body, forged));

  const { headers } = service.requests[0]!;
  expect(headers).toMatchObject({ "x-api-key": "service_live_x", "x-patchbay-role": "customer" });
  for (const name of ["cookie", "authorization", "x-patchbay-context", "x-patchbay-caller", "x-forwarded-for"])
    expect(headers).not.toHaveProperty(name);
  expect(Object.keys(bodyOf(service.requests[0])).toSorted()).toEqual(["id", "messages", "supersede"]);
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

test("a stream that the service cuts is cut for the page, which then resumes it", async () => {
  await using service = await startFakeService([
    (response) => {
      response.writeHead(200, STREAM);
      response.write("data: 1\n\n", () => response.destroy());
    },
  ]);

  const response = await handlerFor(service.url)(message());

  await expect(response.text()).rejects.toThrow();
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
