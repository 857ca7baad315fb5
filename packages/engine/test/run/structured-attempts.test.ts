import { expect, test } from "vitest";
import { ModelError } from "../../src/ports/model-provider.ts";
import { openStore } from "@patchbay/store/open";
import { memoryStore, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn, severalModels } from "./scripted-model.ts";
import { responds, SCHEMA, startStructured as desk } from "./start-structured.ts";

const typesOf = (events: readonly { type: string }[]) => events.map(({ type }) => type);

test("an invalid value is corrected up to twice, with its faults", async () => {
  await using system = await desk([responds({ total: "7" }), responds('{"total": '), responds({ total: 7 })]);

  const answer = await system.ask();

  expect(answer).toMatchObject({ success: true, structured: { total: 7 }, toolInteractions: [] });
  expect(typesOf(await system.events(answer.runId))).toEqual(["finalResponse"]);
  const [, second, third] = system.model.requests;
  expect(second?.messages.slice(-2)).toEqual([
    { role: "assistant", text: "", calls: [{ id: "m0-0", name: "respond", arguments: '{"total":"7"}' }] },
    {
      role: "results",
      results: [
        {
          callId: "m0-0",
          name: "respond",
          isError: true,
          content:
            "The arguments do not meet the schema of respond:\n- total must be number, but is string\nCall respond again with the whole answer, corrected.",
        },
      ],
    },
  ]);
  expect(third?.messages.at(-1)).toMatchObject({
    results: [{ content: expect.stringContaining("the value is not valid JSON") }],
  });
});

test("a third invalid value ends the run with the text of the model", async () => {
  await using system = await desk(() => responds({ total: "many" }));

  const answer = await system.ask();

  expect(answer).toMatchObject({
    success: false,
    code: "output_invalid",
    errorMessage:
      "The model's answer does not meet responseSchema after 2 corrections: total must be number, but is string",
    response: '{"total":"many"}',
    toolInteractions: [],
  });
  expect(answer).not.toHaveProperty("structured");
  expect(system.model.requests).toHaveLength(3);
  expect(await system.events(answer.runId)).toEqual([
    {
      type: "error",
      code: "output_invalid",
      errorMessage: answer.errorMessage,
      threadId: answer.threadId,
      runId: answer.runId,
    },
  ]);
});

test("three malformed values end as an invalid answer", async () => {
  await using system = await desk(() => responds('{"total": '));

  expect(await system.ask()).toMatchObject({ code: "output_invalid", response: '{"total": ' });
});

test.each(["1e400", "9007199254740993"])("a value with %s, which parsers change, is corrected", async (number) => {
  await using system = await desk([responds(`{"total": ${number}}`), responds({ total: 7 })]);

  expect(await system.ask()).toMatchObject({ success: true, structured: { total: 7 } });
  expect(system.model.requests[1]?.messages.at(-1)).toMatchObject({
    results: [{ content: expect.stringContaining(`- the value holds the number ${number}, which`) }],
  });
});

test("malformed values of one turn are corrected like invalid ones", async () => {
  const malformed = ["respond", '{"total": '] as const;
  await using system = await desk([{ calls: [malformed, malformed, malformed] }, responds({ total: 7 })]);

  expect(await system.ask()).toMatchObject({ success: true, structured: { total: 7 } });
});

test("a turn whose value cannot be checked is charged", async () => {
  await using system = await desk([responds({ total: 7, note: "a" })]);
  const unreadable = { ...SCHEMA, properties: { total: {}, note: { type: "string", pattern: "(" } } };

  const answer = await system.ask("How much?", { responseSchema: unreadable });

  expect(answer).toMatchObject({ code: "internal", usage: { inputTokens: 10, outputTokens: 5, costUsd: 0.00002 } });
  const { turns } = await system.store.runs.checkpoint(answer.runId);
  expect(turns).toMatchObject([{ usage: { input: 10, output: 5 }, costMicros: 20 }]);
});

