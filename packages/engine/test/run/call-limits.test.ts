import type { CallOutcome, Manifest, QueryResponse } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { CallOrder, Delivery } from "../../src/ports/function-gateway.ts";
import { memoryStore, startCore, startScripted } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";

type Calls = NonNullable<ScriptedTurn["calls"]>;

const MANIFEST: Manifest = manifestOf({
  pay: "everyone",
  idempotent_pay: "everyone",
  find: "everyone",
  staff: ["agent"],
});
for (const one of MANIFEST.functions) if (one.name === "find" || one.name === "staff") one.effect = "read";

const failure = (code: Extract<CallOutcome, { ok: false }>["code"], message: string): Delivery => ({
  kind: "outcome",
  outcome: { ok: false, code, message },
});
const numbered = (name: string, from: number, to: number): Calls =>
  Array.from({ length: to - from }, (_, i) => [name, { n: from + i }] as const);
const times = (count: number, name: string, args: unknown = {}): Calls =>
  Array.from({ length: count }, () => [name, args]);

/** A run whose turns make these calls. */
const startCalls = (turns: Calls[], options: Parameters<typeof startScripted>[1] = {}) =>
  startScripted([...turns.map((calls) => ({ calls })), { text: "Done." }], { manifest: MANIFEST, ...options });

const codesOf = ({ toolInteractions }: QueryResponse): string[] => toolInteractions.map(({ code }) => code ?? "ok");
const many = (count: number, code: string): string[] => Array.from({ length: count }, () => code);

test("calls above the limit of a turn are refused, and the next turn may call again", async () => {
  await using system = await startCalls([numbered("pay", 0, 40), numbered("pay", 40, 41)]);

  const answer = await system.query("Pay them all");

  expect(answer.success).toBe(true);
  expect(codesOf(answer)).toEqual([...many(32, "ok"), ...many(8, "call_limit"), "ok"]);
  expect(answer.toolInteractions[32]?.errorMessage).toBe(
    "Call 33 of this turn exceeds the limit of 32 calls in one turn. It was not run. Call the function again in the next turn.",
  );
  expect(system.runtime.orders).toHaveLength(33);
});

test("a refused call is in the events and in the audit log, with the limit", async () => {
  await using system = await startCalls([numbered("pay", 0, 3)], { limits: { callsPerTurn: 2 } });

  const { runId } = await system.query("Pay them all");

  const events = await system.events(runId);
  expect(events.filter(({ type }) => type === "toolCall")).toHaveLength(3);
  expect(events.find((event) => event.type === "toolResult" && !event.success)).toMatchObject({ code: "call_limit" });
  const { items } = await system.store.audit.list({ agentId: "agt_1", limit: 100 });
  expect(items.filter(({ action }) => action === "call.failed")).toMatchObject([
    { functionName: "pay", rule: "call_limit", detail: { reason: expect.stringContaining("limit of 2 calls") } },
  ]);
});

test("the calls of all turns count towards the limit of a run, except refused ones", async () => {
  const limits = { callsPerTurn: 3, callsPerRun: 5 };
  await using system = await startCalls([numbered("pay", 0, 4), numbered("pay", 4, 7), numbered("pay", 7, 8)], {
    limits,
  });

  const answer = await system.query("Pay them all");

  expect(codesOf(answer)).toEqual(["ok", "ok", "ok", "call_limit", "ok", "ok", "call_limit", "call_limit"]);
  expect(answer.toolInteractions[6]?.errorMessage).toMatch(/^The limit of 5 calls in one run is used up\./);
});

test("the fourth call with equal arguments is refused, in whatever order their properties are written", async () => {
  const written = ['{"a":1,"b":{"c":[1,2],"d":2}}', '{"b":{"d":2.0,"c":[1,2]},"a":1}'];
  const calls = [0, 1, 0, 1, 0].map((i) => ["pay", written[i]] as const);
  await using system = await startCalls([
    calls.slice(0, 2),
    calls.slice(2),
    [["pay", { a: 1, b: { c: [2, 1], d: 2 } }]],
  ]);

  const answer = await system.query("Pay");

  expect(codesOf(answer)).toEqual(["ok", "ok", "ok", "repeated_call", "repeated_call", "ok"]);
  expect(answer.toolInteractions[3]?.errorMessage).toContain("limit of 3");
});

