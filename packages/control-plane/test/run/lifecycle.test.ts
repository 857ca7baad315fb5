import { expect, test } from "vitest";
import type { ServiceError } from "../../src/ports/service-error.ts";
import { openStore } from "../../src/store/open.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

const MANIFEST = manifestOf({ open: "everyone", staff: ["agent"] });
const never = new Promise<never>(() => {});

test("Agent session not found when no runtime is connected, and its Idempotency-Key is free again", async () => {
  const model = scriptedModel([{ text: "Here." }]);
  const runtime = fakeGateway(MANIFEST, () => ok(1));
  await using core = await startCore({ models: model.catalog, gateway: runtime.gateway });
  const idempotency = { key: "k1", bodyHash: "h1" };
  runtime.connected = false;

  expect(await core.query("Hi", { idempotency })).toMatchObject({
    success: false,
    response: "",
    errorMessage: "Agent session not found",
    code: "agent_session_not_found",
  });

  runtime.connected = true;
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

test("the same Idempotency-Key joins the first run; another body is refused", async () => {
  const model = scriptedModel(() => ({ text: "once" }));
  await using core = await startCore({ models: model.catalog, gateway: fakeGateway(MANIFEST, () => ok(1)).gateway });
  const idempotency = { key: "k", bodyHash: "a" };

  const answers = await Promise.all(Array.from({ length: 20 }, () => core.query("Hi", { idempotency })));

  expect(new Set(answers.map((answer) => answer.runId)).size).toBe(1);
  expect(model.requests).toHaveLength(1);
  await expect(core.query("Hi", { idempotency: { key: "k", bodyHash: "b" } })).rejects.toMatchObject({
    code: "idempotency_mismatch",
  });
  await expect(core.runs.join(core.caller, "k", "a")).resolves.toMatchObject({ runId: answers[0]!.runId });
});

test("a run that was cancelled while its model was asked keeps its Idempotency-Key", async () => {
  const asked = Promise.withResolvers<void>();
  const model = scriptedModel(() => {
    asked.resolve();
    return { until: never };
  });
  await using core = await startCore({ models: model.catalog, gateway: fakeGateway(MANIFEST, () => ok(1)).gateway });
  const query = { query: "Hi", analysisMode: false, maxTokens: 100, idempotency: { key: "k", bodyHash: "h" } };
  const first = await core.runs.start(core.caller, query);
  await asked.promise;
  await core.runs.cancel(core.caller, first.runId);
  await core.runs.result(first, { signal: AbortSignal.timeout(5_000) });

  expect((await core.runs.start(core.caller, query)).runId).toBe(first.runId);
});

test("a pinned key cannot erase a thread with turns of other roles", async () => {
  const model = scriptedModel(() => ({ text: "ok" }));
  await using core = await startCore({ models: model.catalog, gateway: fakeGateway(MANIFEST, () => ok(1)).gateway });
  const pinned = { ...core.caller, roles: ["customer"] };
  const mine = await core.query("mine", { role: "customer" });
  const mixed = await core.query("mixed", { role: "customer" });
  await core.query("not mine", { role: "agent", threadId: mixed.threadId });

  await expect(core.runs.eraseThread(pinned, mixed.threadId)).rejects.toMatchObject({ code: "role_not_allowed" });
  expect(await core.store.threads.exists("agt_1", mixed.threadId)).toBe(true);
  expect(await core.runs.eraseThread(pinned, mine.threadId)).toBe(true);
});

test("queries on one thread wait their turn, four deep, then the thread is busy", async () => {
  const gate = Promise.withResolvers<void>();
  const model = scriptedModel((request) => ({ text: `re: ${lastText(request)}`, until: gate.promise }));
  await using core = await startCore({ models: model.catalog, gateway: fakeGateway(MANIFEST, () => ok(1)).gateway });
  const first = await core.runs.start(core.caller, { query: "0", analysisMode: false, maxTokens: 100 });

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
    waiting.push(core.runs.result(run, { signal: AbortSignal.timeout(10_000) }));
  }
  expect(await waiting[4]).toMatchObject({ success: false, code: "thread_busy" });
  const openedAt = performance.now();
  gate.resolve();

  const answers = await Promise.all(waiting.slice(0, 4));
  expect(answers.map((answer) => answer?.response)).toEqual(["re: 1", "re: 2", "re: 3", "re: 4"]);
  expect(model.requests.map(lastText)).toEqual(["0", "1", "2", "3", "4"]);
  // Found by the poll alone, once a second, they would take three seconds at the least.
  expect(performance.now() - openedAt).toBeLessThan(2_500);
});

test("turns that ran under another role are not shown when the thread goes on", async () => {
  const model = scriptedModel(() => ({ text: "the secret is 42" }));
  await using core = await startCore({ models: model.catalog, gateway: fakeGateway(MANIFEST, () => ok(1)).gateway });
  const { threadId } = await core.query("as agent", { role: "agent" });

  await core.query("as customer", { threadId, role: "customer" });
  await core.query("as agent again", { threadId, role: "agent" });

  const texts = model.requests.map((request) =>
    request.messages.map((message) => ("text" in message ? message.text : "")),
  );
  expect(texts[1]).toEqual(["as customer"]);
  expect(texts[2]).toEqual(["as agent", "the secret is 42", "as agent again"]);
});

test("a thread of another agent, or of nobody, is not found", async () => {
  await using core = await startCore({
    models: scriptedModel([]).catalog,
    gateway: fakeGateway(MANIFEST, () => ok(1)).gateway,
  });

  const failure = await core.query("Hi", { threadId: "thr_none" }).catch((error: ServiceError) => error);

  expect(failure).toMatchObject({ code: "invalid_request", message: "Thread not found" });
});

test("a pinned key may state its roles or none, nothing else", async () => {
  const model = scriptedModel(() => ({ text: "ok" }));
  await using core = await startCore({ models: model.catalog, gateway: fakeGateway(MANIFEST, () => ok(1)).gateway });
  const as = { roles: ["customer"] };

  await expect(core.query("Hi", { as, role: "agent" })).rejects.toMatchObject({ code: "role_not_allowed" });
  expect(await core.query("Hi", { as, role: "customer" })).toMatchObject({ success: true });
  expect(await core.query("Hi", { as })).toMatchObject({ success: true });
});

test("the service's default role is not given to a pinned key that could not ask for it", async () => {
  const model = scriptedModel(() => ({ text: "ok" }));
  const runtime = fakeGateway({ ...MANIFEST, defaultRole: "agent" }, () => ok(1));
  await using core = await startCore({ models: model.catalog, gateway: runtime.gateway });

  await core.query("Hi");
  await core.query("Hi", { as: { roles: ["customer"] } });

  expect(model.requests.map((request) => request.functions.length)).toEqual([2, 1]);
});

test("a cancelled run ends with code cancelled and tells its calls to stop", async () => {
  const begun = Promise.withResolvers<AbortSignal>();
  const runtime = fakeGateway(MANIFEST, (_, signal) => {
    begun.resolve(signal);
    return never;
  });
  await using core = await startCore({
    models: scriptedModel([{ calls: [["open", {}]] }]).catalog,
    gateway: runtime.gateway,
  });
  const run = await core.runs.start(core.caller, { query: "Wait", analysisMode: false, maxTokens: 100 });
  const signal = await begun.promise;

  expect(await core.runs.cancel(core.caller, run.runId)).toMatchObject({ success: true, status: "running" });

  const result = await core.runs.result(run, { signal: AbortSignal.timeout(5_000) });
  expect(result).toMatchObject({ success: false, errorMessage: "Run cancelled", code: "cancelled" });
  expect(signal.aborted).toBe(true);
  expect((await core.events(run.runId)).map((event) => event.type)).toEqual(["toolCall", "error"]);
  expect(await core.runs.cancel(core.caller, run.runId)).toMatchObject({ status: "cancelled" });
});

test("a waiting run can be cancelled before its turn comes", async () => {
  await using core = await startCore({
    models: scriptedModel(() => ({ until: never })).catalog,
    gateway: fakeGateway(MANIFEST, () => ok(1)).gateway,
  });
  const first = await core.runs.start(core.caller, { query: "0", analysisMode: false, maxTokens: 100 });
  const query = { query: "1", threadId: first.threadId, analysisMode: false, maxTokens: 100 };
  const second = await core.runs.start(core.caller, query);

  expect(await core.runs.cancel(core.caller, second.runId)).toMatchObject({ status: "queued" });

  expect(await core.runs.result(second, { signal: AbortSignal.timeout(5_000) })).toMatchObject({ code: "cancelled" });
});

test("a run that takes too long ends with Run timed out, and so does one that waited too long", async () => {
  await using core = await startCore({
    models: scriptedModel(() => ({ until: never })).catalog,
    gateway: fakeGateway(MANIFEST, () => ok(1)).gateway,
    runTimeoutMs: 300,
  });
  const first = await core.runs.start(core.caller, { query: "0", analysisMode: false, maxTokens: 100 });
  const waiting = await core.query("1", { threadId: first.threadId });

  expect(waiting).toMatchObject({ success: false, errorMessage: "Run timed out", code: "deadline_exceeded" });
  expect(await core.runs.result(first, { signal: AbortSignal.timeout(5_000) })).toMatchObject({
    code: "deadline_exceeded",
  });
});

test("a run left by a stopped process goes on in the next one and asks what became of its call", async () => {
  const store = await openStore("sqlite::memory:");
  const script = (_: unknown, index: number) =>
    index === 0 ? { calls: [["open", { n: 1 }] as const] } : { text: "Done." };
  const sent = Promise.withResolvers<void>();
  const before = fakeGateway(MANIFEST, () => {
    sent.resolve();
    return never;
  });
  const first = await startCore({ models: scriptedModel(script).catalog, gateway: before.gateway, store });
  const run = await first.runs.start(first.caller, { query: "Go", analysisMode: false, maxTokens: 100 });
  await sent.promise;
  await first.runs.drain(0);

  const model = scriptedModel([{ text: "Done." }]);
  const after = fakeGateway(
    MANIFEST,
    () => ok("never sent"),
    () => ok("found"),
  );
  await using second = await startCore({ models: model.catalog, gateway: after.gateway, store, owner: "replica-2" });
  const result = await second.runs.result(run, { signal: AbortSignal.timeout(5_000) });

  expect(result).toMatchObject({ success: true, response: "Done.", toolInteractions: [{ result: "found" }] });
  expect(after.orders[0]).toMatchObject({ callId: before.orders[0]?.callId, attempt: 1 });
  expect((await second.events(run.runId)).map((event) => event.type)).toEqual([
    "toolCall",
    "toolResult",
    "finalResponse",
  ]);
  await second.runs.drain(0);
  await store.close();
});

test("a follower sees what is stored and what comes, once each and in order", async () => {
  const gate = Promise.withResolvers<void>();
  const model = scriptedModel((_, index) =>
    index === 0 ? { calls: [["open", {}]] } : { text: "Two words", until: gate.promise },
  );
  await using core = await startCore({ models: model.catalog, gateway: fakeGateway(MANIFEST, () => ok(1)).gateway });
  const run = await core.runs.start(core.caller, { query: "Go", analysisMode: false, maxTokens: 100 });

  const seen: string[] = [];
  for await (const { id, body } of core.runs.follow(run, {
    after: 0,
    deltas: true,
    signal: AbortSignal.timeout(5_000),
  })) {
    seen.push(`${id ?? "live"} ${(JSON.parse(body) as { type: string }).type}`);
    if (seen.length === 2) gate.resolve();
  }

  expect(seen).toEqual(["1 toolCall", "2 toolResult", "live responseDelta", "live responseDelta", "3 finalResponse"]);
});

function lastText(request: { messages: readonly { role: string; text?: string }[] }): string {
  return request.messages.at(-1)?.text ?? "";
}
