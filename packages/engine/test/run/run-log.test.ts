import { type LogFields, type LogLevel, logTo } from "@patchbay/kit";
import { expect, test } from "vitest";
import { type EndedCall, silentMetrics } from "../../src/ports/metrics.ts";
import { startScripted } from "./core.ts";
import { manifestOf, ok } from "./fake-gateway.ts";
import type { ScriptedTurn } from "./scripted-model.ts";
import { SCHEMA } from "./start-structured.ts";

const MANIFEST = manifestOf({ look_up: "everyone", refund: ["clerk"] });
const CANARY = "c4n4ry";
const NEVER_LOGGED = /c4n4ry/;

type Line = { level: LogLevel; message: string } & LogFields;

/** A core whose log keeps all lines, also those of level debug. */
async function startLogged(turns: ScriptedTurn[], options: Partial<Parameters<typeof startScripted>[1]> = {}) {
  const lines: Line[] = [];
  const log = logTo((level, message, fields) => lines.push({ level, message, ...fields }));
  const core = await startScripted(turns, {
    manifest: MANIFEST,
    answer: () => ok({ found: CANARY }),
    log,
    ...options,
  });
  return { ...core, logged: lines, named: (message: string) => lines.filter((line) => line.message === message) };
}

test("an ended run is one line at info: its sender, its outcome and what it used", async () => {
  const calls = [
    ["look_up", {}],
    ["refund", {}],
  ] as const;
  const usage = { input: 100, cachedInput: 0, output: 10 };
  await using core = await startLogged([
    { calls: [...calls], usage },
    { text: "Done.", usage },
  ]);

  const { runId, executionTimeMs } = await core.query("Hi", {
    role: "guest",
    requestId: "abc",
    as: { keyLabel: "web shop" },
  });

  expect(core.named("run ended")).toEqual([
    {
      level: "info",
      message: "run ended",
      runId,
      agentId: "agt_1",
      requestId: "abc",
      keyId: "key_1",
      keyLabel: "web shop",
      role: "guest",
      status: "succeeded",
      steps: 2,
      calls: 2,
      denied: 1,
      inputTokens: 200,
      outputTokens: 20,
      costUsd: 0.00024,
      ms: executionTimeMs,
    },
  ]);
});

test("a run that another replica resumes keeps the request id and the label of its key in its line", async () => {
  const asked = Promise.withResolvers<void>();
  await using first = await startLogged([{ text: "", stall: asked.resolve }]);
  const run = await first.start("Hi", { requestId: "abc", as: { keyLabel: "web shop" } });
  await asked.promise;
  await first.runs.drain(0);
  await using second = await startLogged([{ text: "Done." }], { store: first.store, owner: "replica-2" });

  await second.result(run);

  await expect
    .poll(() => second.named("run ended"))
    .toMatchObject([{ runId: run.runId, requestId: "abc", keyLabel: "web shop" }]);
});

test("a query that fails before it begins is a line with its code too", async () => {
  await using core = await startLogged([]);
  core.runtime.connected = false;

  const { runId } = await core.query("Hi", { requestId: "abc" });

  expect(core.named("run ended")).toMatchObject([
    { runId, requestId: "abc", status: "failed", code: "agent_session_not_found", steps: 0, calls: 0 },
  ]);
});

test("each call is a line at debug, without the name of a function that the model made up", async () => {
  const calls = [
    ["look_up", {}],
    ["refund", {}],
    [`tell_${CANARY}`, {}],
  ] as const;
  await using core = await startLogged([{ calls: [...calls] }, { text: "Done." }]);

  const { runId } = await core.query("Hi");

  const of = { level: "debug", message: "call ended", runId, callId: expect.any(String), attempt: 1 };
  expect(core.named("call ended")).toEqual([
    { ...of, agentId: "agt_1", functionName: "refund", code: "unknown_function", rule: "roles", ms: 0 },
    { ...of, agentId: "agt_1", code: "unknown_function", rule: "unknown", ms: 0 },
    { ...of, agentId: "agt_1", functionName: "look_up", instanceId: "runtime-0", ms: expect.any(Number) },
  ]);
});

test("a call whose run ends first is a line with the code of the run, and moves the metrics", async () => {
  const metrics: EndedCall[] = [];
  const sent = Promise.withResolvers<void>();
  const answer = () => {
    sent.resolve();
    return new Promise<never>(() => undefined);
  };
  const callEnded = (call: EndedCall) => void metrics.push(call);
  const calls = [["look_up", {}]] as const;
  await using core = await startLogged([{ calls: [...calls] }], { answer, metrics: { ...silentMetrics, callEnded } });
  const run = await core.start("Hi");
  await sent.promise;

  await core.runs.cancel(core.caller, run.runId);
  await core.result(run);

  const { runId } = run;
  await expect
    .poll(() => core.named("call ended"))
    .toMatchObject([{ runId, functionName: "look_up", code: "cancelled", instanceId: "runtime-0" }]);
  expect(metrics).toEqual([
    { agentId: "agt_1", functionName: "look_up", outcome: "cancelled", ms: expect.any(Number) },
  ]);
});

test("each call next to a structured answer, which is never run, is a line too", async () => {
  const calls = [
    ["look_up", {}],
    ["respond", { total: 1 }],
    ["refund", {}],
  ] as const;
  await using core = await startLogged([{ calls: [...calls] }]);

  await core.query("Hi", { responseSchema: SCHEMA });

  expect(core.named("call ended")).toMatchObject([
    { functionName: "look_up", code: "cancelled", ms: 0 },
    { functionName: "refund", code: "unknown_function", rule: "roles", ms: 0 },
  ]);
  expect(core.named("run ended")).toMatchObject([{ calls: 2, denied: 1 }]);
});

test("no line at any level holds a text of the conversation, the context, arguments or results", async () => {
  await using core = await startLogged([
    { text: CANARY, thoughts: [CANARY], calls: [["look_up", { id: CANARY }]] },
    { calls: [[CANARY, { id: CANARY }]] },
    { text: CANARY },
  ]);

  await core.query(CANARY, { context: { user: CANARY }, instructions: CANARY });
  await core.query(CANARY, { llm: { provider: "openai" } });

  expect(core.named("run ended")).toHaveLength(2);
  expect(JSON.stringify(core.logged)).not.toMatch(NEVER_LOGGED);
});
