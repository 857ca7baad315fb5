import type { CallOutcome, HookVerdict } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { Delivery } from "../../src/ports/function-gateway.ts";
import { memoryStore, startCore } from "./core.ts";
import { down, retried } from "./failed-runs.ts";
import { fakeGateway, manifestOf } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";
import { passed, replacedBy } from "./start-hooks.ts";

const IBAN = "DE02120300000000202051";
const CALL: ScriptedTurn = { text: "I look.", calls: [["get_customer", {}]] };
const ANSWER: ScriptedTurn = { text: "Found." };
const WITHHELD = expect.stringMatching(/^Results are withheld/);
const RELEASED = { toolInteractions: [{ success: true, result: IBAN }] };

/** Hooks that replace the thought next to the call, or pass everything. */
type Hook = (part: string) => HookVerdict;
const passes: Hook = () => passed;
const replacesThought: Hook = (part) => (part === "thought" ? replacedBy("(withheld)") : passed);

function desk(hook: Hook, outcome: CallOutcome = { ok: true, value: IBAN, flow: { withheld: true } }) {
  const manifest = manifestOf({ get_customer: "everyone" }, { beforeAnswer: true });
  Object.assign(manifest.functions[0]!, { flow: { withheld: true } });
  const runtime = fakeGateway(manifest, (): Delivery => ({ kind: "outcome", outcome }));
  runtime.gateway.runHook = async (_agentId, _hash, { call }) =>
    hook(call.hook === "beforeAnswer" ? call.part : call.hook);
  return runtime;
}

test.each([
  ["passes the texts", passes, RELEASED],
  ["has replaced a thought", replacesThought, { warnings: [WITHHELD] }],
] as const)("after a hand-over, the results of a hook that %s are as before it", async (_, hook, ends) => {
  await using store = await memoryStore();
  const { gateway } = desk(hook);
  const isCalled = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const { catalog } = scriptedModel(({ messages }) => {
    if (messages.at(-1)?.role !== "results") return CALL;
    isCalled.resolve();
    return { ...ANSWER, until: mayEnd.promise };
  });
  const replica = (owner: string) => startCore({ models: catalog, gateway, store, owner });
  await using one = await replica("replica-1");
  await using two = await replica("replica-2");
  const run = await one.start("Who is it?");
  await isCalled.promise;

  await one.runs.drain(0);
  mayEnd.resolve();

  expect(await two.result(run)).toMatchObject(ends);
  const events = await two.events(run.runId);
  expect(JSON.stringify(ends === RELEASED ? events.slice(0, -1) : events)).not.toContain(IBAN);
});

test.each([
  ["passes the texts", passes, RELEASED],
  ["has replaced a thought", replacesThought, { warnings: [WITHHELD] }],
] as const)("a retry withholds the results that it carries over, until a hook %s", async (_, hook, ends) => {
  const { gateway } = desk(hook);
  const { catalog } = scriptedModel([CALL, down, ANSWER]);
  await using core = await startCore({ models: catalog, gateway });
  const run = await core.start("Who is it?");

  const failed = await core.result(run);
  const answer = await core.result(await retried(core, run));

  expect(JSON.stringify(failed)).not.toContain(IBAN);
  expect(failed).toMatchObject({ warnings: [WITHHELD], toolInteractions: [{ success: true }] });
  expect(answer).toMatchObject(ends);
  if (ends !== RELEASED) expect(JSON.stringify(answer)).not.toContain(IBAN);
});

test("a result without the runtime's mark is sent", async () => {
  const { gateway } = desk(replacesThought, { ok: true, value: 7 });
  const { catalog } = scriptedModel([CALL, ANSWER]);
  await using core = await startCore({ models: catalog, gateway });

  expect(await core.query("Who is it?")).toMatchObject({ toolInteractions: [{ success: true, result: 7 }] });
});
