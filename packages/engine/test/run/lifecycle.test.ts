import { expect, test } from "vitest";
import type { ServiceError } from "../../src/ports/service-error.ts";
import { StoreUnavailable } from "../../src/ports/store/run-store.ts";
import { memoryStore, recordingLog, startCore, startScripted } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ open: "everyone", staff: ["agent"] });
const never = new Promise<never>(() => {});

test("a query fails with 'Agent session not found' when no runtime is connected, and releases its Idempotency-Key", async () => {
  await using core = await startScripted([{ text: "Here." }]);
  const idempotency = { key: "k1", bodyHash: "h1" };
  core.runtime.connected = false;

  expect(await core.query("Hi", { idempotency })).toMatchObject({
    success: false,
    response: "",
    errorMessage: "Agent session not found",
    code: "agent_session_not_found",
  });

  core.runtime.connected = true;
  expect(await core.query("Hi", { idempotency })).toMatchObject({ success: true, response: "Here." });
});

test("a provider without a key is named", async () => {
  const runtime = fakeGateway(MANIFEST, () => ok(1));
  await using core = await startCore({ models: scriptedModel([]).catalog, gateway: runtime.gateway });

  expect(await core.query("Hi", { llm: { provider: "openai" } })).toMatchObject({
    errorMessage: "Provider openai is not configured",
    code: "provider_not_configured",
  });
});

test("queries with the same Idempotency-Key join the first run, and another body is rejected", async () => {
  await using core = await startScripted(() => ({ text: "once" }));
  const idempotency = { key: "k", bodyHash: "a" };

  const answers = await Promise.all(Array.from({ length: 20 }, () => core.query("Hi", { idempotency })));

  expect(new Set(answers.map((answer) => answer.runId)).size).toBe(1);
  expect(core.model.requests).toHaveLength(1);
  await expect(core.query("Hi", { idempotency: { key: "k", bodyHash: "b" } })).rejects.toMatchObject({
    code: "idempotency_mismatch",
  });
  await expect(core.runs.join(core.caller, "k", "a")).resolves.toMatchObject({ runId: answers[0]!.runId });
});

test("a run that was cancelled during a model request keeps its Idempotency-Key", async () => {
  const asked = Promise.withResolvers<void>();
  await using core = await startScripted(() => {
    asked.resolve();
    return { until: never };
  });
  const query = { query: "Hi", analysisMode: false, maxTokens: 100, idempotency: { key: "k", bodyHash: "h" } };
  const first = await core.runs.start(core.caller, query);
  await asked.promise;
  await core.runs.cancel(core.caller, first.runId);
  await core.result(first);

  expect((await core.runs.start(core.caller, query)).runId).toBe(first.runId);
});

test("a pinned key cannot erase a thread with runs of other roles", async () => {
  await using core = await startScripted(() => ({ text: "ok" }));
  const pinned = { ...core.caller, roles: ["customer"] };
  const mine = await core.query("mine", { role: "customer" });
  const mixed = await core.query("mixed", { role: "customer" });
  await core.query("not mine", { role: "agent", threadId: mixed.threadId });

  await expect(core.runs.eraseThread(pinned, mixed.threadId)).rejects.toMatchObject({ code: "role_not_allowed" });
  expect(await core.store.threads.exists("agt_1", mixed.threadId)).toBe(true);
  expect(await core.runs.eraseThread(pinned, mine.threadId)).toBe(true);
});

test("up to four queries wait on a thread, and the next one fails as thread_busy", async () => {
  const gate = Promise.withResolvers<void>();
  await using opened = await memoryStore();
  // The poll finds no waiting run: only the end of the run before it starts the next one of the thread.
  const store = { ...opened, runs: { ...opened.runs, waiting: async () => [] } };
  await using core = await startScripted((request) => ({ text: `re: ${lastText(request)}`, until: gate.promise }), {
    store,
  });
  const first = await core.start("0");

  const started: string[] = [];
  const waiting = [];
  for (let n = 1; n <= 5; n++) {
    const run = await core.runs.start(core.caller, {
      query: String(n),
      threadId: first.threadId,
      analysisMode: false,
      maxTokens: 100,
    });
    started.push(run.runId);
    waiting.push(core.result(run));
  }
  expect(await waiting[4]).toMatchObject({ success: false, code: "thread_busy" });
  gate.resolve();

  const answers = await Promise.all(waiting.slice(0, 4));
  expect(answers.map((answer) => answer?.response)).toEqual(["re: 1", "re: 2", "re: 3", "re: 4"]);
  expect(core.model.requests.map(lastText)).toEqual(["0", "1", "2", "3", "4"]);
});

