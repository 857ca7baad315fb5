import type { HookCall } from "@patchbay/protocol";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { type AnswerHook, defineFunction, defineService, FunctionError } from "../src/index.ts";
import { runHookAs } from "@patchbay/test-kit";
import { memoryLog } from "./calls.ts";

const functions = [
  defineFunction({
    name: "probe",
    description: "A function under test.",
    input: z.object({}),
    roles: "everyone",
    handler: () => null,
  }),
];
const QUERY: HookCall = { hook: "beforeQuery", query: "Which orders are late?", role: "support", context: {} };
const ANSWER: HookCall = { hook: "beforeAnswer", answer: "Three.", part: "answer", role: "support", context: {} };
const THOUGHT: HookCall = { ...ANSWER, part: "thought" };

function run(
  hook: (review: never) => unknown,
  call: HookCall,
  { signal = new AbortController().signal, timeoutMs = 5_000 } = {},
) {
  const log = memoryLog();
  const service = defineService({ name: "desk", functions, [call.hook]: hook as AnswerHook<never> });
  return { log, verdict: service.runHook(call, { signal, timeoutMs, log }) };
}

test("a hook receives the text, the role and the converted context", async () => {
  const context = z.object({ shop: z.coerce.number() });
  const beforeQuery = vi.fn(() => undefined);
  const beforeAnswer = vi.fn(() => undefined);
  const service = defineService({ name: "desk", context, beforeQuery, beforeAnswer, functions });
  const signal = new AbortController().signal;
  const sent = { context: { shop: "7" } };

  expect(await service.runHook({ ...QUERY, ...sent }, { signal })).toEqual({ verdict: "passed" });
  expect(await service.runHook({ ...THOUGHT, ...sent }, { signal })).toEqual({ verdict: "passed" });

  const seen = { role: "support", context: { shop: 7 }, signal: expect.any(AbortSignal) };
  expect(beforeQuery).toHaveBeenCalledWith({ query: "Which orders are late?", ...seen });
  expect(beforeAnswer).toHaveBeenCalledWith({ answer: "Three.", part: "thought", ...seen });
});

test.each([
  ["refuses a query", QUERY, { refuse: "Not here." }, { verdict: "refused", text: "Not here." }],
  ["refuses an answer", ANSWER, { refuse: "Not here." }, { verdict: "refused", text: "Not here." }],
  ["replaces an answer", ANSWER, { replace: "Some." }, { verdict: "replaced", text: "Some." }],
  ["leaves a thought out", THOUGHT, { replace: "" }, { verdict: "replaced", text: "" }],
] as const)("a hook %s", async (_, call, returned, verdict) => {
  expect(await run(async () => returned, call).verdict).toEqual(verdict);
});

test.each([
  ["null", ANSWER, null],
  ["true", ANSWER, true],
  ["a text", ANSWER, "Some."],
  ["an empty object", ANSWER, {}],
  ["both properties", ANSWER, { refuse: "No.", replace: "Some." }],
  ["a misspelt property", ANSWER, { refused: "No." }],
  ["a refusal without a text", QUERY, { refuse: " " }],
  ["a refusal that is too long", QUERY, { refuse: "x".repeat(10_001) }],
  ["a refusal that is a boolean", QUERY, { refuse: true }],
  ["an empty answer", ANSWER, { replace: "\n" }],
  ["a replacement that is too large", ANSWER, { replace: "x".repeat(163_840) }],
  ["a replaced query", QUERY, { replace: "Another query" }],
] as const)("a hook that returns %s has failed", async (_, call, returned) => {
  const { verdict, log } = run(() => returned, call);

  const { reference } = (await verdict) as { reference: string };
  expect(await verdict).toEqual({ verdict: "failed", reference: expect.stringMatching(/^[0-9a-f]{12}$/) });
  expect(log.lines).toMatchObject([
    { level: "error", message: "hook returned an invalid value", fields: { hook: call.hook, reference } },
  ]);
  expect(JSON.stringify(log.lines)).not.toMatch(/orders are late|Three|Some|Another/);
});

