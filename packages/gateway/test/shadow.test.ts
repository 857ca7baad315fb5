import { connect, defineFunction, defineService, everyone, silentLog, type Service } from "@patchbay/functions";
import type { CallOutcome } from "@patchbay/protocol";
import { WebSocket } from "ws";
import { hashManifest } from "../src/routing/manifest-hash.ts";
import { expect, test, vi } from "vitest";
import { orderFor, startGateway, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { sampleCall, sampleRequest, sampleRun } from "../../store/test/contract/world.ts";

const ran: string[] = [];
const input = { type: "object", properties: { text: { type: "string" } } } as const;

/** A service whose `echo` these roles may call. */
function desk(roles: string[] | typeof everyone, name = "desk"): Service {
  const handler = () => void ran.push(name);
  return defineService({
    name,
    functions: [defineFunction({ name: "echo", description: "x", input, roles, handler })],
  });
}

const options = ({ port }: GatewayServer) => ({ url: `http://127.0.0.1:${port}`, key: "key-of-a", log: silentLog });

async function startShadow(server: GatewayServer, service: Service) {
  const connection = connect(service, { ...options(server), shadow: true });
  await connection.ready;
  return { connection, [Symbol.asyncDispose]: () => connection.stop({ drainMs: 0 }) };
}

/** Ends a call of `echo` as the active set decided on it. */
async function endCall({ store }: GatewayServer, callId: string, outcome: CallOutcome, role?: string): Promise<string> {
  const request = sampleRequest({ context: { shop: 1 }, ...(role !== undefined && { role }) });
  const run = sampleRun({ orgId: "org", agentId: "agent-a", request });
  await store.all.runs.start(run);
  const call = sampleCall(callId, { functionName: "echo", arguments: {}, outcome });
  await store.all.runs.commit({ runId: run.runId, fence: 1 }, { calls: [call] });
  return run.runId;
}

const shadowRow = async ({ store }: GatewayServer) =>
  await store.all.engine.db.selectFrom("shadows").selectAll().executeTakeFirst();

const judged = (server: GatewayServer, count: number) =>
  vi.waitFor(async () => expect((await shadowRow(server))?.judged).toBe(count));

const hidden: CallOutcome = { ok: false, code: "unknown_function", message: "x", rule: "roles" };

test("a candidate is asked about each ended call of its service, and the differences are counted", async () => {
  ran.length = 0;
  await using server = await startGateway({ shadowMs: 10 });
  await using _shadow = await startShadow(server, desk(["clerk"]));

  await endCall(server, "c1", { ok: true, value: 1 }, "clerk");
  const denied = await endCall(server, "c2", hidden, "clerk");
  await endCall(server, "c3", hidden);
  await endCall(server, "c4", { ok: false, code: "call_limit", message: "x" }, "clerk");
  await judged(server, 3);

  const changes = await server.store.all.engine.db.selectFrom("shadow_changes").selectAll().execute();
  expect(changes).toMatchObject([
    {
      function_name: "echo",
      role: '"clerk"',
      was: "denied (roles)",
      decision: "allowed",
      calls: 1,
      examples: `["${denied}"]`,
    },
  ]);
  expect(ran).toEqual([]);
});

test("a candidate's data-flow rules decide with its checks", async () => {
  const fault = { rule: "target", member: "text" } as const;
  const modes = { c1: "report", c2: "ask", c3: "deny", c4: "deny" } as const;
  const replay =
    () =>
    async ({ callId }: { callId: string }) => ({ mode: modes[callId as keyof typeof modes], fault, after: [] });
  await using server = await startGateway({ shadowMs: 10, replay });
  await using _shadow = await startShadow(server, desk(["clerk"]));

  for (const callId of ["c1", "c2", "c3"]) await endCall(server, callId, { ok: true, value: 1 }, "clerk");
  await endCall(server, "c4", hidden);
  await judged(server, 4);

  const changes = await server.store.all.engine.db.selectFrom("shadow_changes").select(["was", "decision"]).execute();
  expect(changes.toSorted((a, b) => (a.decision < b.decision ? -1 : 1))).toEqual([
    { was: "allowed", decision: "approval (flow: target)" },
    { was: "allowed", decision: "denied (flow: target)" },
  ]);
});

test("a candidate is not a runtime: no query, set or call reaches it, also by its instance id", async () => {
  ran.length = 0;
  await using server = await startGateway({ shadowMs: 10, arrivalMs: 10, reconnectMs: 10 });
  await using shadow = await startShadow(server, desk(everyone));
  const { signal } = new AbortController();
  const { gateway, store } = server;

  expect(await gateway.connected("agent-a")).toBe(false);
  expect(await gateway.session("agent-a", { signal })).toBeUndefined();
  expect(await gateway.serving("agent-a")).toEqual({ services: [] });
  const order = orderFor(shadow.connection.instanceId);
  expect(await gateway.deliver(order, { signal })).toEqual({ kind: "undelivered" });
  expect(await gateway.recover(order, { signal })).not.toHaveProperty("outcome.ok", true);
  for (const table of ["function_sets", "runtimes", "manifests"] as const)
    expect(await store.all.engine.db.selectFrom(table).selectAll().execute(), table).toEqual([]);
  expect(ran).toEqual([]);
});

test("next to a runtime, every call goes to the runtime, and the active functions are its functions", async () => {
  ran.length = 0;
  await using server = await startGateway({ shadowMs: 10 });
  const runtime = connect(desk(["clerk"]), options(server));
  await runtime.ready;
  await using _shadow = await startShadow(server, desk(everyone));
  const { signal } = new AbortController();

  const session = await server.gateway.session("agent-a", { signal });
  const assigned = await Promise.all(
    Array.from({ length: 20 }, () => server.gateway.assign("agent-a", session!.manifestHash, "echo", { signal })),
  );

  expect(session!.manifest.functions[0]!.roles).toEqual(["clerk"]);
  expect(new Set(assigned)).toEqual(new Set([runtime.instanceId]));
  await runtime.stop({ drainMs: 0 });
});

test("of two candidates, each call is asked about once, and the other one continues when the first leaves", async () => {
  await using server = await startGateway({ shadowMs: 10 });
  const first = await startShadow(server, desk(["clerk"]));
  await using _second = await startShadow(server, desk(["clerk"]));
  await endCall(server, "c1", hidden, "clerk");
  await judged(server, 1);

  await first[Symbol.asyncDispose]();
  await endCall(server, "c2", hidden, "clerk");

  await judged(server, 2);
});

test("a replica asks the candidate at any replica about one stored call, and nothing about other services", async () => {
  await using server = await startGateway({ shadowMs: 10 });
  await using _shadow = await startShadow(server, desk(["clerk"]));
  const { signal } = new AbortController();
  const call = { callId: "c1", runId: "r1", functionName: "echo", role: "clerk", context: {}, arguments: {} };
  const stored = { ...call, decision: undefined, rule: undefined, succeeded: true, redacted: [], manifestHash: "x" };
  const ask = (more: object = {}, hash = hashManifest(desk(["clerk"]).manifest)) =>
    server.gateway.judge("agent-a", hash, { ...stored, manifest: undefined, ...more }, signal);

  expect(await ask()).toEqual({ decision: "allowed" });
  expect(await ask({ role: undefined })).toEqual({ decision: "denied", rule: "roles" });
  expect(await ask({ manifest: desk(["clerk"]).manifest })).toEqual({ decision: "allowed" });
  expect(await ask({ manifest: desk(["clerk"], "other").manifest })).toEqual({});
  await expect(ask({}, "other")).rejects.toMatchObject({ code: "conflict" });
});

const hello = { version: 1, instanceId: "i1", manifest: desk(everyone).manifest, sdk: "test" };
const result = { type: "result", callId: "c1", attempt: 1, outcome: { ok: true, value: 1 } };
const answer = { type: "judged", id: "q1", decision: "allowed" };

test.each<[string, (socket: WebSocket) => void]>([
  [
    "results or a hello",
    (socket) => {
      for (let i = 0; i < 5; i++) {
        socket.send(JSON.stringify(result));
        socket.send(JSON.stringify({ type: "hello", ...hello, concurrency: 1 }));
      }
    },
  ],
  [
    "answers to no question",
    (socket) => {
      for (let i = 0; i < 10; i++) socket.send(JSON.stringify(answer));
    },
  ],
  [
    "pings without pause",
    (socket) => {
      for (let i = 0; i < 1_001; i++) socket.ping();
    },
  ],
])("a candidate that sends %s is disconnected", async (_what, misbehave) => {
  await using server = await startGateway({ shadowMs: 10 });
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/functions/connect`, {
    headers: { Authorization: "Bearer key-of-a" },
  });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on("close", () => resolve());
  socket.on("error", () => {});
  socket.on("open", () => socket.send(JSON.stringify({ type: "shadow", ...hello })));
  socket.once("message", () => misbehave(socket));

  await closed;

  expect(await server.gateway.connected("agent-a")).toBe(false);
});
