import { expect, test } from "vitest";
import { createRetailDesk } from "../../examples/retail-desk/desk.ts";
import { generateRetailData } from "../../examples/retail-desk/data/generate.ts";
import { createRetailStore } from "../../examples/retail-desk/store.ts";
import { startStandIn, WIRES, type Script } from "@patchbay/test-support/providers";
import { deliveredOrder, pendingOrder } from "../support/retail.ts";
import { startSystem } from "@patchbay/test-support/system";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { isJsonObject } from "@patchbay/kit";
import { type Usage } from "@patchbay/protocol";
import { openStream, typed } from "../contract/open-stream.ts";

/** Looks up two orders in parallel, tries a function that customers may not call, then cancels the customer's order. */
const script: Script = ({ step, results }) => {
  if (step === 0)
    return {
      thoughts: ["Two lookups first."],
      calls: [
        { name: "get_order_details", arguments: { order_id: pendingOrder.orderId } },
        { name: "get_order_details", arguments: { order_id: deliveredOrder.orderId } },
      ],
    };
  if (step === 1)
    return {
      text: "Now the change.",
      calls: [
        { name: "reset_store" },
        { name: "cancel_pending_order", arguments: { order_id: pendingOrder.orderId, reason: "no longer needed" } },
        { name: "calculate", arguments: { expression: "2 * (3" } },
      ],
    };
  return { text: `Done after ${results.length} results.` };
};

async function askAt(wire: (typeof WIRES)[number]) {
  await using standIn = await startStandIn(wire, script);
  const service = createRetailDesk(createRetailStore(generateRetailData));
  await using system = await startSystem({ service, providers: standIn.config });
  const asked = {
    role: "customer",
    contextJson: JSON.stringify({ customerId: pendingOrder.ownerId }),
    threadId: (await system.query("Hello, please look first", {})).threadId,
  };
  const answer = await system.query("Cancel my order", asked);
  return { answer, refusals: standIn.requests.flatMap((request) => request.refusal ?? []) };
}

test("the retail desk produces the same toolInteractions on all four wire formats", async () => {
  const runs = await Promise.all(WIRES.map(askAt));

  for (const { refusals } of runs) expect(refusals).toEqual([]);
  const [first, ...others] = runs.map(({ answer }) => answer);
  expect(first).toMatchObject({ success: true, response: "Done after 3 results." });
  expect(first?.toolInteractions.map(({ toolName, success, code }) => [toolName, success, code])).toEqual([
    ["get_order_details", true, undefined],
    ["get_order_details", false, "denied"],
    ["reset_store", false, "unknown_function"],
    ["cancel_pending_order", true, undefined],
    ["calculate", false, "function_failed"],
  ]);
  for (const other of others) expect(other.toolInteractions).toEqual(first?.toolInteractions);
});

