import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { createClient, handleChat, type HandleChatOptions } from "@patchbay/client";
import { defineFunction, defineService } from "@patchbay/functions";
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { createChatServer } from "../../examples/chat/server.ts";
import { callsOnce } from "../support/call-models.ts";
import { startIssuer } from "@patchbay/test-support/issuer";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";
import { UiChat } from "../support/ui-chat.ts";

/** The AI SDK's own client in a page, whose requests this route answers. */
const openPage = (url: string, headers: Record<string, string> = {}) =>
  new UiChat(`${url}/api/chat`, {
    id: "chat 1",
    headers: { "Sec-Fetch-Site": "same-origin", ...headers },
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });

async function storedIn(url: string): Promise<string[]> {
  const response = await fetch(`${url}/api/chat/chat%201/messages`);
  const { messages } = (await response.json()) as { messages: UIMessage[] };
  return new UiChat(url, { messages, headers: {} }).texts;
}

/** A desk with one function, which the model calls in every run. */
async function startDesk({ approval, ...options }: SystemOptions & { approval?: { by: ["caller"] } } = {}) {
  const ran: unknown[] = [];
  const cancel = defineFunction({
    name: "cancel_order",
    description: "Cancels an order.",
    input: z.object({ orderId: z.string() }),
    roles: ["customer"],
    ...(approval && { approval }),
    handler: ({ orderId }, { role, context }) => void ran.push({ orderId, role, context }),
  });
  const service = defineService({ name: "desk", roles: ["customer", "guest"], functions: [cancel] });
  const system = await startSystem({ service, model: callsOnce("cancel_order", { orderId: "o1" }), ...options });
  const { agentId, url } = system;
  const { apiKey } = await system.plane.admin.createKey({ agentId, can: ["approve"] });
  const servers: ReturnType<typeof serve>[] = [];
  return {
    ran,
    agentId,
    apiKey,
    url,
    /** Serves the route for people of one kind. */
    async route(options: Partial<HandleChatOptions> = {}): Promise<string> {
      const chat = handleChat({ url, agent: agentId, key: apiKey, role: () => "customer", ...options });
      const server = serve({ fetch: chat, hostname: "127.0.0.1", port: 0 });
      servers.push(server);
      await new Promise((resolve) => server.once("listening", resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      await system[Symbol.asyncDispose]();
    },
  };
}

test("functions get the role and the context of the server's code, whatever the page sends", async () => {
  await using desk = await startDesk();
  const ana = await desk.route({ context: () => ({ customerId: "ana" }) });
  const guest = await desk.route({ role: () => "guest" });
  const forged = { "X-Patchbay-Role": "customer", "X-Patchbay-Context": "eyJjdXN0b21lcklkIjoiYmVuIn0", cookie: "a=1" };

  await openPage(ana, forged).sendMessage({ text: "Cancel o1" }, { body: { role: "guest" } });
  const page = openPage(guest, forged);
  await page.sendMessage({ text: "Cancel o1" }, { body: { role: "customer" } });

  expect(desk.ran).toEqual([{ orderId: "o1", role: "customer", context: { customerId: "ana" } }]);
  expect(page.calls).toMatchObject([{ toolName: "cancel_order", state: "output-error" }]);
  expect(page.texts).toEqual(["user: Cancel o1", "assistant: Done."]);
});

test("a chat opens for its person only, and continues after a reload", async () => {
  await using desk = await startDesk();
  const ana = await desk.route({ user: () => "ana" });
  const ben = await desk.route({ user: () => "ben" });

  await openPage(ana).sendMessage({ text: "Cancel o1" });
  await openPage(ben).sendMessage({ text: "Cancel o2" });
  await openPage(ana).sendMessage({ text: "And then?" });

  const done = "assistant: Done.";
  expect(await storedIn(ana)).toEqual(["user: Cancel o1", done, "user: And then?", done]);
  expect(await storedIn(ben)).toEqual(["user: Cancel o2", done]);
  expect(await storedIn(await desk.route({ user: () => "eve" }))).toEqual([]);
});

test("a person confirms a call in the chat, and the same message continues", async () => {
  await using desk = await startDesk({ approval: { by: ["caller"] } });
  const page = openPage(await desk.route());

  await page.sendMessage({ text: "Cancel o1" });
  const [asked] = page.calls;
  expect(asked?.state).toBe("approval-requested");
  expect(desk.ran).toEqual([]);
  await page.addToolApprovalResponse({ id: asked?.approval?.id ?? "", approved: true });

  await expect.poll(() => page.texts).toEqual(["user: Cancel o1", "assistant: Done."]);
  expect(page.calls.map(({ state }) => state)).toEqual(["output-available"]);
  expect(desk.ran).toHaveLength(1);
});

test("the token of an identity provider decides the role, and another person's chat stays closed", async () => {
  await using issuer = await startIssuer();
  const { url: issued, audience } = issuer;
  const callers = { issuer: issued, audience, roleClaim: "role", contextClaims: ["sub=customerId"] };
  await using desk = await startDesk({ callers });
  const as = async (sub: string, role: string) => {
    const token = await issuer.token({ sub, role });
    return desk.route({ role: () => undefined, callerToken: () => token });
  };
  const ana = await as("ana", "customer");

  await openPage(ana).sendMessage({ text: "Cancel o1" });

  expect(desk.ran).toEqual([{ orderId: "o1", role: "customer", context: { customerId: "ana" } }]);
  expect(await storedIn(ana)).toHaveLength(2);
  expect(await storedIn(await as("ben", "customer"))).toEqual([]);
});

test("a page with a client token of the server opens its own chat only", async () => {
  await using desk = await startDesk();
  const { agentId, apiKey, url } = desk;
  const client = createClient({ baseUrl: url, agentId, apiKey });
  const open = async (customerId: string) => {
    const allowed = { role: "customer", context: { customerId }, expiresInSeconds: 60 };
    const { token } = await client.createClientToken(allowed);
    const headers = { Authorization: `Bearer ${token}` };
    const api = `${url}/agents/${agentId}/ui-stream`;
    return {
      page: new UiChat(api, { id: "chat 1", headers }),
      stored: await fetch(`${api}/chat%201/messages`, { headers }),
    };
  };
  const { page } = await open("ana");

  await page.sendMessage({ text: "Cancel o1" });

  expect(page.texts).toEqual(["user: Cancel o1", "assistant: Done."]);
  expect(desk.ran).toEqual([{ orderId: "o1", role: "customer", context: { customerId: "ana" } }]);
  expect(await (await open("ana")).stored.json()).toMatchObject({
    messages: [{ role: "user" }, { role: "assistant" }],
  });
  expect(await (await open("ben")).stored.json()).toEqual({ messages: [], nextCursor: null });
});

test("the example's server answers people who are signed in, and lets only managers decide", async () => {
  await using desk = await startSystem();
  const { agentId: agent, apiKey: key, url } = desk;
  const app = createChatServer({ url, agent, key, approverKey: key, page: "." });
  const as = async (person: string) => {
    const signedIn = await app.request(`/api/session/${person}`, { method: "PUT" });
    return { Cookie: signedIn.headers.get("Set-Cookie")?.split(";")[0] ?? "" };
  };
  const statusOf = async (path: string, init: RequestInit) => (await app.request(path, init)).status;

  const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"approved":true}' };
  expect(await statusOf("/api/chat/chat_1/messages", {})).toBe(401);
  expect(await statusOf("/api/chat/chat_1/messages", { headers: await as("umar") })).toBe(200);
  expect(await statusOf("/api/session/eve", { method: "PUT" })).toBe(404);
  for (const headers of [{}, await as("umar"), await as("alma")]) {
    expect(await statusOf("/api/approvals", { headers })).toBe(403);
    expect(await statusOf("/api/approvals/apr_1", { ...post, headers: { ...post.headers, ...headers } })).toBe(403);
  }
});
