import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportRun, type ExportedRun } from "@patchbay/control-plane/admin";
import { defineFunction, defineService, FunctionError } from "@patchbay/functions";
import { runQuery, scriptedModel, startTestServer, type Script } from "@patchbay/functions/testing";
import { z } from "zod";
import { expect, test } from "vitest";
import { startSystem } from "@patchbay/test-support/system";

const orders: Record<string, { owner: string; total: number }> = { "1": { owner: "ann", total: 12 } };

/** `ran` counts the handlers that ran. */
function ordersDesk(ran = { count: 0 }) {
  return defineService({
    name: "orders",
    instructions: "Be kind.",
    context: z.object({ customerId: z.string().optional(), secret: z.string().optional() }),
    subject: ({ customerId }) => customerId,
    modelContext: ({ customerId }) => ({ customerId }),
    functions: [
      defineFunction({
        name: "get_order",
        description: "Gets an order.",
        input: z.object({ order: z.string(), note: z.string().default("none") }),
        roles: ["customer"],
        authorize: ({ context, input }) => orders[input.order]?.owner === context["customerId"] || "Not yours.",
        handler({ order }, { callId }) {
          ran.count++;
          return { ...orders[order], call: callId };
        },
      }),
      defineFunction({
        name: "pay",
        description: "Pays.",
        input: z.object({}),
        roles: ["customer"],
        handler(): string {
          ran.count++;
          throw new FunctionError("card refused");
        },
      }),
    ],
  });
}

const script: Script = [
  { text: "I look.", calls: [["get_order", { order: "1" }], ["get_order", { order: "2" }], ["pay"], ["none"]] },
  "It costs 12.",
  "Nothing for you.",
  "First I think.",
  "As I said: 12.",
];
const context = { customerId: "ann", secret: "not-exported" };

/** Sends two queries of one conversation with one of another role between them, and exports the last one. */
async function exportConversation(folder: string) {
  await using system = await startSystem({
    service: ordersDesk(),
    model: scriptedModel(script),
    instructions: "Be brief.",
  });
  const body = { role: "customer", contextJson: JSON.stringify(context) };
  const { threadId } = await system.query("What is order 1?", body);
  await system.query("And for me?", { role: "other", threadId });
  const { runId } = await system.query("Are you sure?", { ...body, threadId, analysisMode: true });
  const exported = await exportRun(system.plane.store, runId);
  const file = join(folder, "run.json");
  writeFileSync(file, JSON.stringify(exported, null, 2));
  return { exported, file };
}

async function replayConversation(options: { replay: string; ran?: { count: number }; results?: "recorded" }) {
  const { ran, ...rest } = options;
  await using desk = await startTestServer(ordersDesk(ran), { ...rest, instructions: "Be brief." });
  const first = await desk.query({ query: "What is order 1?", role: "customer", context });
  const { threadId } = first.answer;
  const last = await desk.query({ query: "Are you sure?", role: "customer", context, threadId, analysisMode: true });
  return { first, last };
}

const place = () => mkdtempDisposableSync(join(tmpdir(), "patchbay-export-"));

test("an exported run contains the queries before it, and only the names of their context", async () => {
  using folder = place();

  const { exported } = await exportConversation(folder.path);

  expect(exported.queries).toEqual([
    { query: "What is order 1?", role: "customer", contextKeys: ["customerId", "secret"] },
    { query: "Are you sure?", role: "customer", contextKeys: ["customerId", "secret"], analysisMode: true },
  ]);
  expect(exported.instructions).toBe("Be brief.");
  expect(JSON.stringify(exported)).not.toContain("not-exported");
  expect(JSON.stringify(exported)).not.toContain("And for me?");
});

test("an exported run is replayed without a model and without its data", async () => {
  using folder = place();
  const { file } = await exportConversation(folder.path);
  const ran = { count: 0 };

  const { first, last } = await replayConversation({ replay: file, ran, results: "recorded" });

  expect(first.answer).toMatchObject({ success: true, response: "It costs 12." });
  expect(first.calls.map(({ functionName, outcome, rule }) => [functionName, outcome.ok, rule])).toEqual([
    ["get_order", true, undefined],
    ["get_order", false, "authorize"],
    ["pay", false, undefined],
    ["none", false, "unknown"],
  ]);
  expect(last.answer).toMatchObject({ success: true, response: "As I said: 12." });
  expect(ran.count).toBe(0);
});

