import { context, propagation, SpanStatusCode, trace } from "@opentelemetry/api";
import { defineFunction, defineService, everyone, type AnswerHook, type Service } from "@patchbay/functions";
import { scriptedModel, type ScriptedTurn } from "@patchbay/functions/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { until } from "@patchbay/test-support/inbox";
import { keepSpans, pathsOf } from "../support/spans.ts";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";

const CLIENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const UNSAMPLED = CLIENT.replace(/01$/, "00");

let kept: ReturnType<typeof keepSpans>;
/** The span that is active in each handler. */
const active: (string | undefined)[] = [];

beforeEach(() => {
  active.length = 0;
  kept = keepSpans();
});
afterEach(() => kept[Symbol.dispose]());

/** Makes a span as an instrumented database client does. */
function selectOrders(): void {
  active.push(trace.getActiveSpan()?.spanContext().spanId);
  trace.getTracer("owner").startSpan("select orders").end();
}

const desk = (read = selectOrders, hooks: { beforeAnswer?: AnswerHook<object> } = {}): Service =>
  defineService({
    name: "desk",
    context: z.looseObject({}),
    functions: [
      defineFunction({
        name: "find_order",
        description: "Finds an order.",
        input: z.object({ id: z.string() }),
        roles: everyone,
        effect: "read",
        handler({ id }) {
          read();
          return { id, note: "fragile" };
        },
      }),
      defineFunction({
        name: "refund_order",
        description: "Refunds an order.",
        input: z.object({}),
        roles: ["admin"],
        handler: () => "refunded",
      }),
      defineFunction({
        name: "send_order",
        description: "Sends an order.",
        input: z.object({}),
        roles: everyone,
        approval: { by: ["caller"] },
        handler: () => "sent",
      }),
    ],
    ...hooks,
  });

const script = (turns: readonly ScriptedTurn[]) => scriptedModel((_, turn) => turns[turn % turns.length]!);
const TURNS: ScriptedTurn[] = [{ calls: [["find_order", { id: "7" }]] }, { text: "It is order 7." }];

const start = (options: SystemOptions & { turns?: ScriptedTurn[] } = {}) => {
  const { turns = TURNS, service = desk(), ...more } = options;
  return startSystem({ model: script(turns), service, ...more });
};

const named = (name: string) => kept.spans.filter((span) => span.name.startsWith(name));
const one = (name: string) => {
  const [span, ...more] = named(name);
  expect(more).toEqual([]);
  return span!;
};

test("a query makes one trace, from the client's span to the owner's", async () => {
  await using system = await start();

  const response = await system.post(
    `/agents/${system.agentId}/query`,
    { query: "Which order?", role: "agent", sessionId: "s-1" },
    { traceparent: CLIENT, tracestate: "vendor=1", "x-request-id": "abc" },
  );

  expect((await response.json()).success).toBe(true);
  expect(response.headers.get("x-trace-id")).toBe("0af7651916cd43dd8448eb211c80319c");
  expect(pathsOf(kept.spans).toSorted()).toEqual([
    "invoke_agent Desk",
    "invoke_agent Desk > chat scripted",
    "invoke_agent Desk > chat scripted",
    "invoke_agent Desk > execute_tool find_order",
    "invoke_agent Desk > execute_tool find_order > execute_tool find_order",
    "invoke_agent Desk > execute_tool find_order > execute_tool find_order > select orders",
    "invoke_agent Desk > prepare desk",
  ]);
  const root = one("invoke_agent");
  expect(root.parentSpanContext).toMatchObject({ spanId: "b7ad6b7169203331", isRemote: true });
  expect(new Set(kept.spans.map((span) => span.spanContext().traceId))).toEqual(
    new Set(["0af7651916cd43dd8448eb211c80319c"]),
  );
  expect(one("select orders").spanContext().traceState?.serialize()).toBe("vendor=1");
  expect(active).toEqual([one("select orders").parentSpanContext?.spanId]);
  expect(root.attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.id": system.agentId,
    "gen_ai.agent.name": "Desk",
    "gen_ai.conversation.id": response.headers.get("x-thread-id"),
    "patchbay.run.id": response.headers.get("x-run-id"),
    "patchbay.run.role": "agent",
    "patchbay.request.id": "abc",
    "session.id": "s-1",
    "patchbay.segment.number": 1,
    "patchbay.segment.end": "ended",
  });
  expect(named("chat")[0]!.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "scripted",
    "gen_ai.response.finish_reasons": ["calls"],
    "gen_ai.usage.input_tokens": expect.any(Number),
    "patchbay.run.id": response.headers.get("x-run-id"),
  });
  expect(named("execute_tool")[0]!.attributes).toMatchObject({
    "patchbay.attempt": 1,
    "gen_ai.tool.name": "find_order",
  });
});

