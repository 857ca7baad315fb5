import type { RunTrace, Span } from "@patchbay/protocol/console";
import { expect, test, vi } from "vitest";
import type { Delivery } from "@patchbay/engine/ports/function-gateway";
import { type ChosenModel, type ModelCatalog, ModelError } from "@patchbay/engine/ports/model-provider";
import { openStore } from "@patchbay/store/open";
import { fakeGateway, manifestOf, ok } from "../../engine/test/run/fake-gateway.ts";
import { scriptedModel } from "../../engine/test/run/scripted-model.ts";
import { briefly, MANIFEST, never, spanOf, startDesk } from "./support/traced-desk.ts";

const IDEMPOTENT = manifestOf({ idempotent_look: "everyone" });
const UNDELIVERED: Delivery = { kind: "undelivered" };

/** Resolves when the clock has visibly moved. */
async function aWhile(): Promise<void> {
  const from = Date.now();
  await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(from + 5));
}

const attemptsOf = ({ spans }: RunTrace): Span[] => spans.filter(({ kind }) => kind === "attempt");

/** Attempts follow one another, the first from the beginning of what they belong to and the last to its end. */
function expectToFill(parent: Span, attempts: readonly Span[]): void {
  expect(attempts.map(({ parentId }) => parentId)).toEqual(attempts.map(() => parent.id));
  expect(attempts.map(({ startMs }) => startMs)).toEqual([
    parent.startMs,
    ...attempts.slice(0, -1).map(({ endMs }) => endMs),
  ]);
  expect(attempts.at(-1)?.endMs).toBe(parent.endMs);
}

test("a call shows how long it waited until it was sent", async () => {
  const runtime = fakeGateway(MANIFEST, () => ok("fine"));
  runtime.sentAt = async () => {
    await aWhile();
    return Date.now();
  };
  await using desk = await startDesk([{ calls: [["look_up", {}]] }, { text: "Done." }], undefined, runtime);
  const { runId } = await desk.query("Hi");

  const call = spanOf(await desk.trace(runId), "call");

  expect(call.waitMs).toBeGreaterThan(5);
  expect(call.waitMs).toBeLessThanOrEqual(call.endMs! - call.startMs);
});

test("a call without a known time of sending has no waiting time", async () => {
  const runtime = fakeGateway(MANIFEST, () => ok("fine"));
  runtime.sentAt = async () => undefined;
  const calls = [
    ["look_up", {}],
    ["remove", {}],
  ] as const;
  await using desk = await startDesk([{ calls: [...calls] }, { text: "Done." }], undefined, runtime);
  const { runId } = await desk.query("Hi");

  const { spans } = await desk.trace(runId);

  expect(spans.filter(({ kind }) => kind === "call").map(({ waitMs }) => waitMs)).toEqual([null, null]);
});

test("a time of sending by another clock is clamped to its call", async () => {
  const runtime = fakeGateway(MANIFEST, () => ok("fine"));
  let offBy = 60_000;
  runtime.sentAt = async () => Date.now() + (offBy *= -1);
  const call = { calls: [["look_up", {}]] as const };
  await using desk = await startDesk(
    [{ calls: [...call.calls] }, { calls: [...call.calls] }, { text: "Done." }],
    undefined,
    runtime,
  );
  const { runId } = await desk.query("Hi");

  const [early, late] = (await desk.trace(runId)).spans.filter(({ kind }) => kind === "call");

  expect(early!.waitMs).toBe(0);
  expect(late!.waitMs).toBe(late!.endMs! - late!.startMs);
});

test("a call that two runtimes did not accept has a span for each attempt", async () => {
  const runtime = fakeGateway(MANIFEST, ({ attempt }) => (attempt < 3 ? UNDELIVERED : ok("fine")));
  runtime.sentAt = async () => (runtime.orders.length === 1 ? undefined : Date.now());
  await using desk = await startDesk([{ calls: [["look_up", {}]] }, { text: "Done." }], undefined, runtime);
  const { runId } = await desk.query("Hi");

  const trace = await desk.trace(runId);

  expect(briefly(trace)).toEqual([
    "query query ok",
    "turn scripted-1 ok",
    "call look_up ok",
    "attempt attempt 1 failed",
    "attempt attempt 2 failed",
    "attempt attempt 3 ok",
    "turn scripted-1 ok",
  ]);
  const attempts = attemptsOf(trace);
  const call = spanOf(trace, "call");
  expectToFill(call, attempts);
  expect(attempts.map(({ code, attributes }) => [code, attributes["runtime"]])).toEqual([
    ["undelivered", "runtime-0"],
    ["undelivered", "runtime-1"],
    [null, "runtime-2"],
  ]);
  expect(attempts.map(({ waitMs }) => waitMs)).toEqual([null, expect.any(Number), expect.any(Number)]);
  expect(call.attributes["attempts"]).toBe(3);
  // It was first sent in its second attempt.
  expect(call.waitMs).toBe(attempts[1]!.startMs + attempts[1]!.waitMs! - call.startMs);
});