test("a function that reads may be called with equal arguments ten times", async () => {
  await using system = await startCalls([times(6, "find"), times(6, "find")]);

  expect(codesOf(await system.query("Find"))).toEqual([...many(10, "ok"), ...many(2, "repeated_call")]);
});

test("a hidden and an unknown function look the same below and above the limits", async () => {
  const limits = { callsPerTurn: 6, callsPerRun: 8 };
  const refusals = async (name: string) => {
    await using system = await startCalls([times(5, name), times(2, name), numbered(name, 0, 9), times(1, "pay")], {
      limits,
    });
    const { toolInteractions } = await system.query("Try");
    return toolInteractions.map((call) => JSON.stringify(call).replaceAll(name, "NAME"));
  };

  const hidden = await refusals("staff");

  expect(hidden).toEqual(await refusals("nothing"));
  expect(hidden.map((one) => (JSON.parse(one) as { code: string }).code)).toEqual([
    ...many(3, "unknown_function"),
    ...many(4, "repeated_call"),
    ...many(5, "unknown_function"),
    ...many(5, "call_limit"),
  ]);
});

test.for([
  ["denied by authorize", {}, failure("denied", "No."), "denied"],
  ["refused by the schema", {}, failure("invalid_arguments", "id is missing"), "invalid_arguments"],
] as const)("calls that are %s do not count as repeated", async ([, args, delivery, code]) => {
  await using system = await startCalls([times(3, "pay", args), times(3, "pay", args)], { answer: () => delivery });

  expect(codesOf(await system.query("Pay"))).toEqual(many(6, code));
});

test("calls without readable arguments do not count as repeated", async () => {
  const unreadable = times(2, "pay", '{"id":');
  await using system = await startCalls([[...unreadable, ...numbered("pay", 0, 1), ...unreadable]]);

  const invalid = many(2, "invalid_arguments");
  expect(codesOf(await system.query("Pay"))).toEqual([...invalid, "ok", ...invalid]);
});

test("redeliveries of a call do not count", async () => {
  const seen = new Map<string, number>();
  const answer = ({ callId }: CallOrder): Delivery => {
    seen.set(callId, (seen.get(callId) ?? 0) + 1);
    return seen.get(callId) === 1 ? { kind: "unknown" } : ok(1);
  };
  await using system = await startCalls([times(3, "idempotent_pay")], { answer });

  expect(codesOf(await system.query("Pay"))).toEqual(many(3, "ok"));
  expect(system.runtime.orders).toHaveLength(6);
});

test("a runtime cannot use the codes of the control plane's limits", async () => {
  await using system = await startCalls([times(1, "pay")], { answer: () => failure("call_limit", "Not now.") });

  expect(codesOf(await system.query("Pay"))).toEqual(["function_failed"]);
});

test("after the first result above the run's limit no result is stored, and failures keep their code", async () => {
  const answer = ({ arguments: args }: CallOrder): Delivery => {
    const { n } = args as { n: number };
    return n === 4 ? failure("denied", "x".repeat(5_000)) : ok("y".repeat(n === 3 ? 1 : 398));
  };
  const turns = [0, 1, 2, 3, 4].map((n) => numbered("pay", n, n + 1));
  await using system = await startCalls(turns, { answer, limits: { runResultBytes: 800 } });

  const done = await system.query("Pay");

  expect(done.success).toBe(true);
  expect(codesOf(done)).toEqual(["ok", "ok", "result_too_large", "result_too_large", "denied"]);
  expect(done.toolInteractions[2]?.errorMessage).toContain("exceed the limit of 800 bytes");
  expect(done.toolInteractions[4]?.errorMessage).toHaveLength(200);
  const { items } = await system.store.audit.list({ agentId: "agt_1", limit: 100 });
  expect(items.find(({ rule }) => rule === "result_too_large")?.detail).toMatchObject({
    reason: expect.stringContaining("800"),
  });
});

