import { type HookCall, type HookVerdict, LIMITS, type ServiceHooks } from "@patchbay/protocol";
import { type JsonObject, type JsonValue, parseJson } from "@patchbay/kit";
import type { ModelCall, ModelTurn } from "../../ports/model-provider.ts";
import { type Caller, callerOf } from "../../ports/callers.ts";
import { WITHHELD } from "../answer.ts";
import { RunFailure } from "../run-failure.ts";
import type { ActiveRun, NextTurn, RunState } from "../state.ts";
import { withoutEcho } from "./request.ts";
import { describeFaults, fenced, judge, readValue, type Verdict } from "./structured.ts";

type Hook = HookCall["hook"];
type Decided = Exclude<HookVerdict, { verdict: "failed" }>;
/**
 * What asking a hook requires. Without a deadline, before a run begins, only the hook's own timeout applies.
 */
type HookContext = Pick<ActiveRun, "gateway" | "signal"> & Partial<Pick<ActiveRun, "remainingMs" | "segment">>;

/** Asks each service with a `beforeQuery` hook about the query. Throws `RunFailure` when one refuses it or does not decide. */
export async function checkQuery(
  agentId: string,
  hooks: readonly ServiceHooks[],
  asked: Caller & { query: string },
  context: HookContext,
): Promise<void> {
  const call: HookCall = { hook: "beforeQuery", ...asked };
  const decisions = hooks
    .filter((one) => one.beforeQuery)
    .map((service) => askHook({ agentId, service, call, text: asked.query }, context));
  const failures = (await Promise.allSettled(decisions)).flatMap((one) =>
    one.status === "rejected" ? [one.reason as unknown] : [],
  );
  // A refusal is a service's decision on the query, and says more to the caller than another hook's failure.
  const [failure] = failures.toSorted((a, b) => Number(isRefusal(b)) - Number(isRefusal(a)));
  if (failure !== undefined) throw failure;
}

const isRefusal = (error: unknown): boolean => error instanceof RunFailure && error.code === "refused";

/** A text in a turn, and how to put its replacement into the turn. */
interface Place {
  text: string;
  part: "answer" | "thought";
  put(turn: ModelTurn, text: string): ModelTurn;
}

/**
 * Has the `beforeAnswer` hooks check a turn: its text, its reasoning, and the calls that give the answer. Returns the
 * turn with their replacements. The echo repeats all these texts, so it is removed when one was replaced.
 */
export async function checkTurn(
  state: RunState,
  raw: ModelTurn,
  next: NextTurn,
  context: HookContext,
): Promise<ModelTurn> {
  const judged = (turn: ModelTurn): Verdict => (next.planning ? { kind: "other" } : judge(state, turn, next));
  const check = (turn: ModelTurn, places: Place[]) => checkPlaces(state, turn, places, context);

  const first = judged(raw);
  const written = asRead(state, raw, first);
  let turn = await check(written, [
    textOf(state, written, next, first),
    ...written.thoughts.map(thoughtOf),
    ...valuesOf(state, written, first),
  ]);
  const second = judged(turn);
  if (second.kind === "answer" && first.kind !== "answer") {
    // A hook turned an invalid value into a valid one. The hooks have not checked it as the answer yet.
    const made = asRead(state, turn, second);
    turn = await check(made, valuesOf(state, made, second));
  }
  return { ...turn, thoughts: turn.thoughts.filter((thought) => thought.trim() !== "") };
}

/** Each hook gets the text that the previous one returned. */
async function checkPlaces(
  { run, answerHooks, functions }: RunState,
  written: ModelTurn,
  places: readonly Place[],
  context: HookContext,
): Promise<ModelTurn> {
  const { agentId, request } = run;
  const checks = places.map(async ({ text, part }) => {
    let shown = text;
    for (const service of answerHooks) {
      if (shown.trim() === "") break;
      const call: HookCall = { hook: "beforeAnswer", ...callerOf(request), answer: shown, part };
      const decided = await askHook({ agentId, service, call, text: shown }, context);
      if (decided.verdict !== "replaced") continue;
      if (part === "answer" && decided.text.trim() === "")
        throw undecided(service, call.hook, "it replaced the answer with an empty text");
      shown = decided.text;
    }
    return shown;
  });
  // Wait for all: among several failures, always the first one in text order ends the run.
  await Promise.allSettled(checks);
  const shown: string[] = [];
  for (const check of checks) shown.push(await check);
  let turn = written;
  for (const [i, { text, put }] of places.entries())
    if (shown[i] !== text) turn = put(withoutEcho(turn), shown[i] ?? "");
  // Results may have what the hook replaced.
  const withholds = turn !== written && [...functions.values()].some(({ flow }) => flow?.withheld);
  return withholds ? { ...turn, warnings: [...(turn.warnings ?? []), WITHHELD] } : turn;
}

