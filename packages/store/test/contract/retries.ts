import type { CallOutcome, Effect, RunErrorCode } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { CallRecord, RunRecord } from "@patchbay/engine/ports/records";
import type { NewRun } from "@patchbay/engine/ports/store/run-store";
import { found } from "./run-facts.ts";
import { ending, event, type MakePlace, openWorld, sampleRequest, type World } from "./world.ts";

const ok: CallOutcome = { ok: true, value: "done" };
const failure = (code: "outcome_unknown" | "function_failed"): CallOutcome => ({ ok: false, code, message: "no" });

const callOf = (callId: string, change: Partial<CallRecord> = {}): CallRecord => ({
  callId,
  step: 0,
  position: 0,
  modelCallId: "m0",
  functionName: "pay",
  arguments: {},
  attempt: 1,
  instanceId: "runtime-1",
  ...change,
});

/** A run that failed after these calls; its log has one event before the last. */
async function failedRun(
  world: World,
  calls: CallRecord[],
  change: Partial<NewRun> = {},
  code: RunErrorCode = "provider_error",
) {
  const run = await world.start({ manifestHash: "set", ...change });
  await world.store.runs.commit(run, { events: [event(1)], calls });
  await world.store.runs.commit(run, failing({ ...run, lastSeq: run.lastSeq + 1 }, code));
  world.clock.advance(10);
  return run;
}

function failing(run: RunRecord, code: RunErrorCode) {
  const { finish } = ending(run);
  const result = { ...finish!.result!, success: false, code };
  return { events: [event(run.lastSeq + 1, "error")], finish: { ...finish!, status: "failed" as const, result } };
}

const retryOf = ({ runId, threadId }: RunRecord, continues = [runId]): Partial<NewRun> => ({
  threadId,
  newThread: false,
  retries: continues.at(-1)!,
  request: sampleRequest({ retryOf: { runId, continues } }),
});

async function saveSet({ store, agentId }: World, effects: Record<string, Effect>): Promise<void> {
  const functions = Object.entries(effects).map(([name, effect]) => ({
    name,
    effect,
    description: name,
    inputSchema: { type: "object" },
    roles: "everyone" as const,
    conditional: false,
    idempotent: false,
    timeoutMs: 1_000,
  }));
  await store.runtimes.saveManifest(agentId, "set", { name: "desk", preparesContext: false, functions });
}

