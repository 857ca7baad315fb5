import { expect, test } from "vitest";
import { retryRun } from "../../src/run/start/retry.ts";
import { startScripted } from "./core.ts";
import { conflict, down, failed, manifest, paid, pay, retried } from "./failed-runs.ts";
import { manifestOf } from "./fake-gateway.ts";

test("an open call of a run that timed out is settled as after a crash", async () => {
  const asked = Promise.withResolvers<void>();
  await using core = await startScripted([pay, { text: "Unsure." }], {
    manifest,
    answer: () => (asked.resolve(), new Promise(() => {})),
    runTimeoutMs: 3_000,
  });
  core.runtime.gateway.recover = async () => ({ kind: "unknown" });
  const run = await core.start("Pay order 7.");
  await asked.promise;
  expect(await core.result(run)).toMatchObject({ code: "deadline_exceeded" });

  const answer = await core.result(await retried(core, run));

  expect(answer).toMatchObject({ success: true, toolInteractions: [{ toolName: "pay", code: "outcome_unknown" }] });
  expect(core.runtime.orders).toHaveLength(1);
});

test.each([
  ["outcome_unknown", "is repeated", true],
  ["cancelled", "is repeated", true],
  ["outcome_unknown", "stays unknown", false],
  ["cancelled", "stays unknown", false],
] as const)("a call that the failed run cut off, now %s, %s with idempotent: %s", async (code, _, idempotent) => {
  const asked = Promise.withResolvers<void>();
  const functions = manifest.functions.map((one) => ({ ...one, idempotent }));
  await using core = await startScripted([pay, { text: "Done." }], {
    manifest: { ...manifest, functions },
    answer: ({ attempt }) => (attempt > 1 ? paid : (asked.resolve(), new Promise(() => {}))),
    runTimeoutMs: 3_000,
  });
  core.runtime.gateway.recover = async () => ({ kind: "outcome", outcome: { ok: false, code, message: "Cut off." } });
  const run = await core.start("Pay order 7.");
  await asked.promise;
  await core.result(run);

  const answer = await core.result(await retried(core, run));

  const unknown = { success: false, code: "outcome_unknown", errorMessage: expect.stringMatching(/^The function may/) };
  expect(answer).toMatchObject({ toolInteractions: [idempotent ? { success: true } : unknown] });
  expect(core.runtime.orders).toHaveLength(idempotent ? 2 : 1);
});

test("a retry has the newest functions: a call of one that is gone is not sent", async () => {
  const asked = Promise.withResolvers<void>();
  const gone = manifestOf({ pay: "everyone" });
  await using core = await startScripted([pay, { calls: [["pay", {}]] }, { text: "Gone." }], {
    manifest: gone,
    answer: () => (asked.resolve(), new Promise(() => {})),
    runTimeoutMs: 3_000,
  });
  const run = await core.start("Pay order 7.");
  await asked.promise;
  await core.result(run);
  const newest = { manifest: manifestOf({ look: "everyone" }), manifestHash: "newest" };
  await core.store.runtimes.saveManifest("agt_1", newest.manifestHash, newest.manifest);
  core.runtime.gateway.session = async () => ({ ...newest, services: [{ service: "test", ...newest }], missing: [] });

  const answer = await core.result(await retried(core, run));

  expect(answer).toMatchObject({
    success: true,
    toolInteractions: [{ code: "outcome_unknown" }, { code: "unknown_function" }],
  });
  expect(core.runtime.orders).toHaveLength(1);
  expect(core.model.requests.at(-1)!.functions.map(({ name }) => name)).toEqual(["look"]);
});

test("a retry that a command stores on the database is begun by the server", async () => {
  await using core = await startScripted([pay, down, { text: "Done." }], { manifest, answer: () => paid });
  const run = await failed(core);

  const stored = await retryRun(core.store, run.runId);

  expect(stored).toEqual({ success: true, runId: expect.any(String), threadId: run.threadId, retryOf: run.runId });
  expect(await core.result({ ...run, runId: stored.runId })).toMatchObject({ success: true, toolInteractions: [{}] });
  expect(core.runtime.orders).toHaveLength(1);
  await expect(retryRun(core.store, run.runId)).rejects.toEqual(conflict("failed"));
  await expect(retryRun(core.store, "run_none")).rejects.toMatchObject({ code: "not_found" });
});

test("a retry that waits for an approval answers with the calls of the failed run too", async () => {
  const approval = { by: ["caller"], conditional: false, expiresInMs: 60_000, fourEyes: false };
  const functions = manifestOf({ pay: "everyone", ship: "everyone" }).functions.map((one) =>
    one.name === "ship" ? { ...one, approval } : one,
  );
  await using core = await startScripted([pay, down, { calls: [["ship", {}]] }], {
    manifest: { ...manifest, functions },
    answer: ({ functionName }) =>
      functionName === "pay"
        ? paid
        : { kind: "outcome", outcome: { ok: false, code: "approval_required", message: "Ask." } },
  });
  const run = await failed(core);

  expect(await core.result(await retried(core, run))).toMatchObject({
    code: "approval_required",
    toolInteractions: [
      { toolName: "pay", success: true },
      { toolName: "ship", code: "approval_required" },
    ],
  });
});
