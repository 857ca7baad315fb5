import { expect, test } from "vitest";
import { type ChosenModel, type ModelCatalog, ModelError, type ModelRequest } from "../../src/ports/model-provider.ts";
import { sizeOf } from "../../src/run/loop/compact.ts";
import { nextRequest } from "../../src/run/loop/request.ts";
import { createProgress, createState } from "../../src/run/state.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel, type ScriptedTurn, severalModels } from "./scripted-model.ts";

/** A window that leaves 1,000 tokens, 3,000 bytes, for earlier queries. */
const WINDOW = 2_000;
const MARKER = "[Earlier turns of this conversation were left out to save room.]";

/** Starts the run layer with a model that has a context window of this size. */
async function start(play: (request: ModelRequest) => ScriptedTurn, result = "done", contextTokens = WINDOW) {
  const model = scriptedModel((request) => play(request));
  const chosen = model.catalog.choose() as ChosenModel;
  const models: ModelCatalog = { choose: () => ({ ...chosen, contextTokens }) };
  const { gateway } = fakeGateway(manifestOf({ open: "everyone", closed: ["boss"] }), () => ok(result));
  const core = await startCore({ models, gateway });
  const ofRuns = { model: models.choose() as ChosenModel, fallback: [] };
  return {
    ...core,
    models: ofRuns,
    requests: model.requests,
  };
}

const answering = (): ScriptedTurn => ({ text: "word ".repeat(60) });

function queriesIn({ messages }: ModelRequest): string[] {
  return messages.flatMap((message) => (message.role === "user" ? [message.text] : []));
}

const prefaceOf = ({ messages }: Pick<ModelRequest, "messages">): string =>
  messages.flatMap((message) => (message.role === "user" ? (message.preface ?? "") : [])).join("");

test("a thread is sent whole while it fits, and then begins with the same query for half a budget", async () => {
  await using system = await start(answering);
  let threadId: string | undefined;
  const seen: { first: string; marked: boolean; warnings: string[] }[] = [];
  for (let i = 0; i < 24; i++) {
    const answer = await system.query(`Query ${i}`, threadId === undefined ? {} : { threadId });
    ({ threadId } = answer);
    const request = system.requests.at(-1)!;
    expect(queriesIn(request).at(-1)).toBe(`Query ${i}`);
    seen.push({
      first: queriesIn(request)[0]!,
      marked: prefaceOf(request).includes(MARKER),
      warnings: answer.warnings ?? [],
    });
  }

  const starts = [...new Set(seen.map(({ first }) => first))];
  expect(starts.length).toBeGreaterThan(2);
  for (const start of starts) {
    const from = seen.findIndex(({ first }) => first === start);
    const to = seen.findLastIndex(({ first }) => first === start);
    // An entry has about 400 of the 3,000 bytes.
    if (start !== starts.at(-1)) expect(to - from).toBeGreaterThanOrEqual(3);
    for (const { marked, warnings } of seen.slice(from, to + 1)) {
      expect(marked).toBe(start !== "Query 0");
      expect(warnings.filter((text) => text.startsWith("Earlier turns"))).toHaveLength(start === "Query 0" ? 0 : 1);
    }
  }
});

test.each([1_000_000, undefined])(
  "with %s historyTokens a thread stays within the model's window and keeps its beginning for several queries",
  async (historyTokens) => {
    const tokensOf = ({ system, messages }: ModelRequest) => (Buffer.byteLength(system) + sizeOf(messages)) / 3;
    await using system = await start(
      (request) =>
        tokensOf(request) + request.maxTokens > 24_000
          ? { fail: new ModelError("context_window", "too long") }
          : positionOf(request).step === 0
            ? { calls: [["open", {}]] }
            : { text: "word ".repeat(200) },
      "found ".repeat(800),
      24_000,
    );
    if (historyTokens) await system.store.accounts.updateAgent("agt_1", { settings: { historyTokens } });
    const starts: string[] = [];
    let threadId: string | undefined;
    for (let i = 0; i < 40; i++) {
      const more = { maxTokens: 4_000, ...(threadId !== undefined && { threadId }) };
      ({ threadId } = await system.query(`Query ${i}`, more));
      const [first, second] = system.requests.slice(-2).map((request) => queriesIn(request)[0]!);
      expect(first).toBe(second);
      starts.push(first!);
    }

    // No request was rejected, and each query made two.
    expect(system.requests).toHaveLength(80);
    const distinct = new Set(starts);
    expect(distinct.size).toBeGreaterThan(2);
    expect(distinct.size).toBeLessThanOrEqual(40 / 3);
  },
);

test("the warning has the number of queries that were sent, and the limits", async () => {
  await using system = await start(answering);
  const { threadId } = await system.query("Query 0");
  for (let i = 1; i < 8; i++) await system.query(`Query ${i}`, { threadId });

  const { warnings, runId } = await system.query("Query 8", { threadId });

  const sent = queriesIn(system.requests.at(-1)!).length - 1;
  expect(warnings).toEqual([
    `Earlier turns of the thread were left out. The model was sent the newest ${sent} earlier queries: the limits are ` +
      "1,000 tokens of earlier queries and 2,000 tokens of conversation.",
  ]);
  expect((await system.events(runId)).at(-1)).toMatchObject({ type: "finalResponse", warnings });
});

test("a model with a larger window gets more of the thread", async () => {
  await using system = await start(answering, "done", 20 * WINDOW);
  const { threadId } = await system.query("Query 0");
  for (let i = 1; i < 24; i++) await system.query(`Query ${i}`, { threadId });

  expect(queriesIn(system.requests.at(-1)!)).toHaveLength(24);
});

