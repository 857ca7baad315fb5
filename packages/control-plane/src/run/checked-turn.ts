import { type JsonObject, type JsonValue, parseJson } from "@patchbay/protocol";
import type { ModelCall, ModelTurn } from "../ports/model-provider.ts";
import { checkTexts, type Written } from "./hooks.ts";
import type { Asking } from "./request.ts";
import { RunFailure } from "./run-failure.ts";
import type { RunState } from "./state.ts";
import { describeFaults, fenced, judge, readValue, type Verdict } from "./structured.ts";

/** A text of a turn, and the turn with what the hooks made of it. */
interface Place extends Written {
  put(turn: ModelTurn, text: string): ModelTurn;
}

/**
 * A turn with the texts that the services let be seen: its text, its reasoning, and the calls that are to be its answer. The echo
 * repeats them all, and is left out where one was replaced.
 */
export async function checkTurn(
  state: RunState,
  raw: ModelTurn,
  asking: Asking,
  deps: Parameters<typeof checkTexts>[3],
  signal: AbortSignal,
): Promise<ModelTurn> {
  const judged = (turn: ModelTurn): Verdict => (asking.planning ? { kind: "other" } : judge(state, turn, asking));
  const pass = (turn: ModelTurn, places: Place[]) => passPlaces(state, turn, places, deps, signal);

  const first = judged(raw);
  const written = asRead(state, raw, first);
  let turn = await pass(written, [
    textOf(state, written, asking, first),
    ...written.thoughts.map(thoughtOf),
    ...givenOf(state, written, first),
  ]);
  const second = judged(turn);
  if (second.kind === "answer" && first.kind !== "answer") {
    // An invalid value that a hook made a valid one: the hooks have not seen it as the answer.
    const made = asRead(state, turn, second);
    turn = await pass(made, givenOf(state, made, second));
  }
  return { ...turn, thoughts: turn.thoughts.filter((thought) => thought.trim() !== "") };
}

async function passPlaces(
  { run, answerHooks }: RunState,
  written: ModelTurn,
  places: readonly Place[],
  deps: Parameters<typeof checkTexts>[3],
  signal: AbortSignal,
): Promise<ModelTurn> {
  const shown = await checkTexts(run, answerHooks, places, deps, signal);
  let turn = written;
  for (const [i, { text, put }] of places.entries())
    if (shown[i] !== text) turn = put(withoutEcho(turn), shown[i] ?? "");
  return turn;
}

/**
 * The turn with the values that are to be its answer as they are read. What reading drops or decodes, such as a member that is
 * written twice or an escaped character, is in a text that no hook sees. Of several values in one turn the first valid one is the
 * answer; the others are kept nowhere.
 */
function asRead({ respond }: RunState, written: ModelTurn, verdict: Verdict): ModelTurn {
  const given = written.calls.filter(({ name }) => name === respond?.name);
  const [first, ...more] = given;
  if (verdict.kind === "answer" && first && more.length > 0)
    return withAnswer(withoutEcho(written), first, verdict.value);
  let turn = written;
  for (const { id, arguments: text } of given) {
    if (!parseJson(text).ok) continue;
    const read = rewritten(text);
    if (read !== withoutSpace(text)) turn = withArguments(withoutEcho(turn), id, read);
  }
  return turn;
}

/** `JSON` as Node 24 has it. The types of TypeScript 7.0 lack the sources of values. */
interface JsonWithSources {
  parse: (text: string, revive: (key: string, value: unknown, context: { source: string }) => unknown) => unknown;
  rawJSON: (text: string) => unknown;
}

/** A JSON text as it is read. Numbers stay as they are written: one that reading changes must stay a fault. */
function rewritten(text: string): string {
  const { parse, rawJSON } = JSON as unknown as JsonWithSources;
  const value = parse(text, (key, member, { source }) => {
    if (key === "__proto__") return undefined;
    return typeof member === "number" ? rawJSON(source) : member;
  });
  return JSON.stringify(value);
}

/** A JSON text without the white space between its tokens. */
const withoutSpace = (text: string): string => text.replaceAll(/("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g, "$1");

function withAnswer(turn: ModelTurn, answer: ModelCall, value: JsonValue): ModelTurn {
  const others = turn.calls.filter(({ name }) => name !== answer.name);
  return { ...turn, calls: [...others, { ...answer, arguments: JSON.stringify(value) }] };
}

function withoutEcho(written: ModelTurn): ModelTurn {
  const { echo: _, ...turn } = written;
  return turn;
}

function textOf({ respond }: RunState, turn: ModelTurn, { planning, lastChance }: Asking, verdict: Verdict): Place {
  const goesOn = planning || turn.calls.length > 0 || (turn.stop === "pause" && !lastChance);
  // A text in the place of a value is shown when the run ends with it.
  const isAnswer = !goesOn && (respond === undefined || verdict.kind === "failed");
  return { text: turn.text, part: isAnswer ? "answer" : "thought", put: (made, text) => ({ ...made, text }) };
}

const thoughtOf = (thought: string, i: number): Place => ({
  text: thought,
  part: "thought",
  put: (made, text) => ({ ...made, thoughts: made.thoughts.with(i, text) }),
});

/** The calls of a turn that give its answer, or try to. */
function givenOf({ respond }: RunState, { calls }: ModelTurn, verdict: Verdict): Place[] {
  const given = calls.filter(({ name }) => name === respond?.name);
  if (verdict.kind === "answer")
    return given.map((call) => ({
      text: fenced(verdict.value),
      part: "answer",
      put: (made, text) => withAnswer(made, call, replacedValue(respond!.inputSchema, text)),
    }));
  // The arguments of the last one are shown when the run ends with them.
  const part = verdict.kind === "failed" ? "answer" : "thought";
  return given.map(({ id, arguments: text }) => ({
    text,
    part,
    put: (made, shown) => withArguments(made, id, shown.trim() === "" ? NOTHING : shown),
  }));
}

/** Read as a value that meets no schema of an answer; no text at all would be read as an object without members. */
const NOTHING = "null";

const withArguments = (turn: ModelTurn, id: string, text: string): ModelTurn => ({
  ...turn,
  calls: turn.calls.map((call) => (call.id === id ? { ...call, arguments: text } : call)),
});

const FENCED = /^```(?:json)?\s*\n(.*)\n```$/s;

/** The value of a text that a hook put in the place of the answer: JSON, fenced or not. */
function replacedValue(schema: JsonObject, text: string): JsonValue {
  const trimmed = text.trim();
  const { value, faults } = readValue(schema, FENCED.exec(trimmed)?.[1] ?? trimmed);
  if (faults.length === 0) return value;
  throw new RunFailure(
    "output_invalid",
    `A beforeAnswer hook replaced the answer with a text that does not meet responseSchema: ${describeFaults(faults)}`,
    { response: text },
  );
}