test("attempts with lost results are unknown, also during the next attempt", async () => {
  const runtime = fakeGateway(IDEMPOTENT, ({ attempt }) => (attempt < 2 ? { kind: "unknown" } : never));
  await using desk = await startDesk([{ calls: [["idempotent_look", {}]] }], undefined, runtime);
  const runId = await desk.begin("Hi");
  await vi.waitFor(() => expect(runtime.orders).toHaveLength(2));

  const trace = await desk.trace(runId);

  expect(attemptsOf(trace)).toMatchObject([
    { state: "unknown", code: "outcome_unknown", errorMessage: expect.stringContaining("delivered again") },
    { state: "running", endMs: null, waitMs: null },
  ]);
});

test("a call of a cancelled run keeps its time of sending", async () => {
  const runtime = fakeGateway(MANIFEST, () => never);
  await using desk = await startDesk([{ calls: [["look_up", {}]] }], undefined, runtime);
  const runId = await desk.begin("Hi");
  await vi.waitFor(() => expect(runtime.orders).toHaveLength(1));
  await aWhile();

  await desk.runs.cancel(desk.caller, runId);
  await vi.waitFor(async () => expect((await desk.trace(runId)).status).toBe("cancelled"));

  const call = spanOf(await desk.trace(runId), "call");
  expect(call).toMatchObject({ state: "cancelled", waitMs: expect.any(Number) });
  expect(call.waitMs).toBeLessThan(call.endMs! - call.startMs);
});

test("attempts of an earlier replica remain, without values that it did not store", async () => {
  const store = await openStore("sqlite::memory:");
  const calling = fakeGateway(IDEMPOTENT, ({ attempt }) => (attempt < 2 ? { kind: "unknown" } : never));
  let runId = "";
  {
    await using first = await startDesk([{ calls: [["idempotent_look", {}]] }], undefined, { store, ...calling });
    runId = await first.begin("Hi");
    await vi.waitFor(() => expect(calling.orders).toHaveLength(2));
  }
  const recovering = fakeGateway(IDEMPOTENT, () => ok("fine"));
  recovering.sentAt = async () => undefined;
  await using second = await startDesk([{ text: "Done." }], undefined, { store, ...recovering, owner: "replica-2" });
  await vi.waitFor(async () => expect((await second.trace(runId)).status).toBe("succeeded"));

  const attempts = attemptsOf(await second.trace(runId));

  expect(attempts).toMatchObject([
    { state: "unknown", waitMs: expect.any(Number) },
    { state: "ok", waitMs: null },
  ]);
});

test("a turn of several attempts has a span for each, with the pause before it as waiting time", async () => {
  const busy = new ModelError("overloaded", "busy", { retryAfterMs: 20 });
  await using desk = await startDesk([{ fail: busy }, { text: "Done." }]);
  const { runId } = await desk.query("Hi");

  const trace = await desk.trace(runId);

  const attempts = attemptsOf(trace);
  expect(attempts.map(({ name, state, code }) => [name, state, code])).toEqual([
    ["attempt 1", "failed", "overloaded"],
    ["attempt 2", "ok", null],
  ]);
  expectToFill(spanOf(trace, "turn"), attempts);
  expect(attempts[0]!.waitMs).toBeNull();
  expect(attempts[1]!.waitMs).toBeGreaterThanOrEqual(15);
  expect(trace.spans.filter(({ kind }) => kind === "turn")).toHaveLength(1);
});

test.for([
  ["empty", [{ text: "" }, { text: "Done." }]],
  ["malformed", [{ stop: "malformed" as const }, { text: "Done." }]],
  ["context_window", [{ fail: new ModelError("context_window", "too long") }, { text: "Done." }]],
] as const)("a turn that was requested again because its answer was %s shows the reason", async ([code, turns]) => {
  await using desk = await startDesk([{ text: "Before." }, ...turns]);
  const { threadId } = await desk.query("Earlier");
  const { runId } = await desk.query("Hi", { threadId });

  const [first, second] = attemptsOf(await desk.trace(runId));

  expect(first).toMatchObject({ state: "failed", code, errorMessage: expect.stringMatching(/\.$/) });
  expect(second).toMatchObject({ state: "ok", waitMs: 0 });
});

