import type { CallOutcome } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { createMetrics } from "../../../control-plane/src/start/metrics.ts";
import { silentLog, type Log } from "../../src/ports/log.ts";
import { type CoreOptions, memoryStore, startCore, startScripted } from "./core.ts";
import { fakeGateway, manifestOf } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";

const MANIFEST = manifestOf({ look_up: "everyone", refund: ["clerk"] });
const CANARY = "c4n4ry";
const never = new Promise<never>(() => {});

type System = Awaited<ReturnType<typeof startCore>>;

/** A run whose model makes these calls and then answers, and whose runtime ends each call with `outcome`. */
const startCalls = (calls: ScriptedTurn["calls"], outcome: CallOutcome, options: Partial<CoreOptions> = {}) =>
  startScripted([{ ...(calls && { calls }) }, { text: "Done." }], {
    manifest: MANIFEST,
    answer: () => ({ kind: "outcome", outcome }),
    ...options,
  });

/** The audit log, oldest entry first. */
async function audited({ store }: Pick<System, "store">) {
  const { items } = await store.audit.list({ agentId: "agt_1", limit: 100 });
  return items.toReversed();
}

const briefly = (entries: Awaited<ReturnType<typeof audited>>) =>
  entries.map(({ action, functionName, rule }) => [action, functionName, rule].filter(Boolean).join(" "));

test("a run has one entry with its role, key and function set, and each of its calls has one", async () => {
  await using system = await startCalls([["look_up", {}]], { ok: true, value: 1 });

  const { runId } = await system.query("Hi", { role: "clerk" });

  const entries = await audited(system);
  expect(briefly(entries)).toEqual(["run.started", "call.succeeded look_up", "run.succeeded"]);
  expect(entries[0]).toMatchObject({ runId, role: "clerk", keyId: "key_1", manifestHash: "hash" });
  expect(entries[1]).toMatchObject({ runId, role: "clerk", keyId: "key_1", callId: expect.any(String) });
});

test.for([
  ["refund", "{}", undefined, "call.denied refund roles"],
  ["remove", "{}", undefined, "call.denied remove unknown"],
  ["look_up", "{broken", undefined, "call.denied look_up input"],
  ["look_up", "{}", { ok: false, code: "denied", message: "No.", rule: "authorize" }, "call.denied look_up authorize"],
  ["look_up", "{}", { ok: false, code: "denied", message: "No.", rule: "context" }, "call.denied look_up context"],
  ["look_up", "{}", { ok: false, code: "invalid_arguments", message: "id" }, "call.denied look_up input"],
  ["look_up", "{}", { ok: false, code: "timed_out", message: "Late." }, "call.failed look_up timed_out"],
  ["look_up", "{}", { ok: false, code: "denied", message: "No.", rule: CANARY }, "call.denied look_up authorize"],
  [`tell ${CANARY}`, "{}", undefined, "call.denied (not a name) unknown"],
] as const)("a call of %s with %s that ends as %o is stored as %s", async ([name, args, outcome, expected]) => {
  await using system = await startCalls([[name, args]], outcome ?? { ok: true, value: 1 });

  await system.query("Hi");

  expect(briefly(await audited(system))[1]).toBe(expected);
});

test("redacted fields are stored by path, and no value of a query is stored", async () => {
  const outcome: CallOutcome = { ok: true, value: { name: CANARY }, redacted: ["card.number", "orders[].cost"] };
  await using system = await startCalls([["look_up", { id: CANARY }]], outcome);

  await system.query(`Who is ${CANARY}?`, { context: { user: CANARY } });

  const entries = await audited(system);
  expect(briefly(entries)).toContain("call.redacted look_up");
  expect(entries.find(({ action }) => action === "call.redacted")).toMatchObject({
    detail: { members: ["card.number", "orders[].cost"], count: 2 },
  });
  expect(JSON.stringify(entries)).not.toContain(CANARY);
});

