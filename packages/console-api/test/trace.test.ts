import type { CallOutcome } from "@patchbay/protocol";
import type { Span } from "@patchbay/protocol/console";
import { expect, test, vi } from "vitest";
import { ModelError } from "@patchbay/engine/ports/model-provider";
import { openStore } from "@patchbay/store/open";
import { fakeGateway, manifestOf, ok } from "../../engine/test/run/fake-gateway.ts";
import { briefly, MANIFEST, never, spanOf, startDesk } from "./support/traced-desk.ts";

test("an answered run has a span for each turn and call, each starting after those before it", async () => {
  await using desk = await startDesk([
    {
      calls: [
        ["look_up", { id: 1 }],
        ["refund", {}],
      ],
      text: "Let me see.",
    },
    { text: "Done." },
  ]);
  const { runId } = await desk.query("Where is it?", { role: "clerk", context: { shop: 1 }, requestId: "abc" });

  const trace = await desk.trace(runId);

  expect(briefly(trace)).toEqual([
    "query query ok",
    "turn scripted-1 ok",
    "call look_up ok",
    "call refund ok",
    "turn scripted-1 ok",
  ]);
  const [query, first, lookUp, refund, last] = trace.spans;
  expect(query).toMatchObject({
    id: runId,
    parentId: null,
    startMs: 0,
    input: { query: "Where is it?", context: { shop: 1 } },
    output: "Done.",
  });
  expect(first).toMatchObject({
    parentId: runId,
    output: { text: "Let me see.", calls: [{ name: "look_up", arguments: '{"id":1}' }, { name: "refund" }] },
    attributes: {
      step: 0,
      inputTokens: 10,
      outputTokens: 5,
      costUsd: 0.00002,
      model: "scripted-1",
      provider: "scripted",
    },
  });
  expect(lookUp).toMatchObject({ parentId: first!.id, input: { id: 1 }, output: "fine" });
  expect(lookUp!.startMs).toBeGreaterThanOrEqual(first!.endMs!);
  expect(last!.startMs).toBeGreaterThanOrEqual(Math.max(lookUp!.endMs!, refund!.endMs!));
  expect(query!.endMs).toBeGreaterThanOrEqual(last!.endMs!);
  expect(trace).toMatchObject({
    fullQuery: "Where is it?",
    requestId: "abc",
    response: "Done.",
    errorMessage: null,
    status: "succeeded",
  });
});

test.for<[string, string, CallOutcome | undefined, Partial<Span>]>([
  [
    "refund",
    "{}",
    undefined,
    {
      state: "denied",
      rule: "roles",
      why: "The role list of refund (clerk, boss) does not include a query without a role: the model does not see the function, and calls are denied.",
    },
  ],
  ["remove", "{}", undefined, { state: "denied", rule: "unknown", why: "The function set has no function remove." }],
  [
    "look_up",
    "{}",
    { ok: false, code: "denied", message: "Not yours.", rule: "authorize" },
    {
      state: "denied",
      rule: "authorize",
      code: "denied",
      why: "The role list of look_up (everyone) allows a query without a role, but authorize refused the call: Not yours.",
    },
  ],
  ["look_up", "{broken", undefined, { state: "denied", rule: "input", code: "invalid_arguments" }],
  [
    "look_up",
    "{}",
    { ok: false, code: "timed_out", message: "Late." },
    { state: "failed", rule: null, code: "timed_out", errorMessage: "Late." },
  ],
  ["look_up", "{}", { ok: false, code: "outcome_unknown", message: "Who knows." }, { state: "unknown", rule: null }],
  ["look_up", "{}", { ok: true, value: { a: 1 }, redacted: ["b"] }, { state: "ok", output: { a: 1 } }],
])("a call of %s with %s shows its end %o", async ([name, args, outcome, expected]) => {
  await using desk = await startDesk([{ calls: [[name, args]] }, { text: "Done." }], () => ({
    kind: "outcome",
    outcome: outcome ?? { ok: true, value: 1 },
  }));
  const { runId } = await desk.query("Hi");

  const call = spanOf(await desk.trace(runId), "call");

  expect(call).toMatchObject(expected);
  expect(call.attributes["withheld"]).toEqual(outcome?.ok ? ["b"] : undefined);
});