export function retryContract(place: MakePlace): void {
  test("a retry begins with the log of the failed run and has its open calls", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const open = callOf("call_open", { position: 1 });
    const failed = await failedRun(world, [callOf("call_done", { outcome: ok }), open]);

    const retry = await world.start(retryOf(failed));

    expect(retry).toMatchObject({ status: "running", lastSeq: 1 });
    expect(await runs.events(retry.runId, 0, 10)).toEqual([event(1)]);
    expect((await runs.events(failed.runId, 0, 10)).map(({ seq }) => seq)).toEqual([1, 2]);
    expect((await runs.checkpoint(retry.runId)).calls).toEqual([open]);
    expect((await runs.checkpoint(failed.runId)).calls.map(({ callId }) => callId)).toEqual(["call_done"]);
    expect(await runs.retriedBy(failed.runId)).toBe(retry.runId);
    expect(await runs.newestOf(world.agentId, failed.threadId)).toMatchObject({ runId: retry.runId });
    // Its owner stores the outcome under the call's first id.
    await runs.commit(retry, { events: [event(2)], calls: [{ ...open, outcome: ok }] });
    expect((await runs.checkpoint(retry.runId)).calls).toMatchObject([{ callId: "call_open", outcome: ok }]);
  });

  test("of retries at the same time one is stored, and none after another run of the thread", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const failed = await failedRun(world, []);
    const start = () => runs.start(world.newRun(retryOf(failed)));

    const kinds = (await Promise.all([start(), start(), start()])).map(({ kind }) => kind);

    expect(kinds.toSorted()).toEqual(["outdated", "outdated", "started"]);
    const followed = await failedRun(world, []);
    await world.start({ threadId: followed.threadId, newThread: false });
    expect(await runs.start(world.newRun(retryOf(followed)))).toEqual({ kind: "outdated" });
    expect(await runs.retriedBy(followed.runId)).toBeUndefined();
  });

  test("a retry that must wait is queued and claimed with its log", async () => {
    await using world = await openWorld(place);
    const failed = await failedRun(world, []);
    const retry = await world.start({ ...retryOf(failed), mustWait: true });

    const [claimed] = await world.store.runs.claim({ owner: "replica-b", leaseMs: 15_000, limit: 9 });

    expect(claimed).toMatchObject({ runId: retry.runId, lastSeq: 1, request: retry.request });
  });

  test("a retry gets its functions only from its owner", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const retry = await world.start(retryOf(await failedRun(world, [])));
    const equipment = { manifestHash: "newest", request: sampleRequest({ system: "New." }), audit: [] };

    await runs.equip(retry, equipment);

    expect(await runs.get(world.agentId, retry.runId)).toMatchObject({
      manifestHash: "newest",
      request: { system: "New." },
    });
    await expect(runs.equip({ ...retry, fence: 7 }, equipment)).rejects.toMatchObject({ name: "LeaseLost" });
  });

  test("a run that replaces others takes the place of their histories", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const first = await world.start();
    await world.finish(first);
    const { threadId } = first;
    const failed = await failedRun(world, [callOf("call_1", { outcome: ok })], { threadId, newThread: false });
    const retry = await world.start(retryOf(failed));
    const done = ending(retry);

    await runs.commit(retry, { ...done, finish: { ...done.finish!, replaces: [failed.runId] } });

    const history = await runs.history(threadId, { role: undefined, subject: undefined, maxBytes: 10_000 });
    expect(history.entries.map(({ runId }) => runId)).toEqual([first.runId, retry.runId]);
    expect(history.totalBytes).toBe(history.entries.reduce((sum, { bytes }) => sum + bytes, 0));
  });

  test("retention leaves the runs that an open retry continues", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const failed = await failedRun(world, []);
    const retry = await world.start({ ...retryOf(failed), timeoutMs: 90 * 86_400_000 });
    world.clock.advance(40 * 86_400_000);

    await world.store.sweep({ days: 30 });
    expect(await runs.get(world.agentId, failed.runId)).toBeDefined();

    await world.finish(retry);
    await world.store.sweep({ days: 30 });
    expect(await runs.get(world.agentId, failed.runId)).toBeUndefined();
  });

  test("a list says which runs ended after writes", async () => {
    await using world = await openWorld(place);
    await saveSet(world, { pay: "write", wipe: "destructive", look: "read" });
    const ended = async (call: Partial<CallRecord>) => (await failedRun(world, [callOf(`call_${++made}`, call)])).runId;
    let made = 0;
    const wrote = [
      await ended({ outcome: ok }),
      await ended({ functionName: "wipe", outcome: failure("outcome_unknown") }),
      await ended({ functionName: "unknown_to_the_set", outcome: ok }),
      await ended({}),
    ];
    const others = [
      await ended({ functionName: "look", outcome: ok }),
      await ended({ outcome: failure("function_failed") }),
      (await failedRun(world, [])).runId,
    ];
    const fine = await world.start();
    await world.finish(fine);

    const list = async (endedAfterWrites?: boolean) => {
      const asked = { limit: 100, ...(endedAfterWrites !== undefined && { endedAfterWrites }) };
      return (await world.store.runs.page(world.agentId, asked)).items.map(({ runId }) => runId);
    };
    // In the console, before and after their facts are stored.
    expect((await found(world, { trouble: "writes" })).toSorted()).toEqual(wrote.toSorted());
    await world.store.index.record();
    expect((await found(world, { trouble: "writes" })).toSorted()).toEqual(wrote.toSorted());
    expect(await list(true)).toEqual(wrote.toReversed());
    expect(await list(false)).toEqual([fine.runId, ...others.toReversed()]);
    expect(await list()).toEqual([fine.runId, ...others.toReversed(), ...wrote.toReversed()]);
  });

  test("a failed retry ended after the writes of the run that it continues, which keeps its own open call", async () => {
    await using world = await openWorld(place);
    await saveSet(world, { pay: "write", look: "read" });
    const failed = await failedRun(world, [callOf("call_open")]);
    const retry = await world.start(retryOf(failed));
    await world.store.runs.commit(retry, { calls: [callOf("call_open", { outcome: failure("outcome_unknown") })] });
    await world.store.runs.commit(retry, failing(retry, "provider_error"));

    const { items } = await world.store.runs.page(world.agentId, { limit: 10 });

    expect(items).toMatchObject([
      { runId: retry.runId, endedAfterWrites: true },
      { runId: failed.runId, endedAfterWrites: true },
    ]);
  });

  test("a list of runs is filtered, and its pages have each run once while runs begin", async () => {
    await using world = await openWorld(place);
    const { runs } = world.store;
    const made: RunRecord[] = [];
    for (let at = 0; at < 7; at++) {
      made.push(await failedRun(world, [], { sessionId: `s${at % 2}` }, at < 5 ? "provider_error" : "step_limit"));
    }
    const open = await world.start({ sessionId: "s1" });
    const ids = async (asked: Partial<Parameters<typeof runs.page>[1]>) => {
      const found: string[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await runs.page(world.agentId, { limit: 2, ...asked, ...(cursor !== undefined && { cursor }) });
        found.push(...page.items.map(({ runId }) => runId));
        if (page.nextCursor === null) return found;
        cursor = page.nextCursor;
        world.clock.advance(1);
        await world.start();
      }
    };
    const newestFirst = (...at: number[]) => at.map((one) => made[one]!.runId);

    expect(await ids({ code: "provider_error" })).toEqual(newestFirst(4, 3, 2, 1, 0));
    expect(await ids({ status: "failed" })).toEqual(newestFirst(6, 5, 4, 3, 2, 1, 0));
    expect(await ids({ status: "failed", sessionId: "s1" })).toEqual(newestFirst(5, 3, 1));
    expect(await ids({ sessionId: "s1" })).toEqual([open.runId, ...newestFirst(5, 3, 1)]);
    expect(await ids({ threadId: made[2]!.threadId })).toEqual(newestFirst(2));
    expect(await ids({ status: "succeeded" })).toEqual([]);
    expect((await ids({ status: "running" })).at(-1)).toBe(open.runId);
    expect((await runs.page(world.agentId, { limit: 1, threadId: open.threadId })).items).toEqual([
      {
        runId: open.runId,
        threadId: open.threadId,
        sessionId: "s1",
        status: "running",
        endedAfterWrites: false,
        startedAt: new Date(open.startedAt!).toISOString(),
      },
    ]);
    await expect(runs.page(world.agentId, { limit: 1, cursor: "?" })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });

  test("a list has the runs of the reader's roles and those without a role", async () => {
    await using world = await openWorld(place);
    const ofRole = async (role: string) => (await world.start({ request: sampleRequest({ role }) })).runId;
    const [clerk, chief] = [await ofRole("clerk"), await ofRole("chief")];
    const none = (await world.start()).runId;

    const { items } = await world.store.runs.page(world.agentId, { limit: 10, roles: ["clerk"] });

    expect(items.map(({ runId }) => runId).toSorted()).toEqual([clerk, none].toSorted());
    expect(items.map(({ runId }) => runId)).not.toContain(chief);
  });
}
