import { expect, test } from "vitest";
import type { RunHandle } from "../../src/run/api.ts";
import { expire, startScripted } from "./core.ts";
import { conflict, down, failed, manifest, paid, pay, retried } from "./failed-runs.ts";
import { manifestOf } from "./fake-gateway.ts";
import type { ScriptedTurn } from "./scripted-model.ts";

test("a retry continues after the last stored result and repeats no call", async () => {
  await using core = await startScripted([pay, down, { text: "Order 7 is paid." }], { manifest, answer: () => paid });
  const run = await failed(core);
  const log = await core.store.runs.events(run.runId, 0, 100);

  const retry = await retried(core, run);
  const answer = await core.result(retry);

  expect(answer).toMatchObject({
    success: true,
    response: "Order 7 is paid.",
    threadId: run.threadId,
    toolInteractions: [{ toolName: "pay", parameters: { order: 7 }, success: true, result: { paid: true } }],
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  expect(core.runtime.orders).toHaveLength(1);
  const [, second, third] = core.model.requests;
  expect(third!.messages).toEqual(second!.messages);
  expect(await core.store.runs.events(run.runId, 0, 100)).toEqual(log);
  expect((await core.events(retry.runId)).map(({ type }) => type)).toEqual([
    "thought",
    "toolCall",
    "toolResult",
    "finalResponse",
  ]);
  expect(await core.runs.detail(core.caller, retry.runId)).toMatchObject({ retryOf: run.runId });
  expect(await core.runs.detail(core.caller, run.runId)).toMatchObject({ status: "failed", retriedBy: retry.runId });
});

test("later queries of the thread are sent the retry in place of the failed run", async () => {
  const script = [{ text: "Hi." }, pay, down, { text: "Order 7 is paid." }, { text: "It is paid." }];
  await using core = await startScripted(script, { manifest, answer: () => paid });
  const first = await core.query("Hello.");
  const run = await core.start("Pay order 7.", { threadId: first.threadId });
  await core.result(run);
  await core.result(await retried(core, run));

  await core.query("Is it paid?", { threadId: first.threadId });

  expect(core.model.requests[3]!.messages).toEqual(core.model.requests[2]!.messages);
  const texts = core.model.requests[4]!.messages.flatMap((one) => (one.role === "user" ? [one.text] : []));
  expect(texts).toEqual(["Hello.", "Pay order 7.", "Is it paid?"]);
  const thread = await core.store.threads.get("agt_1", first.threadId, { limit: 10 });
  expect(thread!.messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
    "user: Hello.",
    "assistant: Hi.",
    "user: Pay order 7.",
    "assistant: Order 7 is paid.",
    "user: Is it paid?",
    "assistant: It is paid.",
  ]);
});

test("a retry that fails before it did anything leaves the history of the failed run", async () => {
  const script = [pay, down, down, { text: "It is paid." }];
  await using core = await startScripted(script, { manifest, answer: () => paid });
  const run = await failed(core);
  await core.result(await retried(core, run));

  await core.query("Is it paid?", { threadId: run.threadId });

  const { messages } = core.model.requests.at(-1)!;
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "results", "assistant", "user"]);
});

test("a retry of a retried run continues what its failed retry has done", async () => {
  const ship: ScriptedTurn = { calls: [["ship", {}]] };
  await using core = await startScripted([pay, down, ship, down, { text: "Paid and shipped." }], {
    manifest: manifestOf({ pay: "everyone", ship: "everyone" }),
    answer: () => paid,
  });
  const run = await failed(core);
  const first = await retried(core, run);
  expect(await core.result(first)).toMatchObject({ code: "provider_error", toolInteractions: [{}, {}] });

  const second = await retried(core, run);

  expect(await core.result(second)).toMatchObject({
    success: true,
    toolInteractions: [{ toolName: "pay" }, { toolName: "ship" }],
  });
  expect(core.runtime.orders.map(({ functionName }) => functionName)).toEqual(["pay", "ship"]);
  expect(await core.runs.detail(core.caller, run.runId)).toMatchObject({ retriedBy: second.runId });
});

test("only a run that failed after a stored turn, and that nothing followed, can be retried", async () => {
  const script = [{ text: "Hi." }, down, pay, down, { text: "Hm." }];
  await using core = await startScripted(script, { manifest, answer: () => paid });

  const fine = await core.start("Hello.");
  await core.result(fine);
  await expect(retried(core, fine)).rejects.toEqual(conflict("succeeded"));

  await expect(retried(core, await failed(core))).rejects.toEqual(conflict("failed"));

  const followed = await failed(core);
  await core.query("And now?", { threadId: followed.threadId });
  await expect(retried(core, followed)).rejects.toEqual(conflict("failed"));
  expect(await core.runs.retry(core.caller, "run_none", {})).toBeUndefined();
});