test.each(WIRES)("a call made while planning leaves no open call behind on the wire %s", async (wire) => {
  const lookUp = { name: "get_order_details", arguments: { order_id: pendingOrder.orderId } };
  // A server that ignores `tool_choice: none`, once with text and once without.
  const ignoring: Script = ({ query, toolChoice, results }) => {
    if (toolChoice === "none") return { text: query === "Silently" ? "" : "1. Look it up.", calls: [lookUp] };
    return results.length === 0 ? { calls: [lookUp] } : { text: "Done." };
  };
  await using standIn = await startStandIn(wire, ignoring);
  const service = createRetailDesk(createRetailStore(generateRetailData));
  await using system = await startSystem({ service, providers: standIn.config });

  const asked = { analysisMode: true, role: "support" };
  const { threadId, ...spoken } = await system.query("Aloud", asked);
  const silent = await system.query("Silently", { ...asked, threadId });

  expect(standIn.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  expect([spoken, silent].map(({ response, toolInteractions }) => [response, toolInteractions.length])).toEqual([
    ["Done.", 1],
    ["Done.", 1],
  ]);
});

test.each(WIRES)("a thread continues after a malformed call on the wire %s", async (wire) => {
  const order = { order_id: pendingOrder.orderId };
  const malformed: Script = ({ query, step, results }) => {
    if (query.includes("And now?")) return { text: "Still here." };
    if (step === 0) return { calls: [{ name: "get_order_details", arguments: '{"order_id": "#W' }] };
    if (step === 1) return { calls: [{ name: "get_order_details", arguments: order }] };
    return { text: `Done after ${results.length} results.` };
  };
  await using standIn = await startStandIn(wire, malformed);
  const service = createRetailDesk(createRetailStore(generateRetailData));
  await using system = await startSystem({ service, providers: standIn.config });

  const first = await system.query("Look the order up", { role: "manager" });
  const second = await system.query("And now?", { role: "manager", threadId: first.threadId });

  expect(standIn.requests.flatMap((request) => request.refusal ?? [])).toEqual([]);
  expect(first).toMatchObject({ success: true, response: "Done after 1 results." });
  expect(first.toolInteractions).toMatchObject([
    { success: false, code: "invalid_arguments" },
    { success: true, parameters: order },
  ]);
  expect(second).toMatchObject({ success: true, response: "Still here." });
});

test.each(WIRES)(
  "arguments that stream for longer than the idle limit reach their function on the wire %s",
  async (wire) => {
    const slow = { calls: [{ name: "calculate", arguments: { expression: "1 + 1".padEnd(600, " ") } }] };
    // Pieces of a turn without visible output before its call is complete, for longer than the idle limit.
    const script: Script = ({ step }) => (step === 0 ? { ...slow, spreadMs: 3_000 } : { text: "Two." });
    await using standIn = await startStandIn(wire, script);
    const service = createRetailDesk(createRetailStore(generateRetailData));
    await using system = await startSystem({ service, providers: standIn.config, providerIdleMs: 2_000 });

    const answer = await system.query("What is 1 + 1?");

    expect(answer).toMatchObject({ success: true, response: "Two." });
    expect(answer.toolInteractions).toMatchObject([{ toolName: "calculate", success: true, result: 2 }]);
  },
);

test.each(WIRES)("a refusal on the wire %s has a reason, and is not shown as an answer", async (wire) => {
  await using standIn = await startStandIn(wire, () => ({ text: "I cannot help with that.", stop: "refused" }));
  const service = createRetailDesk(createRetailStore(generateRetailData));
  await using system = await startSystem({ service, providers: standIn.config });

  const answer = await system.query("Do something wrong");

  expect(answer).toMatchObject({ success: false, response: "", code: "model_refused" });
  expect(answer.errorMessage).toMatch(/^The model refused to answer/);
});

test.each(WIRES)("parameters with names that a provider rejects reach their function on the wire %s", async (wire) => {
  const got: unknown[] = [];
  const integer = { type: "integer" };
  const inputSchema = {
    type: "object",
    properties: { año: integer, $top: integer, constructor: { type: "string" }, toString: { type: "string" } },
    required: ["año"],
  };
  const service = defineService({
    name: "archive",
    functions: [
      defineFunction({
        name: "search",
        description: "Searches the archive.",
        input: inputSchema,
        roles: everyone,
        authorize: ({ input }) => Object.hasOwn(input, "año"),
        handler: (input) => void got.push(input),
      }),
    ],
  });
  // The names on the wire, as a model writes them.
  const script: Script = ({ query, step }) => {
    const [year = "", top = "", constructor = "", toString = ""] = namesOf(standIn.requests.at(-1)!.body);
    const whole = { [year]: 1999, [top]: 5, [constructor]: "Ferrari", [toString]: "x" };
    const call = { name: "search", arguments: query.includes("by year") ? { [year]: 1999 } : whole };
    return step === 0 ? { calls: [call] } : { text: "Done." };
  };
  await using standIn = await startStandIn(wire, script);
  await using system = await startSystem({ service, providers: standIn.config });

  const first = await system.query("Search the archive");
  const second = await system.query("Search it by year", { threadId: first.threadId });

  expect(standIn.requests.flatMap((request) => request.refusal ?? [])).toEqual([]);
  const whole = { año: 1999, $top: 5, constructor: "Ferrari", toString: "x" };
  expect(first.toolInteractions).toMatchObject([{ success: true, parameters: whole }]);
  expect(second.toolInteractions).toMatchObject([{ success: true, parameters: { año: 1999 } }]);
  expect(got).toEqual([whole, { año: 1999 }]);
});

/** The cost of 20,000 tokens of input and 2,000 of output with the default model of each wire, in micro-USD. */
const TURN_MICROS = { anthropic: 60_000, "openai-responses": 30_000, "openai-chat": 11_200, gemini: 22_500 };

test.each(WIRES)("a cost cap reached during a run ends the run on the wire %s", async (wire) => {
  const lookUp = { name: "get_order_details", arguments: { order_id: pendingOrder.orderId } };
  const usage = { input: 20_000, cachedInput: 0, output: 2_000 };
  await using standIn = await startStandIn(wire, ({ step }) =>
    step === 0 ? { calls: [lookUp], usage } : { text: "Done.", usage },
  );
  const service = createRetailDesk(createRetailStore(generateRetailData));
  await using system = await startSystem({ service, providers: standIn.config });
  const maxCostUsd = TURN_MICROS[wire] / 1_000_000;
  const { admin } = system.plane;
  await admin.updateAgent(system.agentId, { settings: { maxCostUsd } });

  const asked = { role: "manager", llmConfig: { provider: providerOf(wire), maxTokens: 1_000 } };
  const answer = await system.query("Look the order up", asked);
  await admin.updateAgent(system.agentId, { settings: { maxCostUsd: null } });
  const uncapped = await system.query("And again?", { ...asked, threadId: answer.threadId });

  expect(answer).toMatchObject({ success: false, code: "budget_exceeded", response: "" });
  expect(answer.toolInteractions).toMatchObject([{ toolName: "get_order_details", success: true }]);
  expect(answer.usage.costUsd).toBe(maxCostUsd);
  expect(uncapped).toMatchObject({ success: true, response: "Done." });
  expect(standIn.requests.flatMap((request) => request.refusal ?? [])).toEqual([]);
  expect(standIn.requests).toHaveLength(3);
});

test.each(WIRES)("an answer cancelled while it is read is charged on the wire %s", async (wire) => {
  const text = "A long answer. ".repeat(1_000);
  await using standIn = await startStandIn(wire, () => ({ text, stallAfterBytes: 20_000 }));
  const service = createRetailDesk(createRetailStore(generateRetailData));
  await using system = await startSystem({ service, providers: standIn.config, tier: "starter" });
  await system.plane.admin.grant(system.orgId, "5");
  const path = `/agents/${system.agentId}`;

  const asked = { query: "Tell me", includeDeltas: true, llmConfig: { provider: providerOf(wire), maxTokens: 5_000 } };
  const stream = openStream(await system.post(`${path}/query-stream`, asked));
  await stream.until(typed("responseDelta"));
  await system.post(`${path}/runs/${stream.runId}/cancel`, {});
  await stream.until(typed("error"));

  const { usage } = (await (await system.get(`${path}/runs/${stream.runId}`)).json()) as { usage: Usage };
  expect(usage.inputTokens).toBeGreaterThan(0);
  expect(usage.outputTokens).toBeGreaterThan(0);
  const { balanceUsd } = await system.plane.admin.showCredits(system.orgId);
  expect(usage.costUsd).toBeGreaterThan(0);
  expect(5 - balanceUsd).toBeCloseTo(usage.costUsd, 6);
});

const providerOf = (wire: (typeof WIRES)[number]): string => (wire.startsWith("openai") ? "openai" : wire);

const totals = {
  type: "object",
  properties: { order_id: { type: "string" }, total: { type: "number", minimum: 0 } },
  required: ["order_id", "total"],
  additionalProperties: false,
};

test.each(WIRES)("an answer matches its schema at first, after a correction or never on the wire %s", async (wire) => {
  const order_id = pendingOrder.orderId;
  const lookUp = { calls: [{ name: "get_order_details", arguments: { order_id } }] };
  const responds = (value: object) => ({ calls: [{ name: "respond", arguments: { order_id, ...value } }] });
  const script: Script = ({ query, step }) => {
    if (query.endsWith("At once")) return step === 0 ? lookUp : responds({ total: 12.5 });
    return responds({ total: query.endsWith("Corrected") && step === 2 ? 12.5 : -1 });
  };
  await using standIn = await startStandIn(wire, script);
  const service = createRetailDesk(createRetailStore(generateRetailData));
  await using system = await startSystem({ service, providers: standIn.config });

  const asked = { role: "manager", responseSchema: totals };
  const atOnce = await system.query("At once", asked);
  const { threadId } = atOnce;
  const corrected = await system.query("Corrected", { ...asked, threadId });
  const never = await system.query("Never", { ...asked, threadId });
  const { events } = await system.stream("At once", asked);

  expect(standIn.requests.flatMap((request) => request.refusal ?? [])).toEqual([]);
  const structured = { order_id, total: 12.5 };
  expect(atOnce).toMatchObject({ success: true, structured });
  expect(atOnce.toolInteractions.map(({ toolName }) => toolName)).toEqual(["get_order_details"]);
  expect(corrected).toMatchObject({ success: true, structured, toolInteractions: [] });
  expect(never).toMatchObject({ success: false, code: "output_invalid", toolInteractions: [] });
  expect(JSON.parse(never.response)).toEqual({ order_id, total: -1 });
  expect(never).not.toHaveProperty("structured");
  expect(standIn.requests).toHaveLength(2 + 3 + 3 + 2);
  expect(events.map(({ data }) => data.type)).toEqual(["toolCall", "toolResult", "finalResponse"]);
  expect(events.at(-1)?.data).toMatchObject({ structured, response: atOnce.response });
});

/** Property names of the one function that a request declares. */
function namesOf(body: unknown): string[] {
  if (Array.isArray(body)) return body.map(namesOf).find((names) => names.length > 0) ?? [];
  if (!isJsonObject(body)) return [];
  const { properties } = body;
  return isJsonObject(properties) ? Object.keys(properties) : namesOf(Object.values(body));
}
