import { readFile } from "node:fs/promises";
import { connect as connectTcp, type Socket } from "node:net";
import { join } from "node:path";
import { type CallerWithToken, connect, defineFunction, defineService, silentLog } from "@patchbay/functions";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { startIssuer } from "@patchbay/test-support/issuer";
import { testNats } from "@patchbay/test-support/nats";
import { callThenAnswer, type Script, startStandIn } from "@patchbay/test-support/providers";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";
import { signIn } from "../support/console.ts";
import { REPLICAS } from "../support/replicas.ts";
import { keepSpans } from "../support/spans.ts";
import { UiChat } from "../support/ui-chat.ts";

/** The callers that handlers received, by function. */
const handled: [name: string, caller: CallerWithToken | undefined][] = [];
const lines: string[] = [];
const keep = (...line: unknown[]): void => void lines.push(JSON.stringify(line));
const log = { ...silentLog, debug: keep, info: keep, warn: keep, error: keep, child: () => log };

const functionFor = (name: string, more: object = {}) =>
  defineFunction({
    name,
    description: `Does ${name}.`,
    input: z.object({}),
    roles: "everyone",
    authorize: ({ caller }) => !Object.hasOwn(caller ?? {}, "token"),
    ...more,
    handler: (_input, { caller }) => {
      handled.push([name, caller]);
      return `${name} was done`;
    },
  });
const service = defineService({
  name: "desk",
  functions: [
    functionFor("act", { needsCallerToken: true }),
    functionFor("look"),
    functionFor("confirm", { needsCallerToken: true, approval: { by: ["caller"] } }),
  ],
  beforeCall: ({ caller }) => {
    expect(caller ?? {}).not.toHaveProperty("token");
    return undefined;
  },
});

let issuer: Awaited<ReturnType<typeof startIssuer>>;
beforeEach(async () => {
  issuer = await startIssuer();
  handled.splice(0);
  lines.splice(0);
});
afterEach(async () => await issuer[Symbol.asyncDispose]());

const soon = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

async function start(calls: string[], options: SystemOptions = {}) {
  const model = await startStandIn("anthropic", callThenAnswer(calls.map((name) => ({ name }))));
  const callers = { issuer: issuer.url, audience: issuer.audience, roleClaim: "role" };
  const system = await startSystem({ providers: model.config, callers, log, ...options });
  const runtime = connect(service, { url: system.url, agentId: system.agentId, key: system.runtimeKey, log });
  await runtime.ready;
  return {
    ...system,
    model,
    async [Symbol.asyncDispose]() {
      await runtime.stop();
      await system[Symbol.asyncDispose]();
      await model.close();
    },
  };
}

test("the handler of a function that needs it gets the token, which nothing stores, logs, traces or shows", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "data.db");
  using kept = keepSpans();
  await using system = await start(["act", "look"], { database: `sqlite:${file}` });
  const token = await issuer.token({ role: "clerk" });

  const { text } = await system.stream("hi", {}, { "x-patchbay-caller": token });

  const ada = { subject: "ada", issuer: issuer.url, claims: {} };
  expect(handled).toEqual([
    ["act", { ...ada, token }],
    ["look", ada],
  ]);
  const spans = kept.spans.map(({ name, attributes, events }) => JSON.stringify({ name, attributes, events }));
  const database = await Promise.all(["", "-wal"].map((end) => readFile(file + end, "latin1").catch(() => "")));
  const asked = system.model.requests.map(({ body }) => JSON.stringify(body));
  // Each has something of the query, and so would show the token.
  expect([database.join("").includes("act was done"), asked.length, spans.length > 0, lines.length > 0]).toEqual([
    true,
    2,
    true,
    true,
  ]);
  const [, payload, signature] = token.split(".");
  for (const part of [payload!, signature!])
    expect([text, ...database, ...asked, ...spans, ...lines].join("\n")).not.toContain(part);
});

