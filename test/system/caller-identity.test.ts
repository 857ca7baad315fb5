import { type CallerIdentity, connect, defineFunction, defineService, silentLog } from "@patchbay/functions";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { freePort } from "@patchbay/test-support/free-port";
import { startIssuer } from "@patchbay/test-support/issuer";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";
import { signIn } from "../support/console.ts";
import { REPLICAS } from "../support/replicas.ts";
import { UiChat } from "../support/ui-chat.ts";

/** A claim that the agent lists, and one that it does not. No model, answer or log line may have either. */
const [LISTED, UNLISTED] = ["ada@example.com", "+41-79-555"];

/** What each place of the owner's code received. */
const seen: [place: string, caller: CallerIdentity | undefined][] = [];
const note = (place: string, caller: CallerIdentity | undefined): void => void seen.push([place, caller]);

const hook = (place: string, caller: CallerIdentity | undefined): undefined => {
  note(place, caller);
  return undefined;
};

const guarded = defineFunction({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  roles: "everyone",
  authorize: ({ caller }) => {
    note("authorize", caller);
    return true;
  },
  approval: {
    by: ["caller"],
    when: ({ caller, context }) => {
      note("when", caller);
      return context["asks"] === true;
    },
  },
  handler: (_input, { caller }) => {
    note("handler", caller);
    return "looked";
  },
});
const service = defineService({
  name: "desk",
  functions: [guarded],
  subject: (_context, { caller }) => {
    note("subject", caller);
    return caller?.subject;
  },
  beforeQuery: ({ caller }) => hook("beforeQuery", caller),
  beforeCall: ({ caller }) => hook("beforeCall", caller),
  beforeAnswer: ({ caller }) => hook("beforeAnswer", caller),
});
const PLACES = ["subject", "beforeQuery", "authorize", "when", "beforeCall", "handler", "beforeAnswer"];

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let model: Awaited<ReturnType<typeof startStandIn>>;
let system: Awaited<ReturnType<typeof startSystem>>;
let address: string;
const lines: string[] = [];

beforeAll(async () => {
  issuer = await startIssuer();
  model = await startStandIn("anthropic", callThenAnswer([{ name: "look" }]));
  const port = await freePort();
  const log = { ...silentLog, info: (...line: unknown[]) => void lines.push(JSON.stringify(line)) };
  system = await startSystem({
    service,
    providers: model.config,
    port,
    publicUrl: `http://127.0.0.1:${port}`,
    callers: { issuer: issuer.url, audience: issuer.audience, roleClaim: "role" },
    log: { ...log, child: () => log },
  });
  const settings = { callers: "keyless" as const, callerClaims: ["email", "groups", "missing"] };
  await system.plane.admin.updateAgent(system.agentId, { settings });
  address = `${system.url}/agents/${system.agentId}`;
});
beforeEach(() => void seen.splice(0));
afterAll(async () => {
  await system?.[Symbol.asyncDispose]();
  await model?.close();
  await issuer?.[Symbol.asyncDispose]();
});

const tokenOf = (claims: object = {}) =>
  issuer.token({ role: "clerk", email: LISTED, groups: ["a", "b"], phone: UNLISTED, ...claims });
const ada = () => ({ subject: "ada", issuer: issuer.url, claims: { email: LISTED, groups: ["a", "b"] } });

/** How requests prove their caller, and the adapters. Each sends one query, or call, and returns the answer's text. */
const WAYS = {
  "a token next to a key": async () => ({ "x-api-key": system.apiKey, "x-patchbay-caller": await tokenOf() }),
  "only a token": async () => ({ authorization: `Bearer ${await tokenOf()}` }),
} satisfies Record<string, () => Promise<Record<string, string>>>;

type Headers = Record<string, string>;
async function sent(path: string, body: object, headers: Headers): Promise<string> {
  const accept = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  const response = await fetch(path, {
    method: "POST",
    headers: { ...accept, ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text;
}
const ADAPTERS: Record<string, (headers: Headers) => Promise<string>> = {
  "the query": (headers) => sent(`${address}/query`, { query: "hi" }, headers),
  "the query stream": (headers) => sent(`${address}/query-stream`, { query: "hi" }, headers),
  async "OpenAI's chat completions"(defaultHeaders) {
    const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: "-", maxRetries: 0, defaultHeaders });
    const messages = [{ role: "user" as const, content: "hi" }];
    return JSON.stringify(await client.chat.completions.create({ model: system.agentId, messages }));
  },
  async "the AI SDK's chat"(headers) {
    const chat = new UiChat(`${address}/ui-stream`, { headers });
    await chat.sendMessage({ text: "hi" });
    return JSON.stringify(chat.messages);
  },
};
const COMBINED = Object.keys(WAYS).flatMap((way) => Object.keys(ADAPTERS).map((adapter) => [way, adapter] as const));

test.each(COMBINED)(
  "with %s over %s, the owner's code knows the caller, and no model or client reads it",
  async (way, adapter) => {
    const text = await ADAPTERS[adapter]!(await WAYS[way as keyof typeof WAYS]());

    expect(new Set(seen.map(([place]) => place))).toEqual(new Set(PLACES));
    for (const [place, caller] of seen) expect(caller, place).toEqual(ada());
    const shown = [text, JSON.stringify(model.requests.at(-1)!.body), ...lines].join("\n");
    expect(shown).toContain("looked");
    for (const part of [LISTED, UNLISTED, issuer.url]) expect(shown).not.toContain(part);
  },
);

test.each(Object.keys(WAYS))("a tool call over MCP with %s has its caller", async (way) => {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "look", arguments: {} } };

  const text = await sent(`${address}/mcp`, call, await WAYS[way as keyof typeof WAYS]());

  expect(text).toContain("looked");
  expect(text).not.toContain(LISTED);
  expect(seen.filter(([place]) => place === "handler")).toEqual([["handler", ada()]]);
});