test("an error of a hook stays in the log of the runtime, also a FunctionError", async () => {
  const { verdict, log } = run(() => {
    throw new FunctionError("secret");
  }, ANSWER);

  const failed = await verdict;
  expect(failed).toMatchObject({ verdict: "failed" });
  expect(JSON.stringify(failed)).not.toContain("secret");
  expect(log.lines).toMatchObject([{ message: "hook failed", fields: { error: { message: "secret" } } }]);
});

test("a hook that times out has failed, and its signal is aborted", async () => {
  const aborted = Promise.withResolvers<unknown>();
  const { verdict, log } = run(
    ({ signal }: { signal: AbortSignal }) =>
      new Promise(() => signal.addEventListener("abort", () => aborted.resolve(signal.reason))),
    ANSWER,
    { timeoutMs: 20 },
  );

  expect(await verdict).toMatchObject({ verdict: "failed" });
  expect(await aborted.promise).toMatchObject({ name: "TimeoutError" });
  expect(log.lines).toMatchObject([{ message: "hook timed out", fields: { timeoutMs: 20 } }]);
});

test("a hook ends with the runtime", async () => {
  const stopped = new AbortController();
  const { verdict, log } = run(() => new Promise(() => {}), ANSWER, { signal: stopped.signal });
  stopped.abort(new Error("the runtime stops"));

  expect(await verdict).toMatchObject({ verdict: "failed" });
  expect(log.lines).toMatchObject([{ message: "hook was stopped" }]);
});

test("a service without the hook, or with another context schema, fails the hook", async () => {
  const signal = new AbortController().signal;
  const log = memoryLog();
  const without = defineService({ name: "desk", functions, beforeQuery: () => undefined });
  const strict = defineService({
    name: "desk",
    context: z.object({ shop: z.number() }),
    beforeAnswer: () => undefined,
    functions,
  });

  expect(await without.runHook(ANSWER, { signal, log })).toMatchObject({ verdict: "failed" });
  expect(await strict.runHook(ANSWER, { signal, log })).toMatchObject({ verdict: "failed" });
});

test("the manifest has the hooks, and no property without them", () => {
  const all = { beforeQuery: () => undefined, beforeAnswer: () => undefined, beforeCall: () => undefined };

  expect(defineService({ name: "desk", functions, ...all }).manifest).toMatchObject({
    beforeQuery: true,
    beforeAnswer: true,
    beforeCall: true,
  });
  const { manifest } = defineService({ name: "desk", functions });
  for (const hook of Object.keys(all)) expect(manifest).not.toHaveProperty(hook);
});

test("a hook that is not a function is a mistake", () => {
  for (const hook of ["beforeQuery", "beforeAnswer", "beforeCall"])
    expect(() => defineService({ name: "desk", functions, [hook]: true })).toThrow(
      `Service "desk": ${hook} must be a function, or absent.`,
    );
});

test("runHookAs runs a hook as a role, by default as the default role", async () => {
  const log = memoryLog();
  const service = defineService({
    name: "desk",
    defaultRole: "guest",
    functions,
    beforeQuery: ({ role, query }) => (role === "guest" ? { refuse: `${query} No.` } : undefined),
    beforeAnswer: ({ part, context }) => ({ replace: `${part} ${JSON.stringify(context)}` }),
  });

  expect(await runHookAs(service, { query: "Why?" })).toEqual({ verdict: "refused", text: "Why? No." });
  expect(await runHookAs(service, { query: "Why?", role: "staff" })).toEqual({ verdict: "passed" });
  expect(await runHookAs(service, { answer: "So.", context: { a: 1 } })).toEqual({
    verdict: "replaced",
    text: 'answer {"a":1}',
  });
  expect(await runHookAs(service, { answer: "So.", part: "thought" })).toMatchObject({ text: "thought {}" });
  expect(await runHookAs(defineService({ name: "none", functions }), { query: "Why?", log })).toMatchObject({
    verdict: "failed",
  });
});