test("a call over MCP and one that its caller confirmed have the token", async () => {
  await using system = await start(["confirm"]);
  const token = await issuer.token({ role: "clerk" });
  const headers = { "x-patchbay-caller": token, accept: "application/json, text/event-stream" };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "act", arguments: {} } };
  expect(await (await system.post(`/agents/${system.agentId}/mcp`, call, headers)).text()).toContain("act was done");

  const { runId } = await system.query("hi", {}, headers);
  const [approval] = await system.plane.store.approvals.ofRun(runId);
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve"] });
  const path = `/agents/${system.agentId}/approvals/${approval!.approvalId}/decision`;
  await system.post(path, { approved: true }, { ...headers, "x-api-key": apiKey });

  await vi.waitFor(() =>
    expect(handled.map(([name, caller]) => [name, caller?.token])).toEqual([
      ["act", token],
      ["confirm", token],
    ]),
  );
});

test("without a token a call is denied, and beyond the token's life it ends before the handler", async () => {
  await using system = await start(["act"]);

  expect((await system.query("hi")).toolInteractions).toMatchObject([{ success: false, code: "denied" }]);
  const { items } = await system.plane.store.audit.list({ agentId: system.agentId, action: "call.denied", limit: 1 });
  expect(items).toMatchObject([{ rule: "caller_token" }]);
  // The verification allows for clocks that differ.
  const late = { "x-patchbay-caller": await issuer.token({ exp: soon(-10) }) };
  expect((await system.query("hi", {}, late)).toolInteractions).toMatchObject([
    { success: false, code: "caller_token_expired", errorMessage: expect.stringContaining("Send the query again") },
  ]);
  expect(handled).toEqual([]);
});

