import { expect, test } from "vitest";
import { callerIdsOf } from "../../src/ports/callers.ts";
import { ModelError } from "../../src/ports/model-provider.ts";
import { provenCaller } from "../../../server/test/accounts/proven-caller.ts";
import { asks, desk, refund, turnsOf } from "./approval-desk.ts";
import { startScripted } from "./core.ts";
import type { ScriptedTurn } from "./scripted-model.ts";

const ada = { proven: provenCaller("ada") };
const eve = { proven: provenCaller("eve") };
/** The `sub` of another person at another issuer. */
const namesake = { proven: provenCaller("ada", "https://id.other") };

test("what a proven caller began does not exist for another one, nor for an equal sub of another issuer", async () => {
  await using core = await startScripted(() => ({ text: "The PIN is 4711." }));
  const { runs, caller } = core;
  const { runId, threadId } = await core.query("What is my PIN?", { as: ada, sessionId: "s" });

  for (const other of [eve, namesake]) {
    const by = { ...caller, ...other };
    expect(await runs.find(by, runId)).toBeUndefined();
    expect(await runs.detail(by, runId)).toBeUndefined();
    expect(await runs.cancel(by, runId)).toBeUndefined();
    expect(await runs.recordFeedback(by, runId, { score: -1 })).toBe(false);
    expect(await runs.deleteFeedback(by, runId)).toBe(false);
    expect(await runs.eraseThread(by, threadId)).toBe(false);
    await expect(core.start("And now?", { threadId, as: other })).rejects.toMatchObject({ code: "invalid_request" });
    await expect(core.start("x", { threadId, supersede: true, as: other })).rejects.toThrow(/thread/i);
  }
  expect(await runs.find({ ...caller, ...ada }, runId)).toMatchObject({ status: "succeeded" });
  expect(await runs.find(caller, runId)).toMatchObject({ status: "succeeded" });
  await core.query("And now?", { threadId, as: ada });
  expect(JSON.stringify(core.model.requests.at(-1))).toContain("4711");
  expect(await runs.eraseThread({ ...caller, ...ada }, threadId)).toBe(true);
});

test("a thread that was begun without a token is unknown to a proven caller, and open to the key", async () => {
  await using core = await startScripted(() => ({ text: "done" }));
  const { threadId } = await core.query("one");

  await expect(core.start("two", { threadId, as: ada })).rejects.toMatchObject({ code: "invalid_request" });
  expect(await core.runs.eraseThread({ ...core.caller, ...ada }, threadId)).toBe(false);
  expect((await core.query("two", { threadId })).threadId).toBe(threadId);
});

test("the history of a caller's thread has no queries that others sent to it", async () => {
  await using core = await startScripted(() => ({ text: "done" }));
  const { threadId } = await core.query("mine", { as: ada });
  await core.query("of the key", { threadId });

  await core.query("next", { threadId, as: ada });

  const shown = JSON.stringify(core.model.requests.at(-1));
  expect([shown.includes("mine"), shown.includes("of the key")]).toEqual([true, false]);
});

test("an Idempotency-Key joins no run of another caller, whatever the hashes of the bodies", async () => {
  await using core = await startScripted(() => ({ text: "done" }));
  const idempotency = { key: "k", bodyHash: "h" };
  const { runId } = await core.query("hi", { as: ada, idempotency });
  const mismatch = { code: "idempotency_mismatch" };

  for (const other of [eve, namesake]) {
    await expect(core.start("hi", { as: other, idempotency })).rejects.toMatchObject(mismatch);
    const by = { ...core.caller, ...other };
    await expect(core.runs.join(by, "k", "h")).rejects.toMatchObject(mismatch);
  }
  expect(await core.start("hi", { as: ada, idempotency })).toMatchObject({ runId });
  expect(await core.runs.join({ ...core.caller, ...ada }, "k", "h")).toMatchObject({ runId });
});

test("a run whose caller was stored without an issuer is that of the sub", async () => {
  await using core = await startScripted(() => ({ text: "done" }));
  const former = { proven: { ...ada.proven, ids: callerIdsOf({ subject: "ada" }) } };
  const { runId, threadId } = await core.query("hi", { as: former });

  expect(await core.runs.find({ ...core.caller, ...ada }, runId)).toBeDefined();
  expect(await core.runs.find({ ...core.caller, ...eve }, runId)).toBeUndefined();
  expect((await core.query("next", { threadId, as: ada })).threadId).toBe(threadId);
});

test("a repeated run has the caller of its origin", async () => {
  await using core = await startScripted(() => ({ text: "done" }));
  const { runId } = await core.query("hi", { as: ada });
  const repeats = (await core.store.runs.get("agt_1", runId))!;

  const rerun = await core.query("hi", { repeats });

  expect(await core.runs.find({ ...core.caller, ...ada }, rerun.runId)).toBeDefined();
  expect(await core.runs.find({ ...core.caller, ...eve }, rerun.runId)).toBeUndefined();
});