test("a text instead of the call gets one reminder, and a second text ends the run", async () => {
  await using reminded = await desk([{ text: "Seven." }, responds({ total: 7 })]);
  await using stubborn = await desk([{ text: "Seven." }, { calls: [["open", {}]] }, { text: "Still seven." }]);

  expect(await reminded.ask()).toMatchObject({ success: true, structured: { total: 7 } });
  expect(reminded.model.requests[1]?.messages.slice(-2)).toMatchObject([
    { role: "assistant", text: "Seven." },
    { role: "user", text: "Give the answer by calling the function respond. Text is not read as an answer." },
  ]);
  const answer = await stubborn.ask();
  expect(answer).toMatchObject({ success: false, code: "output_invalid", response: "Still seven." });
  expect(answer.errorMessage).toBe(
    "The model answered in text and not with the value that responseSchema describes. It was reminded once.",
  );
  expect(answer.toolInteractions).toHaveLength(1);
});

test("calls next to an invalid answer are not run, and each has its result in the order asked", async () => {
  await using system = await desk([
    {
      calls: [
        ["open", {}],
        ["respond", {}],
        ["open", { again: true }],
      ],
    },
    { calls: [["open", {}]] },
    responds({ total: 1 }),
  ]);

  const answer = await system.ask();

  expect(answer).toMatchObject({ success: true, structured: { total: 1 } });
  expect(answer.toolInteractions.map(({ success }) => success)).toEqual([false, false, true]);
  expect(answer).not.toHaveProperty("warnings");
  expect(system.model.requests[1]?.messages.at(-1)).toMatchObject({
    role: "results",
    results: [
      { callId: "m0-0", name: "open", content: expect.stringContaining("was not run") },
      { callId: "m0-1", name: "respond", content: expect.stringContaining("total is required") },
      { callId: "m0-2", name: "open" },
    ],
  });
});

test("the valid one of two answers in one turn counts", async () => {
  await using system = await desk([
    {
      calls: [
        ["respond", {}],
        ["respond", { total: 2 }],
      ],
    },
  ]);

  expect(await system.ask()).toMatchObject({ success: true, structured: { total: 2 } });
});

test("after the last step only respond may be called, and may still be corrected", async () => {
  const turns = (value: unknown) => (request: { toolChoice: string }, index: number) =>
    request.toolChoice === "respond"
      ? index % 2 === 1
        ? responds({})
        : responds(value)
      : { calls: [["open", { index }] as const] };
  await using corrected = await desk(turns({ total: 1 }));
  await using tireless = await desk((_, index) => ({ calls: [["open", { index }]] }));

  expect(await corrected.ask()).toMatchObject({ success: true, structured: { total: 1 } });
  const last = corrected.model.requests.at(-1)!;
  const notices = last.messages.filter(
    (message) => message.role === "user" && message.text.startsWith("The limit of steps"),
  );
  expect(notices).toHaveLength(2);
  expect(last.messages.at(-1)).toBe(notices.at(-1));
  expect(await tireless.ask()).toMatchObject({ success: false, code: "step_limit" });
});