async function askHook(
  { agentId, service, call, text }: { agentId: string; service: ServiceHooks; call: HookCall; text: string },
  { gateway, segment, signal, remainingMs = () => LIMITS.hookTimeoutMs }: HookContext,
): Promise<Decided> {
  const sizeBytes = Buffer.byteLength(JSON.stringify(text));
  if (sizeBytes > LIMITS.hookTextBytes)
    throw undecided(service, call.hook, `${sizeBytes} bytes exceed the limit of ${LIMITS.hookTextBytes} for a hook`);
  const timeoutMs = Math.max(0, Math.min(LIMITS.hookTimeoutMs, Math.ceil(remainingMs())));
  const input = { call, timeoutMs, ...(segment && { trace: segment.trace.segment }) };
  const result = await gateway.runHook(agentId, service.manifestHash, input, { signal });
  if (!result) throw undecided(service, call.hook, "its runtime is not connected or did not answer in time");
  if (result.verdict === "failed")
    throw undecided(service, call.hook, `the log of its runtime has the reason (reference ${result.reference})`);
  if (result.verdict === "refused")
    throw new RunFailure("refused", result.text, { detail: { hook: call.hook, service: service.service } });
  return result;
}

/** A hook did not decide. The run ends, because a continued run would bypass the hook. The runtime's log has details that a caller must not see. */
export function undecided({ service }: Pick<ServiceHooks, "service">, hook: Hook, reason: string): RunFailure {
  return new RunFailure("internal", `The ${hook} hook of service ${service} failed: ${reason}`, {
    cause: reason,
    detail: { hook, service },
  });
}

/**
 * The turn with possible answer values in the form that the caller reads. A parser drops duplicate properties and
 * decodes escapes, so that a hook which saw the written text could miss what the caller gets. If a turn has several
 * values, only the first valid one is kept.
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

/** `JSON` in Node 24 and later. TypeScript 7.0's types lack the source texts of values. */
interface JsonWithSources {
  parse: (text: string, revive: (key: string, value: unknown, context: { source: string }) => unknown) => unknown;
  rawJSON: (text: string) => unknown;
}

/**
 * JSON text after parsing. Numbers keep their written form: a number that a parser would change must remain a fault.
 */
function rewritten(text: string): string {
  const { parse, rawJSON } = JSON as unknown as JsonWithSources;
  const value = parse(text, (key, property, { source }) => {
    if (key === "__proto__") return undefined;
    return typeof property === "number" ? rawJSON(source) : property;
  });
  return JSON.stringify(value);
}

/** JSON text without the white space between tokens. */
const withoutSpace = (text: string): string => text.replaceAll(/("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g, "$1");

function withAnswer(turn: ModelTurn, answer: ModelCall, value: JsonValue): ModelTurn {
  const others = turn.calls.filter(({ name }) => name !== answer.name);
  return { ...turn, calls: [...others, { ...answer, arguments: JSON.stringify(value) }] };
}

function textOf({ respond }: RunState, turn: ModelTurn, { planning, lastChance }: NextTurn, verdict: Verdict): Place {
  const continues = planning || turn.calls.length > 0 || (turn.stop === "pause" && !lastChance);
  // A text in place of a value is shown to the caller when the run ends with it.
  const isAnswer = !continues && (respond === undefined || verdict.kind === "failed");
  return { text: turn.text, part: isAnswer ? "answer" : "thought", put: (made, text) => ({ ...made, text }) };
}

const thoughtOf = (thought: string, i: number): Place => ({
  text: thought,
  part: "thought",
  put: (made, text) => ({ ...made, thoughts: made.thoughts.with(i, text) }),
});

/** A turn's calls that give its answer, or try to. */
function valuesOf({ respond }: RunState, { calls }: ModelTurn, verdict: Verdict): Place[] {
  const given = calls.filter(({ name }) => name === respond?.name);
  if (verdict.kind === "answer")
    return given.map((call) => ({
      text: fenced(verdict.value),
      part: "answer",
      put: (made, text) => withAnswer(made, call, replacedValue(respond!.inputSchema, text)),
    }));
  // The caller sees the last invalid value when the run ends with it.
  const part = verdict.kind === "failed" ? "answer" : "thought";
  return given.map(({ id, arguments: text }) => ({
    text,
    part,
    put: (made, shown) => withArguments(made, id, shown.trim() === "" ? NOTHING : shown),
  }));
}

/** A value that meets no answer schema. An empty text would be read as an object without properties. */
const NOTHING = "null";

const withArguments = (turn: ModelTurn, id: string, text: string): ModelTurn => ({
  ...turn,
  calls: turn.calls.map((call) => (call.id === id ? { ...call, arguments: text } : call)),
});

const FENCED = /^```(?:json)?\s*\n(.*)\n```$/s;

/** The value in a text that a hook returned instead of the answer: JSON, fenced or not. */
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