test("a trace lists the functions that the role may see, and the hidden ones", async () => {
  await using desk = await startDesk([{ text: "Done." }]);
  const { runId } = await desk.query("Hi", { role: "guest" });

  expect(await desk.trace(runId)).toMatchObject({ visible: ["look_up"], hidden: ["refund"], role: "guest" });
});

test("in a running run, the requested turn and the calls in progress are open spans", async () => {
  const answered = Promise.withResolvers<void>();
  await using desk = await startDesk([{ calls: [["look_up", {}]], until: answered.promise }], () => never);
  const runId = await desk.begin("Hi");

  const asking = await desk.trace(runId);
  answered.resolve();
  await vi.waitFor(async () => expect((await desk.trace(runId)).calls).toBe(1));
  const calling = await desk.trace(runId);

  expect(briefly(asking)).toEqual(["query query running", "turn scripted-1 running"]);
  expect(asking.spans.map(({ endMs }) => endMs)).toEqual([null, null]);
  expect(briefly(calling)).toEqual(["query query running", "turn scripted-1 ok", "call look_up running"]);
  expect(spanOf(calling, "call").endMs).toBeNull();
});

test("a run that waits for its thread has only a queue span, and keeps it when it continues", async () => {
  const first = Promise.withResolvers<void>();
  await using desk = await startDesk([{ text: "One.", until: first.promise }, { text: "Two." }]);
  const { threadId } = await desk.runs.start(desk.caller, { query: "One?", analysisMode: false, maxTokens: 100 });
  const second = { query: "Two?", analysisMode: false, maxTokens: 100, threadId };
  const { runId } = await desk.runs.start(desk.caller, second);

  const waiting = await desk.trace(runId);
  // The queue is shown only where it took a time that the clock can tell.
  await vi.waitFor(async () => expect((await desk.trace(runId)).durationMs).toBeGreaterThan(5));
  first.resolve();
  await vi.waitFor(async () => expect((await desk.trace(runId)).status).toBe("succeeded"));
  const done = await desk.trace(runId);

  expect(briefly(waiting)).toEqual(["query query running", "queue queue running"]);
  expect(briefly(done)).toEqual(["query query ok", "queue queue ok", "turn scripted-1 ok"]);
  expect(spanOf(done, "turn").startMs).toBeGreaterThanOrEqual(spanOf(done, "queue").endMs!);
});

test("a turn with a discarded but billed attempt ends with its run", async () => {
  await using desk = await startDesk([{ text: "" }, { until: never }]);
  const runId = await desk.begin("Where is it?");
  await vi.waitFor(() => expect(desk.attempts()).toBe(2));
  await desk.runs.cancel(desk.caller, runId);
  await vi.waitFor(async () => expect((await desk.trace(runId)).status).toBe("cancelled"));

  const trace = await desk.trace(runId);

  expect(briefly(trace)[1]).toBe("turn scripted-1 cancelled");
  expect(spanOf(trace, "turn").attributes).toMatchObject({ inputTokens: 10, costUsd: 0.00002 });
});

test("a turn that never arrived ends with its run and shows the error", async () => {
  const fail = new ModelError("authentication", "no");
  await using desk = await startDesk([{ calls: [["look_up", {}]] }, { fail }]);
  const { runId } = await desk.query("Hi");

  const trace = await desk.trace(runId);

  expect(briefly(trace)).toEqual([
    "query query failed",
    "turn scripted-1 ok",
    "call look_up ok",
    "turn scripted-1 failed",
  ]);
  expect(trace.spans.at(-1)).toMatchObject({
    code: "provider_error",
    errorMessage: expect.stringContaining("API key"),
  });
  expect(trace).toMatchObject({ code: "provider_error", response: null, errorMessage: expect.any(String) });
});

test("a turn that could not be used is the failed span", async () => {
  await using desk = await startDesk([{ text: "", stop: "refused" }]);
  const { runId } = await desk.query("Hi");

  const trace = await desk.trace(runId);

  expect(briefly(trace)).toEqual(["query query failed", "turn scripted-1 failed"]);
  expect(trace.spans.at(-1)).toMatchObject({ code: "model_refused", attributes: { outputTokens: 5 } });
});