test("a replay on the test's own data passes while the functions return the same results", async () => {
  using folder = place();
  const { file } = await exportConversation(folder.path);
  const ran = { count: 0 };

  expect((await replayConversation({ replay: file, ran })).last.answer.success).toBe(true);
  expect(ran.count).toBe(2);
  orders["1"]!.total++;
  await expect(replayConversation({ replay: file })).rejects.toThrow(/message 3 \(results of get_order/);
});

test.each([
  ["completely while it fits", {}],
  ["from the part that its model received", { historyTokens: 1_000 }],
])("a long thread is exported %s, and replayed", async (_, settings) => {
  using folder = place();
  const file = join(folder.path, "run.json");
  const ask = (i: number): string => `Question ${i} ${"?".repeat(100)}`;
  let count = 25;
  {
    let asked = 0;
    await using system = await startSystem({ service: ordersDesk(), model: scriptedModel(() => `Answer ${asked++}`) });
    await system.plane.admin.updateAgent(system.agentId, { settings });
    const { threadId } = await system.query(ask(0));
    for (let i = 1; i < 24; i++) await system.query(ask(i), { threadId });
    const { runId, warnings = [] } = await system.query(ask(24), { threadId });
    const [, sent] = /newest (\d+) earlier queries/.exec(warnings.join()) ?? [];
    expect(sent === undefined).toBe(!("historyTokens" in settings));
    if (sent !== undefined) count = Number(sent) + 1;
    await system.query("And afterwards", { threadId });
    writeFileSync(file, JSON.stringify(await exportRun(system.plane.store, runId)));
  }
  const { queries } = JSON.parse(readFileSync(file, "utf8")) as ExportedRun;
  expect(queries.map(({ query }) => query)).toEqual(Array.from({ length: count }, (_, i) => ask(25 - count + i)));
  const set = Object.keys(settings).length > 0;
  expect(queries.map((one) => one.settings)).toEqual([set ? settings : undefined, ...Array(count - 1).fill(undefined)]);

  await using desk = await startTestServer(ordersDesk(), { replay: file });
  let threadId: string | undefined;
  for (const [at, { query, settings: change }] of queries.entries()) {
    const { answer } = await desk.query({
      query,
      ...(threadId !== undefined && { threadId }),
      ...(change && { settings: change }),
    });
    expect(answer.response).toBe(`Answer ${25 - count + at}`);
    ({ threadId } = answer);
  }
});

test("a run is replayed with its own settings", async () => {
  using folder = place();
  const file = join(folder.path, "run.json");
  {
    await using system = await startSystem({ service: ordersDesk(), model: scriptedModel(["Hi."]) });
    const local = await system.local("Hello");
    const { run_id: runId } = local.events.at(-1)!.data.data as { run_id: string };
    writeFileSync(file, JSON.stringify(await exportRun(system.plane.store, runId)));
  }
  const { queries } = JSON.parse(readFileSync(file, "utf8")) as ExportedRun;
  expect(queries).toEqual([
    { query: "Hello", role: "user", contextKeys: [], llmConfig: { provider: "anthropic", maxTokens: 8000 } },
  ]);
  const { llmConfig } = queries[0]!;

  const done = await runQuery(ordersDesk(), {
    query: "Hello",
    role: "user",
    replay: file,
    ...(llmConfig && { llmConfig }),
  });

  expect(done.answer.response).toBe("Hi.");
});

test("a run with a structured answer is replayed with its reminder and its correction", async () => {
  using folder = place();
  const file = join(folder.path, "run.json");
  const responseSchema = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
  const respond = (total: unknown) => ({ calls: [["respond", { total }] as const] });
  {
    const model = scriptedModel(["Twelve.", respond("12"), respond(12)]);
    await using system = await startSystem({ service: ordersDesk(), model });
    const { runId } = await system.query("How much?", { responseSchema });
    writeFileSync(file, JSON.stringify(await exportRun(system.plane.store, runId)));
  }
  const { queries } = JSON.parse(readFileSync(file, "utf8")) as ExportedRun;
  expect(queries).toEqual([{ query: "How much?", contextKeys: [], responseSchema }]);

  const done = await runQuery(ordersDesk(), { query: "How much?", responseSchema, replay: file });

  expect(done.requests).toHaveLength(3);
  expect(done.answer).toMatchObject({ success: true, structured: { total: 12 } });
});

test("a run without a model turn and an active run cannot be exported", async () => {
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const model = scriptedModel(async () => {
    isAsked();
    await released;
    return "Hi.";
  });
  await using system = await startSystem({ model });
  const { runId } = await system.query("No runtime is connected");
  await system.connect(ordersDesk());
  const running = system.query("Hello");
  await asked;
  const { items } = await system.plane.admin.listRuns(system.agentId);

  await expect(exportRun(system.plane.store, runId)).rejects.toThrow(/nothing to replay/);
  await expect(exportRun(system.plane.store, items[0]!.runId)).rejects.toThrow(/has not ended/);
  release();
  await running;
});