/** A run that stopped after `stored` turns, resumed by another owner whose model plays `then`. */
async function takenOver(stored: ScriptedTurn[], then: Parameters<typeof scriptedModel>[0]) {
  const store = await openStore("sqlite::memory:");
  const left = Promise.withResolvers<void>();
  const first = scriptedModel((_, index) => {
    if (index === stored.length) left.resolve();
    return stored[index] ?? { until: new Promise(() => {}) };
  });
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("done"));
  const owner = await startCore({ models: first.catalog, gateway, store });
  const run = await owner.start("How much?", { responseSchema: SCHEMA });
  await left.promise;
  await owner.runs.drain(0);

  const second = scriptedModel(then);
  const next = await startCore({ models: second.catalog, gateway, store, owner: "replica-2" });
  const result = await next.result(run);
  return {
    result,
    before: first.requests.at(-1)!,
    after: second.requests,
    async [Symbol.asyncDispose]() {
      await next[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

test("a run that resumes between two corrections continues with the same conversation", async () => {
  const beside: ScriptedTurn = {
    calls: [
      ["open", {}],
      ["respond", { total: "7" }],
    ],
  };
  await using run = await takenOver([beside], [responds({ total: 7 })]);

  expect(run.result).toMatchObject({ success: true, structured: { total: 7 } });
  expect(run.after[0]).toEqual(run.before);
});

test("attempts of an earlier owner count", async () => {
  await using corrected = await takenOver([responds({}), responds({})], () => responds({}));
  await using reminded = await takenOver([{ text: "Seven." }], () => ({ text: "Seven!" }));

  expect(corrected.result).toMatchObject({ code: "output_invalid", response: "{}" });
  expect(corrected.after).toHaveLength(1);
  expect(reminded.result).toMatchObject({ code: "output_invalid", response: "Seven!" });
  expect(reminded.after).toHaveLength(1);
});

const ends: [how: string, turns: ScriptedTurn[], more: { code: string; response: string }, asked: string][] = [
  [
    "a third invalid value",
    [responds({}), responds({}), responds({})],
    { code: "output_invalid", response: "{}" },
    "results",
  ],
  [
    "a turn that cannot be used",
    [{ ...responds({ total: 7 }), stop: "refused", echo: { provider: "scripted", model: "scripted-1", blocks: "{}" } }],
    { code: "model_refused", response: "" },
    "user",
  ],
];

test.each(ends)("%s and the end of its run are stored together", async (_, turns, end, asked) => {
  await using store = await memoryStore();
  const lost = Promise.withResolvers<void>();
  const commit: typeof store.runs.commit = async (lease, change) => {
    if (!change.finish) return await store.runs.commit(lease, change);
    lost.resolve();
    throw new Error("the store is broken");
  };
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("done"));
  const broken = { ...store, runs: { ...store.runs, commit } };
  const first = await startCore({ models: scriptedModel(turns).catalog, gateway, store: broken });
  const run = await first.start("How much?", { responseSchema: SCHEMA });
  await lost.promise;
  await first.runs.drain(0);
  await store.runs.release("replica-1", [run.runId], { crashed: true });

  const second = scriptedModel(turns.slice(-1));
  await using next = await startCore({ models: second.catalog, gateway, store, owner: "replica-2" });
  const result = await next.result(run);

  expect(result).toMatchObject({ success: false, ...end, usage: { inputTokens: 10 * turns.length } });
  expect(second.requests.map(({ messages }) => messages.at(-1)?.role)).toEqual([asked]);
  const stored = (await store.runs.checkpoint(run.runId)).turns;
  expect(stored).toHaveLength(turns.length);
  expect(JSON.stringify(stored)).not.toContain("echo");
});

test("a model that fails during a correction is replaced by the next one, which gets the remaining corrections", async () => {
  const fails: ScriptedTurn = { fail: new ModelError("quota", "used up") };
  const both = (then: ScriptedTurn) => severalModels({ anthropic: [responds({}), fails], openai: () => then });
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("done"));
  async function ask(models: ReturnType<typeof severalModels>) {
    await using core = await startCore({ models: models.catalog, gateway });
    const { start } = core.store.runs;
    const fallback = [{ provider: "openai", model: "second-1" }];
    core.store.runs.start = (run) => start({ ...run, request: { ...run.request, fallback } });
    return await core.query("How much?", { responseSchema: SCHEMA });
  }
  const able = both(responds({ total: 7 }));
  const unable = both(responds({ total: "7" }));

  expect(await ask(able)).toMatchObject({ success: true, structured: { total: 7 } });
  expect(able.requests("openai")[0]?.messages).toEqual(able.requests("anthropic")[1]?.messages);
  expect(await ask(unable)).toMatchObject({ code: "output_invalid", response: '{"total":"7"}' });
  expect(unable.asked()).toEqual({ anthropic: 2, openai: 2 });
});