test("a check without a handler has its caller", async () => {
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["check"] });
  const asked = { toolName: "look", parameters: {} };

  await sent(`${address}/check`, asked, { "x-api-key": apiKey, "x-patchbay-caller": await tokenOf() });

  expect(seen).toEqual(["subject", "authorize", "when"].map((place) => [place, ada()]));
});

test("a client token keeps its caller with the claims that the agent listed", async () => {
  const request = { role: "clerk", expiresInSeconds: 60 };
  const made = await system.post(`/agents/${system.agentId}/client-tokens`, request, {
    "x-patchbay-caller": await tokenOf(),
  });
  const { token } = (await made.json()) as { token: string };

  const chat = new UiChat(`${address}/ui-stream`, { headers: { authorization: `Bearer ${token}` } });
  await chat.sendMessage({ text: "hi" });

  expect(seen.filter(([place]) => place === "handler")).toEqual([["handler", ada()]]);
});

test("a query without a token has no caller", async () => {
  await sent(`${address}/query`, { query: "hi" }, { "x-api-key": system.apiKey });

  expect(new Set(seen.map(([place]) => place))).toEqual(new Set(PLACES));
  for (const [place, caller] of seen) expect(caller, place).toBeUndefined();
});

test("a run that waited for an approval, and a repetition with another token, keep the caller of its query", async () => {
  const headers = { ...(await WAYS["a token next to a key"]()), "idempotency-key": "one" };
  const body = { query: "hi", contextJson: JSON.stringify({ asks: true }) };
  const { runId } = JSON.parse(await sent(`${address}/query`, body, headers)) as { runId: string };
  const [approval] = await system.plane.store.approvals.ofRun(runId);
  const fresh = await tokenOf({ email: "new@example.com" });
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve"] });
  await sent(
    `${address}/approvals/${approval!.approvalId}/decision`,
    { approved: true },
    { "x-api-key": apiKey, "x-patchbay-caller": fresh },
  );

  const again = await sent(`${address}/query`, body, { ...headers, "x-patchbay-caller": fresh });

  expect(JSON.parse(again)).toMatchObject({ runId, success: true });
  expect(seen.filter(([place]) => place === "handler")).toEqual([["handler", ada()]]);
});

test("a repetition in the console has the caller of the repeated run, and a test call has none", async () => {
  const headers = await WAYS["a token next to a key"]();
  const { runId } = JSON.parse(await sent(`${address}/query`, { query: "hi" }, headers)) as { runId: string };
  seen.splice(0);
  const ask = await signIn(system.plane, system.orgId);
  const path = `/agents/${system.agentId}`;

  expect((await ask(`${path}/runs/${runId}/reruns`, { method: "POST", body: {} })).status).toBe(201);
  await expect.poll(() => seen.filter(([place]) => place === "handler")).toEqual([["handler", ada()]]);
  seen.splice(0);
  await ask(`${path}/functions/look/test-calls`, { method: "POST", body: { arguments: {} } });
  expect(seen.filter(([place]) => place === "handler")).toEqual([["handler", undefined]]);
});

test("a runtime at another replica has the caller", async (t) => {
  const replicas = await REPLICAS["two replicas on Postgres and NATS"]({
    providers: model.config,
    callers: { issuer: issuer.url, audience: issuer.audience },
  });
  if (!replicas) return t.skip();
  await using _ = replicas;
  const [first, second] = replicas.planes;
  const { agentId, runtimeKey } = replicas;
  await first!.admin.updateAgent(agentId, { settings: { callerClaims: ["email"] } });
  const runtime = connect(service, { url: second!.url, agentId, key: runtimeKey, log: silentLog });
  await runtime.ready;

  await replicas.clients[0]!.query("hi", {}, { "x-patchbay-caller": await tokenOf() });

  expect(new Set(seen.map(([place]) => place))).toEqual(new Set(PLACES));
  for (const [place, caller] of seen) expect(caller, place).toEqual({ ...ada(), claims: { email: LISTED } });
  await runtime.stop();
});
