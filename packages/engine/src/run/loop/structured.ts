import { ANSWER_STEPS, validateAnswer } from "@patchbay/schema";
import { type Fault } from "@patchbay/protocol";
import { type JsonObject, type JsonValue, lossIn, parseJson, type Steps } from "@patchbay/kit";
import type { Message, ModelCall, ModelFunction, ModelResult, ModelTurn } from "../../ports/model-provider.ts";
import type { TurnRecord } from "../../ports/records.ts";
import { RunFailure } from "../run-failure.ts";
import { resultText } from "./compact.ts";

/** How often the model may correct its answer in one run. */
const REPAIRS = 2;
/** Values checked per turn. They share one step limit for their checks, which block the process. */
const VALUES_CHECKED = 3;
/** Faults from the last value that the message to the caller lists. */
const FAULTS_SHOWN = 3;

/**
 * The function whose call gives the answer. It is declared from the first turn on, so that prompt caches hit. Its name differs only
 * from the functions that the role sees: avoiding the name of a hidden function would reveal that function.
 */
export function respondFunction(schema: JsonObject, visible: readonly { name: string }[]): ModelFunction {
  return {
    name: respondName(visible),
    description:
      "Gives the final answer. Call it once, with the whole answer as its arguments, when no other function is needed any more. Other functions called in the same turn are not run.",
    inputSchema: schema,
    effect: "read",
  };
}

export function respondName(visible: readonly { name: string }[]): string {
  const taken = new Set(visible.map(({ name }) => name));
  let name = "respond";
  for (let n = 2; taken.has(name); n++) name = `respond_${n}`;
  return name;
}

/** What a turn means for a run whose answer must meet a schema. */
export type Verdict =
  /** No answer yet: the turn is handled like that of any run. */
  | { kind: "other" }
  /** The answer. `besides`: the turn's other calls, which do not run. */
  | { kind: "answer"; value: JsonValue; besides: ModelCall[] }
  /** The model is asked for the answer again, with `reply`. */
  | { kind: "again"; reply: Message; besides: ModelCall[] }
  | { kind: "failed"; failure: RunFailure; besides: ModelCall[] };

/** The part of a run's state that decides about its answer. */
interface Answering {
  readonly respond?: ModelFunction;
  readonly turns: readonly TurnRecord[];
}

/** Counts stored turns only, so that a run which resumes after a crash has as many attempts as any other. */
export function judge(state: Answering, turn: ModelTurn, { lastChance }: { lastChance: boolean }): Verdict {
  const { respond } = state;
  if (!respond) return { kind: "other" };
  const given = turn.calls.filter((call) => call.name === respond.name);
  const besides = turn.calls.filter((call) => call.name !== respond.name);
  if (given.length === 0) {
    const continues = besides.length > 0 || (turn.stop === "pause" && !lastChance);
    return continues ? { kind: "other" } : judgeText(state, respond.name, turn.text);
  }
  const read: { call: ModelCall; faults: Fault[] }[] = [];
  const steps = { left: ANSWER_STEPS };
  for (const call of given.slice(0, VALUES_CHECKED)) {
    const { value, faults } = readValue(respond.inputSchema, call.arguments.trim() || "{}", steps);
    if (faults.length === 0) return { kind: "answer", value, besides };
    read.push({ call, faults });
  }
  const last = read.at(-1)!;
  if (repairsOf(state) >= REPAIRS)
    return { kind: "failed", failure: invalid(last.faults, last.call.arguments), besides };
  const unread = { path: "", message: `is not checked: only the first ${VALUES_CHECKED} of one turn are.` };
  for (const call of given.slice(VALUES_CHECKED)) read.push({ call, faults: [unread] });
  const results = read.map(({ call, faults }) => correction(call, faults));
  return { kind: "again", reply: { role: "results", results }, besides };
}

function judgeText(state: Answering, name: string, text: string): Verdict {
  const reminder = reminderOf(name);
  const reminded = state.turns.some(({ messages }) =>
    messages.some((message) => message.role === "user" && message.text === reminder),
  );
  if (!reminded) return { kind: "again", reply: { role: "user", text: reminder }, besides: [] };
  return {
    kind: "failed",
    besides: [],
    failure: new RunFailure(
      "output_invalid",
      "The model answered in text and not with the value that responseSchema describes. It was reminded once.",
      { response: text },
    ),
  };
}

const reminderOf = (name: string): string =>
  `Give the answer by calling the function ${name}. Text is not read as an answer.`;

/** A stored turn contains results only when its value was rejected. */
const repairsOf = ({ turns }: Answering): number =>
  turns.filter(({ messages }) => messages.some(({ role }) => role === "results")).length;

/**
 * Parses and checks an answer's text. A number that a parser changes is a fault: the caller would get `1e400` as null
 * and `9007199254740993` as another number.
 */
export function readValue(schema: JsonObject, text: string, steps?: Steps): { value: JsonValue; faults: Fault[] } {
  const refused = (message: string) => ({ value: null, faults: [{ path: "", message }] });
  const parsed = parseJson(text);
  if (!parsed.ok) return refused(parsed.message);
  const loss = lossIn(text);
  if (loss && loss.number === undefined) return refused(`has the member ${JSON.stringify(loss.path)} twice.`);
  if (loss)
    return refused(
      `holds the number ${loss.number}, which JSON readers cannot keep exactly. Write a number that a 64-bit float holds, or a string where the schema takes one.`,
    );
  const value = parsed.value as JsonValue;
  return { value, faults: validateAnswer(schema, value, steps) };
}

function correction({ id, name }: ModelCall, faults: readonly Fault[]): ModelResult {
  const message = [
    `The arguments do not meet the schema of ${name}:`,
    ...faults.map((fault) => `- ${described(fault)}`),
    `Call ${name} again with the whole answer, corrected.`,
  ].join("\n");
  return { callId: id, name, ...resultText({ ok: false, code: "invalid_arguments", message }) };
}

const described = ({ path, message }: Fault): string => `${path === "" ? "the value" : path} ${message}`;

function invalid(faults: readonly Fault[], text: string): RunFailure {
  return new RunFailure(
    "output_invalid",
    `The model's answer does not meet responseSchema after ${REPAIRS} corrections: ${describeFaults(faults)}`,
    { response: text },
  );
}

/** A value's first faults, for the message to the caller. */
export function describeFaults(faults: readonly Fault[]): string {
  const more = faults.length > FAULTS_SHOWN ? `; and ${faults.length - FAULTS_SHOWN} more` : "";
  return `${faults.slice(0, FAULTS_SHOWN).map(described).join("; ").slice(0, 1_000)}${more}`;
}

/** A value as answer text. */
export const fenced = (value: JsonValue): string => `\`\`\`json\n${JSON.stringify(value, undefined, 2)}\n\`\`\``;