test("a fallback model with a smaller window gets less of the thread", async () => {
  const quota = { fail: new ModelError("quota", "") };
  const models = severalModels({
    anthropic: ({ messages }) => (messages.length > 30 ? quota : answering()),
    openai: answering,
  });
  const choose: ModelCatalog["choose"] = (wanted) => {
    const chosen = models.catalog.choose(wanted) as ChosenModel;
    return { ...chosen, contextTokens: chosen.provider.name === "openai" ? WINDOW : 20 * WINDOW };
  };
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok("done"));
  await using core = await startCore({ models: { choose }, gateway });
  const { start } = core.store.runs;
  const fallback = [{ provider: "openai", model: "second-1" }];
  core.store.runs.start = (run) => start({ ...run, request: { ...run.request, fallback } });
  const { threadId } = await core.query("Query 0");
  for (let i = 1; i < 15; i++) await core.query(`Query ${i}`, { threadId });

  const { warnings } = await core.query("Query 15", { threadId });

  expect(queriesIn(models.requests("anthropic").at(-1)!)).toHaveLength(16);
  const [request] = models.requests("openai");
  // Seven of the earlier ones fit into 3,000 bytes.
  expect(queriesIn(request!).length).toBeLessThanOrEqual(8);
  expect(queriesIn(request!).length).toBeGreaterThan(3);
  expect(prefaceOf(request!)).toContain(MARKER);
  expect(warnings?.toSorted()).toEqual([
    expect.stringMatching(/^Earlier turns .* 1,000 tokens of earlier queries/),
    expect.stringMatching(/^Model anthropic.* failed \(quota\)/),
  ]);
});

const echoed = (id: string): ScriptedTurn => ({
  calls: [["open", { id }]],
  echo: { provider: "scripted", model: "scripted-1", blocks: [id] },
});

const echoesIn = ({ messages }: Pick<ModelRequest, "messages">): unknown[] =>
  messages.flatMap((message) => (message.role === "assistant" && message.echo ? [message.echo.blocks] : []));

test("echoes of a run are sent back in a thread whose older queries are left out", async () => {
  await using system = await start((request) => {
    const { query, step } = positionOf(request);
    return query === "Call" && step < 2 ? echoed(String(step)) : answering();
  });
  const { threadId } = await system.query("Query 0");
  for (let i = 1; i < 12; i++) await system.query(`Query ${i}`, { threadId });

  await system.query("Call", { threadId });

  expect(prefaceOf(system.requests.at(-1)!)).toContain(MARKER);
  expect(echoesIn(system.requests.at(-1)!)).toEqual([["0"], ["1"]]);
});

test("a run that resumes after a crash sends its echoes back", async () => {
  await using system = await start((request) => {
    const { query, step } = positionOf(request);
    return query === "Call" && step < 2 ? echoed(String(step)) : answering();
  });
  const { threadId } = await system.query("Query 0");
  for (let i = 1; i < 12; i++) await system.query(`Query ${i}`, { threadId });
  const { runId } = await system.query("Call", { threadId });
  const run = (await system.store.runs.get("agt_1", runId))!;
  const { turns, calls } = await system.store.runs.checkpoint(runId);
  const manifest = (await system.store.runtimes.getManifest("agt_1", run.manifestHash!))!;
  const scope = { role: run.role, subject: run.subject, maxBytes: 3_000, before: runId };
  const history = await system.store.runs.history(threadId, scope);

  const resumed = createState(createProgress(run, turns.slice(0, 2), calls), { ...system.models, manifest, history });

  const { messages } = nextRequest(resumed).request;
  expect(prefaceOf({ messages })).toContain(MARKER);
  expect(echoesIn({ messages })).toEqual([["0"], ["1"]]);
  expect(messages).toEqual(system.requests.at(-1)!.messages);
});

test("after turns of the run were left out, only echoes of later turns are sent back", async () => {
  let turn = 0;
  await using system = await start(() => (turn < 8 ? echoed(String(turn++)) : answering()), "x".repeat(1_400));

  const { warnings } = await system.query("Call");

  // 6,000 bytes hold four turns: the fifth leaves out half.
  expect(system.requests.map((request) => echoesIn(request).flat())).toEqual([
    [],
    ["0"],
    ["0", "1"],
    ["0", "1", "2"],
    ["0", "1", "2", "3"],
    [],
    ["5"],
    ["5", "6"],
    [],
  ]);
  expect(warnings).toEqual([expect.stringMatching(/^Earlier turns .* the newest 0 earlier queries/)]);
});

test("threads of one role, with the same functions and model, share a cache key", async () => {
  await using system = await start(answering);
  const keyOf = async (query: string, more: { role?: string; threadId?: string } = {}) => {
    const { threadId } = await system.query(query, more);
    const { cacheKey, threadId: own } = system.requests.at(-1)!;
    expect(own).toBe(threadId);
    return cacheKey;
  };

  const key = await keyOf("One");

  expect(key).toMatch(/^[\w-]{22}$/);
  expect(await keyOf("Two")).toBe(key);
  expect(await keyOf("Three", { role: "boss" })).not.toBe(key);
});

function positionOf({ messages }: ModelRequest): { query: string; step: number } {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[at];
  const step = messages.slice(at).filter(({ role }) => role === "assistant").length;
  return { query: asked?.role === "user" ? asked.text : "", step };
}