test("nothing of the query, the arguments, the result or the answer is in a span by default", async () => {
  await using system = await start();
  await system.query("Which parcel is fragile?", { role: "agent" });

  const texts = JSON.stringify(kept.spans.map(({ name, attributes, events }) => [name, attributes, events]));
  expect(texts).not.toMatch(/parcel|fragile|order 7|"7"/);
});

test("with content, spans have messages, arguments and results, cut at 8 KiB", async () => {
  await using system = await start({ tracing: { content: true } });
  const long = `Which order? ${"é".repeat(10_000)}`;
  await system.query(long);

  expect(one("invoke_agent").attributes["gen_ai.output.messages"]).toBe(
    '[{"role":"assistant","parts":[{"type":"text","content":"It is order 7."}]}]',
  );
  const input = String(one("invoke_agent").attributes["gen_ai.input.messages"]);
  expect(input).toMatch(/^\[\{"role":"user"/);
  expect(Buffer.byteLength(input)).toBeLessThanOrEqual(8_192);
  expect(Buffer.byteLength(input)).toBeGreaterThan(8_188);
  expect(named("chat")[1]!.attributes["gen_ai.input.messages"]).toContain("tool_call_response");
  const call = named("execute_tool").find(({ attributes }) => "gen_ai.tool.call.arguments" in attributes)!;
  expect(call.attributes).toMatchObject({
    "gen_ai.tool.call.arguments": '{"id":"7"}',
    "gen_ai.tool.call.result": '{"id":"7","note":"fragile"}',
  });
});

test("a text that a hook replaces is in no span, with content too", async () => {
  const service = desk(selectOrders, { beforeAnswer: () => ({ replace: "(withheld)" }) });
  await using system = await start({ service, turns: [{ text: "It is xyzzy." }], tracing: { content: true } });
  const { response } = await system.query("Which order?");

  expect(response).toBe("(withheld)");
  expect(JSON.stringify(kept.spans.map(({ attributes }) => attributes))).not.toContain("xyzzy");
  expect(one("invoke_agent").attributes["gen_ai.output.messages"]).toContain("(withheld)");
  expect(pathsOf(kept.spans)).toContain("invoke_agent Desk > beforeAnswer desk");
});

test("a plan is above its attempts, and a call that the role may not make is a failed span", async () => {
  const turns: ScriptedTurn[] = [{ text: "Find it." }, { calls: [["refund_order", {}]] }, { text: "I may not." }];
  await using system = await start({ turns });
  await system.query("Refund it.", { role: "agent", analysisMode: true });

  expect(pathsOf(kept.spans)).toContain("invoke_agent Desk > plan > chat scripted");
  expect(one("execute_tool refund_order")).toMatchObject({
    status: { code: 2 },
    attributes: { "error.type": "unknown_function", "patchbay.rule": "roles" },
  });
});

test("a wait for an approval is a gap between two segments, of which the second links to the first", async () => {
  await using system = await start({ turns: [{ calls: [["send_order", {}]] }, { text: "Sent." }] });
  const waits = await system.query("Send it.", { role: "agent" });
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve"] });
  const path = `/agents/${system.agentId}/approvals/${waits.approvals![0]!.approvalId}/decision`;
  await system.post(path, { approved: true, as: "agent" }, { "x-api-key": apiKey });
  const events = await system.get(`/agents/${system.agentId}/runs/${waits.runId}/events`);
  expect(await events.text()).toContain('"response":"Sent."');
  await until(() => named("invoke_agent").length === 2, "the second segment");

  const [before, after] = named("invoke_agent");
  expect(before!.attributes["patchbay.segment.end"]).toBe("waits");
  expect(after!.attributes).toMatchObject({
    "patchbay.segment.end": "ended",
    "patchbay.segment.number": 2,
    "patchbay.run.waited_ms": expect.any(Number),
  });
  expect(after!.links.map(({ context: { spanId } }) => spanId)).toEqual([before!.spanContext().spanId]);
  // Without a client, the first segment is the root of the trace.
  expect(after!.parentSpanContext?.spanId).toBe(before!.spanContext().spanId);
  const calls = named("execute_tool").filter(({ attributes }) => "patchbay.approval.status" in attributes);
  expect(calls.map(({ attributes }) => attributes["patchbay.approval.status"])).toEqual(["pending", "approved"]);
  expect(kept.spans.filter(({ status }) => status.code === SpanStatusCode.ERROR)).toEqual([]);
});

test("a query that is rejected ends its span with the code of the error", async () => {
  await using system = await start();
  await system.post(`/agents/${system.agentId}/query`, { query: "Hi", threadId: "thr_none" });

  expect(one("invoke_agent")).toMatchObject({
    status: { code: 2 },
    attributes: { "error.type": "invalid_request", "patchbay.segment.end": "rejected" },
  });
});

test("a client's trace that is not sampled makes no spans, and its context reaches the handler", async () => {
  await using system = await start();
  const response = await system.post(
    `/agents/${system.agentId}/query`,
    { query: "Which?" },
    { traceparent: UNSAMPLED },
  );

  expect(response.status).toBe(200);
  expect(response.headers.get("x-trace-id")).toBeNull();
  expect(kept.spans).toEqual([]);
  expect(active).toEqual([expect.stringMatching(/^[\da-f]{16}$/)]);
});

test("with clients: link, a query begins a trace of its own, with a link to the client's span", async () => {
  await using system = await start({ tracing: { clients: "link" } });
  const response = await system.post(
    `/agents/${system.agentId}/query`,
    { query: "Which?" },
    { traceparent: UNSAMPLED },
  );

  const root = one("invoke_agent");
  expect(root.parentSpanContext).toBeUndefined();
  expect(root.links.map((link) => link.context.spanId)).toEqual(["b7ad6b7169203331"]);
  expect(response.headers.get("x-trace-id")).toBe(root.spanContext().traceId);
});

test.each(["garbage", CLIENT.replace(/^00/, "ff"), CLIENT.replace(/[\da-f]{32}/, "0".repeat(32)), `${CLIENT}-more`])(
  "an invalid traceparent (%s) is ignored",
  async (traceparent) => {
    await using system = await start();
    await system.query("Which?", {}, { traceparent });

    expect(one("invoke_agent").parentSpanContext).toBeUndefined();
  },
);

test("without a provider, neither side calls the API of OpenTelemetry", async () => {
  kept[Symbol.dispose]();
  const calls: string[] = [];
  const count = (name: string) => () => void calls.push(name);
  vi.spyOn(trace, "getTracer").mockImplementation(count("getTracer") as never);
  vi.spyOn(trace, "getTracerProvider").mockImplementation(count("getTracerProvider") as never);
  vi.spyOn(trace, "setSpan").mockImplementation(count("setSpan") as never);
  vi.spyOn(context, "active").mockImplementation(count("active") as never);
  vi.spyOn(context, "with").mockImplementation(count("with") as never);
  vi.spyOn(propagation, "extract").mockImplementation(count("extract") as never);
  try {
    await using system = await start({ service: desk(() => {}) });
    const response = await system.post(`/agents/${system.agentId}/query`, { query: "Hi" }, { traceparent: CLIENT });

    expect(await response.json()).toMatchObject({ success: true, toolInteractions: [{ success: true }] });
    expect(response.headers.get("x-trace-id")).toBeNull();
    expect(calls).toEqual([]);
  } finally {
    vi.restoreAllMocks();
  }
});
