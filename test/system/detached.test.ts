import { connect, defineFunction, defineService, type Log, silentLog } from "@patchbay/functions";
import type { RunDetail } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { until } from "@patchbay/test-support/inbox";
import { mcpClient } from "@patchbay/test-support/mcp-client";
import { readAlong } from "@patchbay/test-support/reader";
import { parseSse } from "@patchbay/test-support/sse";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";
import { REPLICAS } from "../support/replicas.ts";

/** A service whose exports run until the test ends or stops them. */
function createShop({ timeoutMs = 600_000, approval = false } = {}) {
  const begun: { callId: string; signal: AbortSignal }[] = [];
  const gate = Promise.withResolvers<void>();
  const step = Promise.withResolvers<void>();
  const exportOrders = defineFunction({
    name: "export_orders",
    description: "Exports all orders.",
    input: z.object({}),
    roles: ["clerk"],
    detached: true,
    timeoutMs,
    ...(approval && { approval: { by: ["manager"] } }),
    async handler(_, { callId, signal, progress }) {
      begun.push({ callId, signal });
      progress({ done: 1 });
      await step.promise;
      progress({ done: 2 });
      const stopped = new Promise((resolve) => signal.addEventListener("abort", resolve));
      await Promise.race([gate.promise, stopped]);
      return { rows: 10 };
    },
  });
  const service = defineService({ name: "shop", roles: ["clerk", "manager"], functions: [exportOrders] });
  return { service, begun, step: step.resolve, end: gate.resolve };
}

/** Replicas, and the shop's runtime at the last one. Undefined if this machine has no NATS server. */
async function startShop(
  open: (typeof REPLICAS)[keyof typeof REPLICAS],
  options: Parameters<typeof createShop>[0] = {},
) {
  await using opening = new AsyncDisposableStack();
  const shop = createShop(options);
  const call = { name: "export_orders", arguments: {} };
  const standIn = opening.adopt(
    await startStandIn(
      "anthropic",
      callThenAnswer([call], () => "Done."),
    ),
    (one) => one.close(),
  );
  const replicas = await open({ providers: standIn.config, runTimeoutMs: 60_000 });
  if (!replicas) return undefined;
  opening.use(replicas);
  const { agentId, runtimeKey: key } = replicas;
  const runtime = connect(shop.service, { url: replicas.planes.at(-1)!.url, agentId, key, log: silentLog });
  opening.defer(() => runtime.stop({ drainMs: 0 }));
  await runtime.ready;
  const opened = opening.move();
  const first = () => replicas.clients[0]!;
  const keyed = { "idempotency-key": "k" };
  const query = (more: Record<string, string> = {}) =>
    first().query("Export", { role: "clerk" }, { ...keyed, ...more });
  return {
    ...shop,
    replicas,
    first,
    query,
    run: async (runId: string) => (await (await first().get(`/agents/${agentId}/runs/${runId}`)).json()) as RunDetail,
    cancel: (runId: string) => first().post(`/agents/${agentId}/runs/${runId}/cancel`, {}),
    stream: async () =>
      readAlong(
        await first().post(`/agents/${agentId}/query-stream`, { query: "Export", role: "clerk", includeDeltas: true }),
      ),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const engines = Object.entries(REPLICAS);

test.for(engines)("%s: a run waits for a detached function over a restart, and has its result", async ([, open]) => {
  await using shop = await startShop(open);
  if (!shop) return;

  const waits = await shop.query();
  const { runId } = waits;
  expect(waits).toMatchObject({
    success: false,
    response: "",
    code: "call_running",
    errorMessage: "Waiting for a function",
    calls: [{ toolName: "export_orders", startedAt: expect.any(String) }],
    toolInteractions: [{ toolName: "export_orders", success: false, code: "call_running" }],
  });
  expect(await shop.query({ prefer: "wait=1" })).toMatchObject({ code: "call_running" });
  await shop.replicas.restart();
  shop.step();
  const progress = async () => (await shop.run(runId)).calls?.[0]?.progress;
  await until(async () => JSON.stringify(await progress()) === '{"done":2}', "the progress");
  expect(await shop.run(runId)).toMatchObject({ status: "waiting", waitingFor: "function", finishedAt: null });
  shop.end();

  const answer = await shop.query({ prefer: "wait=60" });

  expect(answer).toMatchObject({ success: true, response: "Done.", runId });
  expect(answer.toolInteractions).toMatchObject([{ success: true, result: { rows: 10 } }]);
  expect(shop.begun).toHaveLength(1);
});

test.for(engines)("%s: a cancelled run ends, and its handler is stopped", async ([, open]) => {
  await using shop = await startShop(open);
  if (!shop) return;
  shop.step();
  const { runId } = await shop.query();

  expect((await shop.cancel(runId)).status).toBe(202);

  await until(() => shop.begun[0]!.signal.aborted, "the handler's abort");
  await until(async () => (await shop.run(runId)).status === "cancelled", "the end of the run");
  expect(await shop.query()).toMatchObject({ code: "cancelled", toolInteractions: [{ code: "cancelled" }] });
});

test.for(engines)("%s: a handler whose time is over is stopped, and the run continues", async ([, open]) => {
  await using shop = await startShop(open, { timeoutMs: 2_000 });
  if (!shop) return;
  shop.step();
  await shop.query();

  const answer = await shop.query({ prefer: "wait=60" });

  expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: false, code: "timed_out" }] });
  expect(shop.begun[0]!.signal.aborted).toBe(true);
});