test("runs of another role are not shown in later queries of a thread", async () => {
  await using core = await startScripted(() => ({ text: "the secret is 42" }));
  const { threadId } = await core.query("as agent", { role: "agent" });

  await core.query("as customer", { threadId, role: "customer" });
  await core.query("as agent again", { threadId, role: "agent" });

  const texts = core.model.requests.map((request) =>
    request.messages.map((message) => ("text" in message ? message.text : "")),
  );
  expect(texts[1]).toEqual(["as customer"]);
  expect(texts[2]).toEqual(["as agent", "the secret is 42", "as agent again"]);
});

test("a query on an unknown thread is rejected", async () => {
  await using core = await startScripted([]);

  const failure = await core.query("Hi", { threadId: "thr_none" }).catch((error: ServiceError) => error);

  expect(failure).toMatchObject({ code: "invalid_request", message: "Thread not found" });
});

test("a pinned key may state its own roles or no role", async () => {
  await using core = await startScripted(() => ({ text: "ok" }));
  const as = { roles: ["customer"] };

  await expect(core.query("Hi", { as, role: "agent" })).rejects.toMatchObject({ code: "role_not_allowed" });
  expect(await core.query("Hi", { as, role: "customer" })).toMatchObject({ success: true });
  expect(await core.query("Hi", { as })).toMatchObject({ success: true });
});

test("a pinned key does not get a default role that it may not state", async () => {
  await using core = await startScripted(() => ({ text: "ok" }), { manifest: { ...MANIFEST, defaultRole: "agent" } });

  await core.query("Hi");
  await core.query("Hi", { as: { roles: ["customer"] } });

  expect(core.model.requests.map((request) => request.functions.length)).toEqual([2, 1]);
});

test("a role that no function names is logged once", async () => {
  const log = recordingLog();
  const { gateway } = fakeGateway(MANIFEST, () => ok(1));
  await using core = await startCore({ models: scriptedModel(() => ({ text: "ok" })).catalog, gateway, log });

  for (const role of ["agnet", "agent", "agnet"]) await core.query("Hi", { role });

  expect(log.lines.filter(({ message }) => message.startsWith("unknown role"))).toEqual([
    {
      message: "unknown role: only functions open to everyone are shown",
      fields: { agentId: "agt_1", role: "agnet" },
    },
  ]);
});

test("a cancelled run ends with code cancelled and aborts its calls", async () => {
  const begun = Promise.withResolvers<AbortSignal>();
  const runtime = fakeGateway(MANIFEST, (_, signal) => {
    begun.resolve(signal);
    return never;
  });
  await using core = await startCore({
    models: scriptedModel([{ calls: [["open", {}]] }]).catalog,
    gateway: runtime.gateway,
  });
  const run = await core.start("Wait");
  const signal = await begun.promise;

  expect(await core.runs.cancel(core.caller, run.runId)).toMatchObject({ success: true, status: "running" });

  const result = await core.result(run);
  expect(result).toMatchObject({ success: false, errorMessage: "Run cancelled", code: "cancelled" });
  expect(signal.aborted).toBe(true);
  expect((await core.events(run.runId)).map((event) => event.type)).toEqual(["toolCall", "error"]);
  expect(await core.runs.cancel(core.caller, run.runId)).toMatchObject({ status: "cancelled" });
});