test("calls of an earlier owner count towards the limits", async () => {
  await using store = await memoryStore();
  const asked = Promise.withResolvers<void>();
  const first = await (async () => {
    const model = scriptedModel((_, index) => {
      if (index === 0) return { calls: [...times(2, "pay"), ["pay", { large: true }]] };
      asked.resolve();
      return { until: new Promise(() => {}) };
    });
    const answer = ({ arguments: args }: CallOrder) => ok("z".repeat((args as { large?: boolean }).large ? 99 : 1));
    const { gateway } = fakeGateway(MANIFEST, answer);
    return startCore({ models: model.catalog, gateway, store, limits: { runResultBytes: 100 } });
  })();
  const run = await first.start("Pay");
  await asked.promise;
  await first[Symbol.asyncDispose]();

  await using second = await startCalls([[...times(2, "pay"), ...times(1, "find")]], {
    store,
    owner: "replica-2",
    limits: { runResultBytes: 100 },
  });
  const result = await second.result(run);

  expect(result && codesOf(result)).toEqual([
    "ok",
    "ok",
    "result_too_large",
    "result_too_large",
    "repeated_call",
    "result_too_large",
  ]);
});

test("an answer stays within its limit of bytes when its calls have large arguments", async () => {
  const large = (n: number) => ["pay", { text: `${n}`.repeat(200_000) }] as const;
  await using system = await startCalls([[large(1), large(2), large(3), large(4)]], {
    limits: { runResultBytes: 1_000 },
  });

  const answer = await system.query("Pay");

  expect(codesOf(answer)).toEqual(["ok", "ok"]);
  expect(answer.warnings).toEqual(["The answer leaves out 2 calls of the run. Its events list them."]);
  expect((await system.events(answer.runId)).filter(({ type }) => type === "toolCall")).toHaveLength(4);
});

test("later runs see only the question and answer of a very long run", async () => {
  await using system = await startCalls(
    Array.from({ length: 14 }, (_, n) => numbered("pay", n, n + 1)),
    { answer: () => ok("y".repeat(40_000)) },
  );

  const { threadId } = await system.query("Pay them all");

  const scope = { role: undefined, subject: undefined, maxBytes: 1_000_000 };
  const { entries } = await system.store.runs.history(threadId, scope);
  expect(entries[0]?.messages).toEqual([
    { role: "user", text: "Pay them all" },
    { role: "assistant", text: "Done.", calls: [] },
  ]);
});

test("the calls of a turn wait for a runtime at the same time", async () => {
  const waiting: (() => void)[] = [];
  const { gateway } = fakeGateway(MANIFEST, () => ok(1));
  const assign = () =>
    new Promise<string>((resolve) => {
      waiting.push(() => resolve("runtime-1"));
      if (waiting.length === 5) for (const arrive of waiting) arrive();
    });
  await using system = await startCalls([numbered("pay", 0, 5)], { gateway: { ...gateway, assign } });

  expect(codesOf(await system.query("Pay"))).toEqual(many(5, "ok"));
});

test("a run that found no runtime ends the same way when another replica resumes it", async () => {
  await using store = await memoryStore();
  const stored = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  const stopping: typeof store.runs.commit = async (lease, change) => {
    if (change.finish) return never;
    const held = await store.runs.commit(lease, change);
    if (change.calls?.some(({ outcome }) => outcome)) stored.resolve();
    return held;
  };
  const { gateway } = fakeGateway(MANIFEST, () => ok(1));
  const lost = { ...gateway, assign: async () => undefined };
  const first = await startCore({
    models: scriptedModel([{ calls: [["pay", {}]] }]).catalog,
    gateway: lost,
    store: { ...store, runs: { ...store.runs, commit: stopping } },
  });
  const run = await first.start("Pay");
  await stored.promise;
  await first[Symbol.asyncDispose]();

  await using second = await startCalls([], { store, owner: "replica-2" });

  expect(await second.result(run)).toMatchObject({
    code: "agent_session_not_found",
  });
  expect(second.model.requests).toEqual([]);
});

test("the input that a handler got counts as bytes of results, and is not stored above a result's limit", async () => {
  const input = (bytes: number) =>
    ({ kind: "outcome", outcome: { ok: true, value: 1, input: "x".repeat(bytes) } }) as const;
  const sizes = [300_000, 200_000, 200_000];
  await using system = await startCalls([numbered("pay", 0, 1), numbered("pay", 1, 2), numbered("pay", 2, 3)], {
    answer: (order) => input(sizes[(order.arguments as { n: number }).n]!),
    limits: { runResultBytes: 300_000 },
  });

  const answer = await system.query("Pay them all");

  expect(codesOf(answer)).toEqual(["ok", "ok", "result_too_large"]);
  expect(answer.toolInteractions.map(({ parameters }) => JSON.stringify(parameters).length)).toEqual([7, 200_002, 7]);
});