test("a run that was refused before it began has one entry", async () => {
  await using system = await startCalls([], { ok: true, value: 1 });
  system.runtime.connected = false;

  await system.query("Hi", { role: "clerk" });

  const entries = await audited(system);
  expect(briefly(entries)).toEqual(["run.refused agent_session_not_found"]);
  expect(entries[0]).toMatchObject({ role: "clerk", keyId: "key_1" });
});

test("a query with a role that its key may not state has an entry, although it did not become a run", async () => {
  await using system = await startCalls([], { ok: true, value: 1 });

  await expect(system.query("Hi", { role: "clerk", as: { roles: ["customer"] } })).rejects.toThrow();

  expect(await audited(system)).toMatchObject([
    { action: "query.refused", rule: "role_not_allowed", role: "clerk", keyId: "key_1" },
  ]);
});

test("a query whose context its service rejects has an entry", async () => {
  const runtime = fakeGateway({ ...MANIFEST, preparesContext: true }, () => never);
  runtime.prepared = { ok: false, faults: [{ path: "contextJson.user", message: "is missing" }] };
  await using system = await startCore({ models: scriptedModel([]).catalog, gateway: runtime.gateway });

  await expect(system.query("Hi", { context: { user: CANARY } })).rejects.toThrow();

  const entries = await audited(system);
  expect(entries).toMatchObject([{ action: "query.refused", rule: "context" }]);
  expect(JSON.stringify(entries)).not.toContain(CANARY);
});

test("a call that was in progress when its run was cancelled has an entry", async () => {
  const asked = Promise.withResolvers<void>();
  const runtime = fakeGateway(MANIFEST, () => {
    asked.resolve();
    return never;
  });
  const model = scriptedModel([{ calls: [["look_up", {}]] }]);
  await using system = await startCore({ models: model.catalog, gateway: runtime.gateway });
  const answer = system.query("Hi");
  await asked.promise;
  const [run] = await system.store.runs.list("agt_1", { limit: 1 });

  await system.runs.cancel(system.caller, run?.runId ?? "");
  await answer;

  expect(briefly(await audited(system))).toEqual([
    "run.started",
    "call.failed look_up cancelled",
    "run.failed cancelled",
  ]);
});

test("a resumed run has an entry for it, and each of its calls still has one", async () => {
  await using store = await memoryStore();
  const asked = Promise.withResolvers<void>();
  const model = scriptedModel((_, index) => {
    if (index === 0) return { calls: [["look_up", {}]] };
    if (index === 2) return { text: "Done." };
    asked.resolve();
    return { until: never };
  });
  const { gateway } = fakeGateway(MANIFEST, () => ({ kind: "outcome", outcome: { ok: true, value: 1 } }));
  const first = await startCore({ models: model.catalog, gateway, store });
  const run = await first.start("Hi");
  await asked.promise;
  await first.runs.drain(0);

  await using second = await startCore({ models: model.catalog, gateway, store, owner: "replica-2" });
  await second.result(run);

  expect(briefly(await audited({ store }))).toEqual([
    "run.started",
    "call.succeeded look_up",
    "run.resumed",
    "run.succeeded",
  ]);
});

test.for(["roles", "unknown"])("a runtime that denies an allowed call by rule %s raises an alarm", async (rule) => {
  const lines: unknown[] = [];
  const log: Log = { ...silentLog, error: (...line) => void lines.push(line), child: () => log };
  const metrics = createMetrics();
  const message = "Not permitted: there is no function look_up for this role.";
  const outcome: CallOutcome = { ok: false, code: "unknown_function", message, rule };
  await using system = await startCalls([["look_up", { id: CANARY }]], outcome, { log, metrics });

  const { runId, toolInteractions } = await system.query("Hi");

  expect(toolInteractions).toMatchObject([{ success: false, code: "unknown_function", errorMessage: message }]);
  expect(briefly(await audited(system))).toEqual([
    "run.started",
    `call.denied look_up ${rule}`,
    `access.disagreement look_up ${rule}`,
    "run.succeeded",
  ]);
  expect(lines).toEqual([["access disagreement", expect.objectContaining({ functionName: "look_up", rule })]]);
  expect(await metrics.read()).toMatch(/^patchbay_access_disagreements_total 1$/m);
  expect(runId).toBeDefined();
});