test("a run whose retry is open or has succeeded cannot be retried again", async () => {
  const held = Promise.withResolvers<void>();
  const script = [pay, down, { text: "Done.", until: held.promise }];
  await using core = await startScripted(script, { manifest, answer: () => paid });
  const run = await failed(core);
  const retry = await retried(core, run);

  await expect(retried(core, retry)).rejects.toEqual(conflict("running"));
  await expect(retried(core, run)).rejects.toEqual(conflict("failed"));
  held.resolve();
  await core.result(retry);
  await expect(retried(core, run)).rejects.toEqual(conflict("failed"));
});

test("of retries at the same time one begins", async () => {
  const held = Promise.withResolvers<void>();
  const script = [pay, down, { text: "Done.", until: held.promise }];
  await using core = await startScripted(script, { manifest, answer: () => paid });
  const run = await failed(core);

  const all = await Promise.allSettled([retried(core, run), retried(core, run), retried(core, run)]);

  const begun = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  expect(begun).toHaveLength(1);
  for (const one of all) if (one.status === "rejected") expect(one.reason).toEqual(conflict("failed"));
  held.resolve();
  expect(await core.result(begun[0]!)).toMatchObject({ success: true });
});

test("a retry with a known Idempotency-Key joins the first one", async () => {
  await using core = await startScripted([pay, down, { text: "Done." }], { manifest, answer: () => paid });
  const run = await failed(core);
  const idempotency = { key: "again", bodyHash: "hash" };
  const first = await retried(core, run, { idempotency });

  expect(await core.runs.join(core.caller, "again", "hash")).toMatchObject({ runId: first.runId });
});

test("a retry that ended before its own first turn releases its key", async () => {
  await using core = await startScripted([pay, down, { text: "Done." }], { manifest, answer: () => paid });
  const run = await failed(core);
  core.runtime.connected = false;
  const retry = await retried(core, run, { idempotency: { key: "again", bodyHash: "hash" } });
  await core.result(retry);

  expect(await core.runs.join(core.caller, "again", "hash")).toBeUndefined();
});

test("a query that was refused before it began does not end the retries of the run before it", async () => {
  await using core = await startScripted([pay, down, { text: "Done." }], { manifest, answer: () => paid });
  const run = await failed(core);
  core.runtime.connected = false;
  const { threadId } = run;
  expect(await core.query("Once more?", { threadId })).toMatchObject({ code: "agent_session_not_found" });
  core.runtime.connected = true;

  expect(await core.result(await retried(core, run))).toMatchObject({ success: true, response: "Done." });
});

test("a retry without a runtime begins and ends with that, and can be repeated", async () => {
  await using core = await startScripted([pay, down, { text: "Done." }], { manifest, answer: () => paid });
  const run = await failed(core);
  core.runtime.connected = false;
  const retry = await retried(core, run);
  expect(await core.result(retry)).toMatchObject({
    code: "agent_session_not_found",
    toolInteractions: [{ toolName: "pay", success: true }],
  });
  core.runtime.connected = true;

  expect(await core.result(await retried(core, retry))).toMatchObject({ success: true, response: "Done." });
  expect(core.runtime.orders).toHaveLength(1);
});

test("a retry whose process ends before its first turn is resumed by the next one", async () => {
  const held = Promise.withResolvers<never>();
  const script = [pay, down, { text: "Never.", until: held.promise }];
  const core = await startScripted(script, { manifest, answer: () => paid });
  const run = await failed(core);
  const retry = await retried(core, run);
  await core.runs.drain(0);
  const store = core.store;
  await using next = await startScripted([{ text: "Done." }], { manifest, answer: () => paid, store, owner: "next" });

  expect(await next.result(retry)).toMatchObject({ success: true, response: "Done.", toolInteractions: [{}] });
  expect([...core.runtime.orders, ...next.runtime.orders]).toHaveLength(1);
  await store.close();
});

test("a run that crashed its process is retried by members only, and once", async () => {
  await using core = await startScripted([pay, { until: new Promise(() => {}) }], { manifest, answer: () => paid });
  const run = await core.start("Pay order 7.");
  await expect.poll(() => core.model.requests.length).toBe(2);
  const end = async ({ runId }: RunHandle, code: string) => {
    const { db } = core.store.engine;
    const result = JSON.stringify({ success: false, code, toolInteractions: [] });
    const ended = { status: "failed" as const, finished_at: Date.now(), owner: null, result, ending: result, fence: 9 };
    await db
      .updateTable("runs")
      .set(ended as never)
      .where("id", "=", runId)
      .execute();
  };
  await end(run, "crash_loop");

  await expect(retried(core, run)).rejects.toEqual(conflict("failed"));
  const retry = await retried(core, run, { byMember: true });
  await expire(core.store, retry);
  await end(retry, "crash_loop");
  await expect(retried(core, retry, { byMember: true })).rejects.toEqual(conflict("failed"));
  await expect(retried(core, run, { byMember: true })).rejects.toEqual(conflict("failed"));
});