test("a page has no token: its client token keeps only what the token proved", async () => {
  await using system = await start(["act"]);
  const request = { role: "clerk", expiresInSeconds: 60 };
  const headers = { "x-patchbay-caller": await issuer.token({ role: "clerk" }) };
  const made = await system.post(`/agents/${system.agentId}/client-tokens`, request, headers);
  const { token } = (await made.json()) as { token: string };

  const chat = new UiChat(`${system.url}/agents/${system.agentId}/ui-stream`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await chat.sendMessage({ text: "hi" });

  expect(JSON.stringify(chat.messages)).toContain("the token of its caller has expired");
  expect(handled).toEqual([]);
});

test("a retry has the token that it is asked for with, and a repetition by a member has none", async () => {
  let down = true;
  const script: Script = ({ step }) => {
    if (step === 1 && down) return { error: { status: 401 } };
    return step < 2 ? { calls: [{ name: step === 0 ? "look" : "act" }] } : { text: "Done." };
  };
  const model = await startStandIn("anthropic", script);
  await using system = await start([], { providers: model.config });
  const headersOf = async (jti: string) => ({ "x-patchbay-caller": await issuer.token({ jti, role: "clerk" }) });
  const failed = await system.query("hi", {}, await headersOf("first"));
  down = false;
  const again = await headersOf("second");

  const path = `/agents/${system.agentId}/runs/${failed.runId}/retry`;
  const retried = await system.post(path, undefined, { ...again, prefer: "wait=60" });

  expect(await retried.json()).toMatchObject({ success: true });
  expect(handled.map(([name, caller]) => [name, caller?.token])).toEqual([
    ["look", undefined],
    ["act", again["x-patchbay-caller"]],
  ]);
  const ask = await signIn(system.plane, system.orgId);
  const { runId } = await system.query("hi", {}, again);
  handled.splice(0);
  await ask(`/agents/${system.agentId}/runs/${runId}/reruns`, { method: "POST", body: {} });
  await vi.waitFor(() => expect(handled.map(([name]) => name)).toEqual(["look"]));
  await vi.waitFor(async () => {
    const { items } = await system.plane.store.audit.list({ agentId: system.agentId, action: "call.failed", limit: 1 });
    expect(items).toMatchObject([{ functionName: "act", rule: "caller_token_expired" }]);
  });
  await model.close();
});

/** Two replicas, with a runtime at each of `at`, and a model whose first turn waits for `released`. */
async function startReplicas(at: number[], script: Script) {
  const model = await startStandIn("anthropic", script);
  const callers = { issuer: issuer.url, audience: issuer.audience };
  const replicas = await REPLICAS["two replicas on Postgres and NATS"]({ providers: model.config, callers, log });
  if (!replicas) return undefined;
  const { agentId, runtimeKey, planes } = replicas;
  const runtimes = at.map((one) => connect(service, { url: planes[one]!.url, agentId, key: runtimeKey, log }));
  await Promise.all(runtimes.map(({ ready }) => ready));
  return {
    ...replicas,
    planes,
    async [Symbol.asyncDispose]() {
      await Promise.all(runtimes.map((runtime) => runtime.stop({ drainMs: 0 })));
      await replicas[Symbol.asyncDispose]();
      await model.close();
    },
  };
}

/** All bytes on the bus, until disposed. */
async function listen(): Promise<{ text: () => string; socket: Socket } & Disposable> {
  const { hostname, port } = new URL((await testNats())!);
  let text = "";
  const socket = connectTcp(Number(port), hostname);
  const subscribed = Promise.withResolvers<void>();
  socket.on("data", (bytes) => {
    text += bytes.toString("latin1");
    if (text.includes("PONG")) subscribed.resolve();
  });
  socket.write('CONNECT {"verbose":false}\r\nSUB > 1\r\nPING\r\n');
  await subscribed.promise;
  return { text: () => text, socket, [Symbol.dispose]: () => void socket.destroy() };
}

test("a call goes to a runtime of the replica that has the token, and the token is never on the bus", async (t) => {
  const script = callThenAnswer([{ name: "act" }]);
  await using system = await startReplicas([1, 0, 1], script);
  if (!system) return t.skip();
  using bus = await listen();
  const token = await issuer.token();
  for (const replica of [0, 1, 0, 1]) await system.clients[replica]!.query("hi", {}, { "x-patchbay-caller": token });
  expect(handled.map(([, caller]) => caller?.token)).toEqual([token, token, token, token]);

  await using far = await startReplicas([1], script);
  const { toolInteractions } = await far!.clients[0]!.query("hi", {}, { "x-patchbay-caller": token });

  expect(toolInteractions).toMatchObject([{ success: false, code: "caller_token_expired" }]);
  expect(handled).toHaveLength(4);
  expect(bus.text()).toContain("caller_token_expired");
  expect(bus.text()).not.toContain(token.split(".")[1]);
});

test("a replica that takes over a run does not have its token, and the call ends before the handler", async (t) => {
  const begun = Promise.withResolvers<void>();
  let turns = 0;
  const once = callThenAnswer([{ name: "act" }]);
  await using system = await startReplicas([0, 1], (...asked) => {
    if (turns++ > 0) return once(...asked);
    begun.resolve();
    return new Promise(() => {});
  });
  if (!system) return t.skip();
  const headers = { "x-patchbay-caller": await issuer.token(), prefer: "respond-async" };
  const accepted = await system.clients[0]!.post(`/agents/${system.agentId}/query`, { query: "hi" }, headers);
  const { runId } = (await accepted.json()) as { runId: string };
  await begun.promise;

  await system.planes[0]!.close({ graceMs: 0 });

  await vi.waitFor(
    async () => {
      const read = await system.clients[1]!.get(`/agents/${system.agentId}/runs/${runId}`, headers);
      expect(await read.json()).toMatchObject({
        status: "succeeded",
        result: { toolInteractions: [{ success: false, code: "caller_token_expired" }] },
      });
    },
    { timeout: 20_000 },
  );
  expect(handled).toEqual([]);
});