test.for(engines)("%s: a detached function begins after its approval", async ([, open]) => {
  await using shop = await startShop(open, { approval: true });
  if (!shop) return;
  const { agentId, planes } = shop.replicas;
  const { apiKey } = await planes[0]!.admin.createKey({ agentId, can: ["approve"] });
  const { approvals: [asked] = [], runId } = await shop.query();
  expect([shop.begun.length, (await shop.run(runId)).waitingFor]).toEqual([0, "approval"]);

  const path = `/agents/${agentId}/approvals/${asked!.approvalId}/decision`;
  await shop.first().post(path, { approved: true, as: "manager" }, { "x-api-key": apiKey });
  await until(async () => (await shop.run(runId)).waitingFor === "function", "the function");
  shop.step();
  shop.end();

  expect(await shop.query({ prefer: "wait=60" })).toMatchObject({
    success: true,
    toolInteractions: [{ success: true }],
  });
  expect(shop.begun).toHaveLength(1);
});

test.for(engines)(
  "%s: a stream shows the progress and the result, and a client that leaves resumes it",
  async ([, open]) => {
    await using shop = await startShop(open);
    if (!shop) return;
    const { agentId } = shop.replicas;
    const stream = await shop.stream();
    await until(async () => (await shop.run(stream.runId)).status === "waiting", "the run to wait");

    const resumed = readAlong(
      await shop.first().get(`/agents/${agentId}/runs/${stream.runId}/events`, { "last-event-id": "1" }),
    );
    shop.step();
    await stream.seen(/"done":2/);
    shop.end();
    await Promise.all([stream.over, resumed.over]);

    const types = (text: string) => parseSse(text).map(({ data }) => data.type);
    expect(types(stream.text).filter((type) => !/Delta|Progress/.test(type))).toEqual([
      "toolCall",
      "toolResult",
      "finalResponse",
    ]);
    expect(types(resumed.text)).toEqual(["toolResult", "finalResponse"]);
  },
);

test.for(engines)("%s: the run of a client that asked for it is cancelled when it has left", async ([, open]) => {
  await using shop = await startShop(open);
  if (!shop) return;
  shop.step();
  const { agentId, planes } = shop.replicas;
  const { apiKey } = await planes[0]!.admin.createKey({ agentId });
  const leaves = new AbortController();
  const response = await fetch(`${planes[0]!.url}/agents/${agentId}/query-stream`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": apiKey, "x-on-disconnect": "cancel" },
    body: JSON.stringify({ query: "Export", role: "clerk" }),
    signal: leaves.signal,
  });
  const { runId } = readAlong(response);
  await until(async () => (await shop.run(runId)).status === "waiting", "the run to wait");

  leaves.abort();

  await until(() => shop.begun[0]!.signal.aborted, "the handler's abort");
  expect(await shop.run(runId)).toMatchObject({ status: "cancelled" });
});