test("a call without an outcome ends with its run", async () => {
  await using desk = await startDesk([{ calls: [["look_up", {}]] }], () => never);
  const runId = await desk.begin("Hi");
  await vi.waitFor(async () => expect((await desk.trace(runId)).calls).toBe(1));

  await desk.runs.cancel(desk.caller, runId);
  await vi.waitFor(async () => expect((await desk.trace(runId)).status).toBe("cancelled"));

  const trace = await desk.trace(runId);
  expect(briefly(trace)).toEqual(["query query cancelled", "turn scripted-1 ok", "call look_up cancelled"]);
  expect(spanOf(trace, "call")).toMatchObject({ endMs: spanOf(trace, "query").endMs, code: "cancelled" });
});

test("a run that failed immediately has only its query span", async () => {
  const { gateway } = Object.assign(
    fakeGateway(MANIFEST, () => never),
    { connected: false },
  );
  await using desk = await startDesk([], undefined, { gateway });
  const { runId } = await desk.query("Hi");

  expect(briefly(await desk.trace(runId))).toEqual(["query query failed"]);
});

test("a span that another replica ended shows that the run was resumed", async () => {
  const store = await openStore("sqlite::memory:");
  const manifest = manifestOf({ idempotent_look: "everyone" });
  const { runId } = await (async () => {
    await using first = await startDesk([{ calls: [["idempotent_look", {}]] }], undefined, {
      store,
      gateway: fakeGateway(manifest, () => never).gateway,
    });
    const begun = { runId: await first.begin("Hi") };
    await vi.waitFor(async () => expect((await first.trace(begun.runId)).calls).toBe(1));
    return begun;
  })();
  const recovered = fakeGateway(manifest, () => ok("fine")).gateway;
  await using second = await startDesk([{ text: "Done." }], undefined, {
    store,
    gateway: recovered,
    owner: "replica-2",
  });

  await vi.waitFor(async () => expect((await second.trace(runId)).status).toBe("succeeded"));
  const trace = await second.trace(runId);

  expect(spanOf(trace, "query").attributes["resumed"]).toBe(1);
  expect(spanOf(trace, "call").attributes["resumed"]).toBe(true);
  expect(spanOf(trace, "turn").attributes["resumed"]).toBeUndefined();
});

test("the spans of a run with 256 large results have about 1 MiB, each truncated to the same size", async () => {
  const result = "x".repeat(30_000);
  const turns = Array.from({ length: 8 }, (_, turn) => ({
    calls: Array.from({ length: 32 }, (_call, i): [string, object] => ["look_up", { order: turn * 32 + i }]),
  }));
  await using desk = await startDesk([...turns, { text: "Done." }], () => ok(result));

  const trace = await desk.trace((await desk.query("Hi")).runId);

  const calls = trace.spans.filter(({ kind }) => kind === "call");
  expect(calls).toHaveLength(256);
  expect(calls.every(({ attributes }) => String(attributes["truncated"]) === "output")).toBe(true);
  expect(new Set(calls.map(({ output }) => String(output).length)).size).toBe(1);
  expect(JSON.stringify(trace).length).toBeLessThan(1.25 * 1_048_576);
});

test("a large payload is truncated between characters, and the span shows it", async () => {
  const large = `${"a".repeat(32 * 1024 - 1)}ééé`;
  await using desk = await startDesk([{ calls: [["look_up", {}]] }, { text: "Done." }], () => ok({ large }));
  await using small = await startDesk([{ calls: [["look_up", {}]] }, { text: "Done." }], () => ok("é".repeat(16_384)));

  const cut = spanOf(await desk.trace((await desk.query("Hi")).runId), "call");
  const whole = spanOf(await small.trace((await small.query("Hi")).runId), "call");

  expect(cut.output).toEqual({ large: expect.stringMatching(/^a{32700,32768}…$/) });
  expect(cut.attributes["truncated"]).toEqual(["output"]);
  expect(whole.output).toBe("é".repeat(16_384));
  expect(whole.attributes["truncated"]).toBeUndefined();
});
