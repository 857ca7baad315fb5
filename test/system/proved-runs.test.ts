import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";
import { expect, test } from "vitest";
import { createTracedService } from "../support/traced-service.ts";

/** A run with an allowed and a denied call for a named session. */
async function queried() {
  const standIn = await startStandIn(
    "anthropic",
    callThenAnswer([
      { name: "look_up", arguments: { order: "o-1", more: { b: 1, a: [null, "ä"] } } },
      { name: "wipe_all" },
    ]),
  );
  const system = await startSystem({ service: createTracedService().service, providers: standIn.config });
  const { runId } = await system.query("hi", {
    role: "clerk",
    sessionId: "session of ada",
    contextJson: '{"user":"ada","shop":1}',
  });
  const { admin, store } = system.plane;
  const { orgId, agentId } = system;
  const { db } = (store as unknown as { engine: { db: Database } }).engine;
  return {
    admin,
    store,
    agentId,
    orgId,
    runId,
    db,
    verify: async () => {
      const { faults, runs } = await admin.verifyAudit(orgId, { runs: true });
      return { faults, runs };
    },
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await standIn[Symbol.asyncDispose]();
    },
  };
}

interface Database {
  updateTable(name: string): { set(values: object): { where(column: string, is: string, value: string): Update } };
}
interface Update {
  execute(): Promise<unknown>;
  where(column: string, is: string, value: string): Update;
}

test("the log proves a kept run: who it was for by pseudonym, its model, and digests that a verification compares", async () => {
  await using run = await queried();
  const { items } = await run.store.audit.list({ agentId: run.agentId, runId: run.runId, limit: 100 });
  const started = items.find(({ action }) => action === "run.started");

  expect(await run.verify()).toEqual({ faults: [], runs: { compared: 1, earlier: 0 } });
  expect(started?.detail).toMatchObject({
    pseudonyms: { session: expect.stringMatching(/^[0-9a-f]{32}$/) },
    model: expect.stringMatching(/^anthropic\//),
    digests: { context: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  const digested = items.filter(({ detail }) => detail?.["digests"]).map(({ action }) => action);
  expect(digested.toSorted()).toEqual(["call.denied", "call.succeeded", "run.started"]);
  expect(JSON.stringify(items)).not.toMatch(/o-1|found|session of ada|"ada"/);
});

test.for<[string, string, object, RegExp]>([
  ["an argument", "calls", { arguments: '{"order":"o-2"}' }, /an argument of its call/],
  ["a result", "calls", { outcome: '{"ok":true,"value":"other"}' }, /the result of its call/],
  ["the role of a call", "calls", { role: "owner" }, /the role of its call/],
  ["the role of the run", "runs", { role: "owner" }, /its role differs from the log, which has "clerk"/],
])("a change of %s in the database is found", async ([, table, values, fault]) => {
  await using run = await queried();
  const changed = run.db.updateTable(table).set(values);
  await (
    table === "runs" ? changed.where("id", "=", run.runId) : changed.where("function_name", "=", "look_up")
  ).execute();

  const { faults } = await run.verify();

  expect(faults).toEqual([expect.stringMatching(fault)]);
});

test("an erased run leaves digests that its values do not reproduce, because the salt is erased with it", async () => {
  await using run = await queried();
  const record = await run.store.runs.get(run.agentId, run.runId);
  await run.store.threads.erase(run.agentId, record!.threadId);
  const { items } = await run.store.audit.list({ agentId: run.agentId, runId: run.runId, limit: 100 });

  expect(record!.request.auditSalt).toMatch(/^[0-9a-f]{32}$/);
  expect(JSON.stringify(items)).not.toContain(record!.request.auditSalt);
  expect(await run.verify()).toEqual({ faults: [], runs: { compared: 0, earlier: 0 } });
});