test("a turn that a fallback answered shows the model of each attempt", async () => {
  const fail = new ModelError("quota", "used up");
  const [failing, answering] = [
    scriptedModel([{ calls: [["look_up", {}]] }, { fail }]),
    scriptedModel([{ text: "Done." }]),
  ];
  const named = (model: string) => (model === "spare-1" ? answering : failing).catalog.choose() as ChosenModel;
  const models: ModelCatalog = { choose: ({ model = "first-1" } = {}) => ({ ...named(model), model }) };
  await using desk = await startDesk([], undefined, { models });
  const { start } = desk.store.runs;
  const fallback = [{ provider: "scripted", model: "spare-1" }];
  desk.store.runs.start = (run) => start({ ...run, request: { ...run.request, fallback } });
  const { runId } = await desk.query("Hi");

  const trace = await desk.trace(runId);

  expect(briefly(trace).slice(-3)).toEqual(["turn spare-1 ok", "attempt attempt 1 failed", "attempt attempt 2 ok"]);
  expect(attemptsOf(trace)).toMatchObject([
    { code: "quota", attributes: { provider: "scripted", model: "first-1" } },
    { code: null, attributes: { provider: "scripted", model: "spare-1" } },
  ]);
  expect(trace.warnings).toEqual(["Model scripted/first-1 failed (quota): scripted/spare-1 answered instead"]);
});

test("a turn that no model answered shows the last model", async () => {
  const fail = new ModelError("quota", "used up");
  const failing = scriptedModel(() => ({ fail })).catalog.choose() as ChosenModel;
  const models: ModelCatalog = { choose: ({ model = "first-1" } = {}) => ({ ...failing, model }) };
  await using desk = await startDesk([], undefined, { models });
  const { start } = desk.store.runs;
  const fallback = [{ provider: "scripted", model: "spare-1" }];
  desk.store.runs.start = (run) => start({ ...run, request: { ...run.request, fallback } });
  const { runId } = await desk.query("Hi");

  const trace = await desk.trace(runId);

  expect(briefly(trace).slice(-3)).toEqual([
    "turn spare-1 failed",
    "attempt attempt 1 failed",
    "attempt attempt 2 failed",
  ]);
  expect(attemptsOf(trace).map(({ attributes }) => attributes["model"])).toEqual(["first-1", "spare-1"]);
});

test("a turn that never arrived shows its attempts, and starts with the first request", async () => {
  const fail = new ModelError("overloaded", "busy", { retryAfterMs: 1 });
  // Before the first stored turn, three attempts end the run.
  await using desk = await startDesk([{ fail }, { fail }, { fail }]);
  const { runId } = await desk.query("Hi");

  const trace = await desk.trace(runId);

  expect(briefly(trace).slice(-4)).toEqual([
    "turn scripted-1 failed",
    "attempt attempt 1 failed",
    "attempt attempt 2 failed",
    "attempt attempt 3 failed",
  ]);
  const attempts = attemptsOf(trace);
  expectToFill(trace.spans.at(-4)!, attempts);
  expect(attempts.map(({ code }) => code)).toEqual(["overloaded", "overloaded", "provider_error"]);
});

test("a turn whose run was cancelled during a pause ends with the run", async () => {
  const fail = new ModelError("rate_limited", "slow down", { retryAfterMs: 30_000 });
  const model = scriptedModel([{ fail }]);
  await using desk = await startDesk([], undefined, { models: model.catalog, runTimeoutMs: 240_000 });
  const runId = await desk.begin("Hi");
  await vi.waitFor(() => expect(model.requests).toHaveLength(1));
  await aWhile();

  await desk.runs.cancel(desk.caller, runId);
  await vi.waitFor(async () => expect((await desk.trace(runId)).status).toBe("cancelled"));

  const [first, second] = attemptsOf(await desk.trace(runId));
  expect(first).toMatchObject({ state: "failed", code: "rate_limited" });
  expect(second).toMatchObject({ state: "cancelled", waitMs: second!.endMs! - second!.startMs });
});

test("corrections of a structured answer are turns, and the last one failed", async () => {
  const wrong = { calls: [["respond", { total: "7" }] as const] };
  await using desk = await startDesk([{ text: "Seven." }, wrong, wrong, { ...wrong, text: "So it is." }]);
  const responseSchema = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
  const { runId } = await desk.query("How much?", { responseSchema });

  const trace = await desk.trace(runId);

  expect(briefly(trace)).toEqual([
    "query query failed",
    "turn scripted-1 ok",
    "turn scripted-1 ok",
    "turn scripted-1 ok",
    "turn scripted-1 failed",
  ]);
  expect(trace.spans.map(({ attributes }) => attributes["plan"])).toEqual(Array.from({ length: 5 }));
  expect(trace.spans.at(-1)).toMatchObject({ code: "output_invalid" });
});