test.for(engines)("%s: MCP clients wait for progress and the result, OpenAI clients do not", async ([, open]) => {
  await using shop = await startShop(open);
  if (!shop) return;
  const { replicas, first } = shop;
  const { agentId } = replicas;
  const { url, admin } = replicas.planes[0]!;
  const { apiKey } = await admin.createKey({ agentId });
  await using client = await mcpClient({ url, agentId, apiKey }, { headers: { "X-Patchbay-Role": "clerk" } });
  const seen: unknown[] = [];
  const called = client.callTool(
    { name: "export_orders", arguments: {} },
    { onprogress: (progress) => void seen.push(progress) },
  );
  await until(async () => shop.begun.length === 1, "the handler");
  shop.step();
  await until(async () => seen.length > 0, "the progress");
  const body = { model: `${agentId}:clerk`, messages: [{ role: "user", content: "Export" }] };
  const asked = await first().post(`/agents/${agentId}/v1/chat/completions`, body);
  expect([asked.status, await asked.json()]).toEqual([
    409,
    { error: expect.objectContaining({ code: "call_running", message: "Waiting for a function" }) },
  ]);
  shop.end();
  expect(await called).toMatchObject({ content: [{ type: "text", text: JSON.stringify({ rows: 10 }) }] });
});

/** The shop's function as a release before detached functions has it. */
const olderShop = (calls: string[]) =>
  defineService({
    name: "shop",
    roles: ["clerk", "manager"],
    functions: [
      defineFunction({
        name: "export_orders",
        description: "Exports all orders.",
        input: z.object({}),
        roles: ["clerk"],
        handler: (_, { callId }) => void calls.push(callId),
      }),
    ],
  });

test.for(engines)("%s: a runtime of an earlier release receives no detached call", async ([, open]) => {
  await using shop = await startShop(open);
  if (!shop) return;
  const older: string[] = [];
  const { planes, agentId, runtimeKey: key } = shop.replicas;
  const options = { url: planes[0]!.url, agentId, key, log: silentLog, deployment: "release-1" };
  const runtimes = [1, 2, 3].map(() => connect(olderShop(older), options));
  await using _ = { [Symbol.asyncDispose]: async () => void (await Promise.all(runtimes.map((one) => one.stop()))) };
  await Promise.all(runtimes.map(({ ready }) => ready));
  const newest = connect(shop.service, { ...options, deployment: "release-2" });
  await using __ = { [Symbol.asyncDispose]: () => newest.stop({ drainMs: 0 }) };
  await newest.ready;
  shop.step();
  shop.end();

  const keys = ["a", "b", "c", "d"];
  const answers = await Promise.all(keys.map((key) => shop.query({ "idempotency-key": key, prefer: "wait=60" })));

  expect(answers).toMatchObject(keys.map(() => ({ success: true, toolInteractions: [{ result: { rows: 10 } }] })));
  expect([shop.begun.length, older]).toEqual([4, []]);
});

test("a runtime logs which of its functions end with their run, unless they are detached", async () => {
  const warnings: unknown[] = [];
  const log: Log = { ...silentLog, warn: (text, more) => void warnings.push([text, more]), child: () => log };
  const shared = { description: "Works.", input: z.object({}), roles: ["clerk"], handler: () => null };
  const named = (name: string, more: object) => defineFunction({ ...shared, name, ...more });
  const functions = [
    named("usual", {}),
    named("long", { timeoutMs: 90_000 }),
    named("longer", { timeoutMs: 90_001 }),
    named("longest", { timeoutMs: 90_001, detached: true }),
  ];
  await using system = await startSystem({ runTimeoutMs: 90_000 });
  await system.connect(defineService({ name: "shop", roles: ["clerk"], functions }), { log });

  expect(warnings).toEqual([
    [
      "warning about the function set",
      {
        warning:
          "function longer has a timeoutMs of 90001, but its run ends after 90000 ms. Raise --run-timeout of the control plane, or set detached: true",
      },
    ],
  ]);
});