test("a failed run is listed for and retried by its caller, and a retry of the key is a run of the caller", async () => {
  const down = { fail: new ModelError("authentication", "the key is wrong") };
  const turns: ScriptedTurn[] = [{ text: "I look.", calls: [["open", {}]] }, down, down, { text: "Done." }];
  await using core = await startScripted(turns);
  const { runs, caller } = core;
  const run = await core.start("hi", { as: ada });
  await core.result(run);
  const by = { ...caller, ...ada };
  const listed = async (of: typeof caller) => (await runs.list(of, { limit: 9 })).items.map(({ runId }) => runId);

  for (const other of [eve, namesake]) {
    expect(await listed({ ...caller, ...other })).toEqual([]);
    expect(await runs.retry({ ...caller, ...other }, run.runId, {})).toBeUndefined();
  }
  expect(await listed(by)).toEqual([run.runId]);
  const ofKey = (await runs.retry(caller, run.runId, {}))!;
  await core.result(ofKey);
  expect(await runs.find(by, ofKey.runId)).toMatchObject({ status: "failed" });
  const own = (await runs.retry(by, run.runId, {}))!;
  expect(await core.result(own)).toMatchObject({ success: true });
  expect(await listed(by)).toEqual([own.runId, ofKey.runId, run.runId]);
});

test("a decision as `caller` is refused", async () => {
  await using core = await desk();
  const run = await core.begin();
  await core.result(run);
  const [{ approvalId } = expect.fail("without an approval")] = await core.pending();
  const refused = { code: "role_not_allowed" };

  for (const roles of [undefined, ["clerk", "caller"]]) {
    const by = { ...core.principal, ...(roles && { roles }) };
    await expect(core.approvals.decide(by, approvalId, { approved: true, as: "caller" })).rejects.toMatchObject(
      refused,
    );
    await expect(core.approvals.decide(by, "apr_none", { approved: true, as: "caller" })).rejects.toMatchObject({
      code: "not_found",
    });
  }
  // It cannot read the run.
  const pinned = { ...core.principal, roles: ["caller"] };
  await expect(core.approvals.decide(pinned, approvalId, { approved: true })).rejects.toMatchObject({
    code: "not_found",
  });
  expect(await core.pending()).toHaveLength(1);
  expect(core.runtime.orders).toHaveLength(1);
});

test("an unknown approval is unknown whatever role the decision names", async () => {
  await using core = await desk();
  const by = { ...core.principal, roles: ["clerk"] };

  for (const as of ["manager", "clerk", undefined])
    await expect(core.approvals.decide(by, "apr_none", { approved: true, ...(as && { as }) })).rejects.toMatchObject({
      code: "not_found",
    });
});
test("an approval exists for its caller, and for callers with another role that decides it", async () => {
  await using core = await desk(turnsOf(refund(200)));
  const run = await core.runs.start(
    { ...core.principal, ...ada },
    { query: "Refund o1", role: "clerk", analysisMode: false },
  );
  await core.result(run);
  const [{ approvalId } = expect.fail("without an approval")] = await core.pending();
  const of = (caller: typeof ada, roles: string[], pinned?: string[]) => ({
    ...core.principal,
    ...caller,
    roles,
    pinned,
  });
  const listed = async (by: ReturnType<typeof of>) => (await core.approvals.list(by, { limit: 9 })).items.length;

  const unknown = [of(eve, ["clerk"]), of(namesake, ["clerk"]), of(eve, []), of(eve, ["manager"], ["manager"])];
  for (const by of unknown) {
    await expect(core.approvals.get(by, approvalId)).rejects.toMatchObject({ code: "not_found" });
    expect(await listed(by)).toBe(0);
  }
  for (const by of [of(ada, ["clerk"]), of(eve, ["manager"]), of(eve, ["manager"], ["manager", "clerk"])]) {
    expect(await core.approvals.get(by, approvalId)).toMatchObject({ approvalId });
    expect(await listed(by)).toBe(1);
  }
  const asClerk = core.approvals.decide(of(eve, ["clerk", "manager"]), approvalId, { approved: true, as: "clerk" });
  await expect(asClerk).rejects.toMatchObject({ code: "role_not_allowed" });
  await core.approvals.decide(of(eve, ["manager"]), approvalId, { approved: true });
  expect(await core.ended(run)).toMatchObject({ success: true });
});

test("a run that waits in a caller's thread, begun without a token, is not superseded by the caller", async () => {
  await using core = await desk([{ text: "Hello." }, { calls: [refund(200)] }, { text: "Done." }], {
    answer: () => asks(),
  });
  const first = await core.begin({ as: ada });
  await core.result(first);
  const waits = await core.begin({ threadId: first.threadId });
  await core.result(waits);

  const next = await core.result(await core.begin({ threadId: first.threadId, supersede: true, as: ada }));

  expect(next).toMatchObject({ code: "thread_busy" });
  expect(await core.runs.find(core.caller, waits.runId)).toMatchObject({ status: "waiting" });
});
