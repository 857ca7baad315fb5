import { expect, test } from "vitest";
import type { ChosenModel, ModelCatalog, ModelRequest } from "../../src/ports/model-provider.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { type ScriptedTurn, scriptedModel } from "./scripted-model.ts";

/** A budget of 1,000 tokens, 3,000 bytes, for earlier queries. */
const WINDOW = 2_000;
const MARKER = "[Earlier turns of this conversation were left out to save room.]";

/** A desk whose model has a context window of this size. */
async function desk(play: (request: ModelRequest) => ScriptedTurn, result = "done", contextTokens = WINDOW) {
  const model = scriptedModel((request) => play(request));
  const chosen = model.catalog.choose() as ChosenModel;
  const models: ModelCatalog = { choose: () => ({ ...chosen, contextTokens }) };
  const { gateway } = fakeGateway(manifestOf({ open: "everyone", closed: ["boss"] }), () => ok(result));
  const core = await startCore({ models, gateway });
  return { ...core, requests: model.requests, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() };
}

const answering = (): ScriptedTurn => ({ text: "word ".repeat(60) });

function queriesIn({ messages }: ModelRequest): string[] {
  return messages.flatMap((message) => (message.role === "user" ? [message.text] : []));
}

const prefaceOf = ({ messages }: ModelRequest): string =>
  messages.flatMap((message) => (message.role === "user" ? (message.preface ?? "") : [])).join("");

test("a thread is sent whole while it fits, and then from the same query on for half a budget", async () => {
  await using system = await desk(answering);
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

test("the warning says how many queries the model was sent, and the limits", async () => {
  await using system = await desk(answering);
  const { threadId } = await system.query("Query 0");
  for (let i = 1; i < 8; i++) await system.query(`Query ${i}`, { threadId });

  const { warnings } = await system.query("Query 8", { threadId });

  const sent = queriesIn(system.requests.at(-1)!).length - 1;
  expect(warnings).toEqual([
    `Earlier turns of the thread were left out. The model was sent the newest ${sent} earlier queries: the limits are ` +
      "1,000 tokens of earlier queries and 2,000 tokens of conversation.",
  ]);
});

test("a model with a larger window is sent more", async () => {
  await using system = await desk(answering, "done", 20 * WINDOW);
  const { threadId } = await system.query("Query 0");
  for (let i = 1; i < 24; i++) await system.query(`Query ${i}`, { threadId });

  expect(queriesIn(system.requests.at(-1)!)).toHaveLength(24);
});

const echoed = (id: string): ScriptedTurn => ({
  calls: [["open", { id }]],
  echo: { provider: "scripted", model: "scripted-1", blocks: [id] },
});

const echoesIn = ({ messages }: ModelRequest): unknown[] =>
  messages.flatMap((message) => (message.role === "assistant" && message.echo ? [message.echo.blocks] : []));

test("echoes of a run are sent back in a thread whose older queries are left out", async () => {
  await using system = await desk((request) => {
    const { query, step } = positionOf(request);
    return query === "Call" && step < 2 ? echoed(String(step)) : answering();
  });
  const { threadId } = await system.query("Query 0");
  for (let i = 1; i < 12; i++) await system.query(`Query ${i}`, { threadId });

  await system.query("Call", { threadId });

  expect(prefaceOf(system.requests.at(-1)!)).toContain(MARKER);
  expect(echoesIn(system.requests.at(-1)!)).toEqual([["0"], ["1"]]);
});

test("once turns of the run itself are left out, only echoes of later turns are sent back", async () => {
  let turn = 0;
  await using system = await desk(() => (turn < 8 ? echoed(String(turn++)) : answering()), "x".repeat(1_400));

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
  await using system = await desk(answering);
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
