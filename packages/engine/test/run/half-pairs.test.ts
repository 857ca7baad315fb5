import { inspect } from "node:util";
import { expect, test } from "vitest";
import type { ModelEvent, ModelRequest, ModelTurn } from "../../src/ports/model-provider.ts";
import { takeTurn } from "../../src/run/loop/model-turn.ts";

const HIGH = "\ud83d";
const LOW = "\ude00";
const PAIR = HIGH + LOW;

const REQUEST: ModelRequest = {
  model: "m",
  system: "",
  functions: [],
  messages: [],
  maxTokens: 100,
  toolChoice: "auto",
  threadId: "thread",
  cacheKey: "key",
};

const end = (change: Partial<ModelTurn> = {}): ModelEvent => {
  const usage = { input: 1, cachedInput: 0, output: 1 };
  return { type: "end", turn: { text: "Done.", thoughts: [], calls: [], stop: "stop", usage, model: "m", ...change } };
};

/** A turn of a provider that answers with these events: what it was sent, what followers were shown, and the turn. */
async function taking(events: ModelEvent[], request: ModelRequest = REQUEST) {
  const shown: string[] = [];
  const sent: ModelRequest[] = [];
  const provider = {
    name: "played",
    async *stream(given: ModelRequest) {
      sent.push(given);
      yield* events;
    },
  };
  const turn = await takeTurn(
    { model: "m", cost: () => 0, provider },
    request,
    { clock: { now: () => 0, sleep: async () => {} }, remainingMs: () => 1_000, signal: new AbortController().signal },
    {
      text: (text) => void shown.push(`text ${text}`),
      thought: (text) => void shown.push(`thought ${text}`),
      reset() {},
      discarded() {},
      cut() {},
      silent() {},
      succeeded() {},
      failed() {},
      retry: async () => {},
    },
  );
  return { turn, shown, sent };
}

test("half of a pair is shown with its other half, apart for text and thoughts", async () => {
  const { turn, shown } = await taking([
    { type: "textDelta", text: `a${HIGH}` },
    { type: "thoughtDelta", text: HIGH },
    { type: "deltas", deltas: [{ type: "textDelta", text: `${LOW}b` }] },
    { type: "thoughtDelta", text: `${LOW}c` },
    { type: "textDelta", text: HIGH },
    end({ text: `a${PAIR}b${HIGH}` }),
  ]);

  expect(turn.text).toBe(`a${PAIR}b\ufffd`);
  expect(shown).toEqual(["text a", `text ${PAIR}b`, `thought ${PAIR}c`, "text \ufffd"]);
});

test("no text of a turn has half of a pair, its calls and its echo included", async () => {
  const call = { id: HIGH, name: HIGH, arguments: String.raw`{"city":"\ud83d","n":9007199254740993}` };
  const { turn } = await taking([
    end({
      stop: "calls",
      text: HIGH,
      thoughts: [LOW],
      calls: [call],
      echo: { provider: "p", model: "m", blocks: [{ [HIGH]: LOW }] },
    }),
  ]);

  expect(turn).toMatchObject({
    text: "\ufffd",
    thoughts: ["\ufffd"],
    calls: [{ id: "\ufffd", name: "\ufffd", arguments: '{"city":"\ufffd","n":9007199254740993}' }],
    echo: { blocks: [{ "\ufffd": "\ufffd" }] },
  });
});

test("no text of a request has half of a pair", async () => {
  const { sent } = await taking([end()], {
    ...REQUEST,
    system: HIGH,
    messages: [
      { role: "user", text: HIGH, preface: LOW },
      { role: "assistant", text: HIGH, calls: [] },
      { role: "results", results: [{ callId: "c", name: "f", content: `ok ${HIGH} end`, isError: false }] },
    ],
  });

  expect(inspect(sent, { depth: 9 })).not.toMatch(/\\uD/i);
});