test("a waiting run can be cancelled", async () => {
  await using core = await startScripted(() => ({ until: never }));
  const first = await core.start("0");
  const query = { query: "1", threadId: first.threadId, analysisMode: false, maxTokens: 100 };
  const second = await core.runs.start(core.caller, query);

  expect(await core.runs.cancel(core.caller, second.runId)).toMatchObject({ status: "queued" });

  expect(await core.result(second)).toMatchObject({ code: "cancelled" });
});

test("a run that takes or waits too long ends with 'Run timed out'", async () => {
  await using core = await startScripted(() => ({ until: never }), { runTimeoutMs: 300 });
  const first = await core.start("0");
  const waiting = await core.query("1", { threadId: first.threadId });

  expect(waiting).toMatchObject({ success: false, errorMessage: "Run timed out", code: "deadline_exceeded" });
  expect(await core.result(first)).toMatchObject({
    code: "deadline_exceeded",
  });
});

test("a run of a stopped process continues in the next one, which asks for the outcome of its call", async () => {
  await using store = await memoryStore();
  const script = (_: unknown, index: number) =>
    index === 0 ? { calls: [["open", { n: 1 }] as const] } : { text: "Done." };
  const sent = Promise.withResolvers<void>();
  const before = fakeGateway(MANIFEST, () => {
    sent.resolve();
    return never;
  });
  const first = await startCore({ models: scriptedModel(script).catalog, gateway: before.gateway, store });
  const run = await first.start("Go");
  await sent.promise;
  await first.runs.drain(0);

  const model = scriptedModel([{ text: "Done." }]);
  const after = fakeGateway(
    MANIFEST,
    () => ok("never sent"),
    () => ok("found"),
  );
  await using second = await startCore({ models: model.catalog, gateway: after.gateway, store, owner: "replica-2" });
  const result = await second.result(run);

  expect(result).toMatchObject({ success: true, response: "Done.", toolInteractions: [{ result: "found" }] });
  expect(after.orders[0]).toMatchObject({ callId: before.orders[0]?.callId, attempt: 1 });
  expect((await second.events(run.runId)).map((event) => event.type)).toEqual([
    "toolCall",
    "toolResult",
    "finalResponse",
  ]);
});

test("a follower sees stored and live events once each, in order", async () => {
  const gate = Promise.withResolvers<void>();
  await using core = await startScripted((_, index) =>
    index === 0 ? { calls: [["open", {}]] } : { text: "Two words", until: gate.promise },
  );
  const run = await core.start("Go");

  const seen: string[] = [];
  for await (const { id, body } of core.follow(run)) {
    seen.push(`${id ?? "live"} ${(JSON.parse(body) as { type: string }).type}`);
    if (seen.length === 2) gate.resolve();
  }

  expect(seen).toEqual(["1 toolCall", "2 toolResult", "live responseDelta", "live responseDelta", "3 finalResponse"]);
});

function lastText(request: { messages: readonly { role: string; text?: string }[] }): string {
  return request.messages.at(-1)?.text ?? "";
}

test("a run that is cancelled while the answer to its last step is lost ends once, with all its events", async () => {
  const store = await memoryStore();
  await using _ = store;
  const lines = recordingLog();
  await using core = await startScripted(
    ({ messages }) => (messages.at(-1)?.role === "results" ? { text: "Done." } : { calls: [["open", {}]] }),
    { store, log: lines },
  );
  const { commit } = store.runs;
  const lost = Promise.withResolvers<void>();
  store.runs.commit = async (lease, change) => {
    // From the call's result on, the store applies each step and its answer does not arrive, until the run is cancelled.
    const isResult = change.calls?.some(({ outcome }) => outcome) && !change.finish;
    const stored = await commit(lease, change);
    if (!isResult) return stored;
    lost.resolve();
    throw new StoreUnavailable("the connection was lost");
  };
  const run = await core.start("Open");
  await lost.promise;

  await core.runs.cancel(core.caller, run.runId);

  expect(await core.result(run)).toMatchObject({ success: false, code: "cancelled" });
  expect((await core.events(run.runId)).map(({ type }) => type)).toEqual(["toolCall", "toolResult", "error"]);
  expect(lines.lines.map(({ message }) => message)).not.toContain("run could not be ended, left for recovery");
});
