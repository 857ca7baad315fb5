import { parseJson, type JsonValue, type OperatorLimits, type RunEvent } from "@patchbay/protocol";
import type { FunctionGateway } from "../ports/function-gateway.ts";
import { ModelError, PLAN_GO_AHEAD, PLAN_REQUEST, type ModelCall, type ModelTurn } from "../ports/model-provider.ts";
import type { CallRecord, TurnRecord } from "../ports/records.ts";
import { callEntries } from "./audit.ts";
import { checkTurn } from "./checked-turn.ts";
import { calledEvents, plan, planNone, settle } from "./dispatch.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import { isEmpty, providerFailure } from "./model-turn.ts";
import { type Asking, askingOf, stepsOf } from "./request.ts";
import { respond, type RespondDeps } from "./respond.ts";
import { RunFailure, stepLimit } from "./run-failure.ts";
import { spentWith } from "./spent.ts";
import { callsOf, type RunState } from "./state.ts";
import { fenced, judge, lastCallOf, type Verdict } from "./structured.ts";

export interface LoopDeps extends RespondDeps {
  gateway: FunctionGateway;
  journal: Journal;
  limits: OperatorLimits;
  onTurn(turn: TurnRecord): void;
  onCall(call: CallRecord, ms: number): void;
  onDisagreement(call: CallRecord, rule: string): void;
}

/** What a run ends with: the answer's text, and its last turn, to be stored together with the end. */
export interface Answer {
  text: string;
  /** The value that meets the schema of the answer, where there is one. */
  structured?: JsonValue;
  last: JournalEntry;
}

/**
 * The agent loop: model turns and their calls, until the model answers. Each step is stored before the next begins, so that a
 * loop started anew on the same state goes on where this one stopped. Throws `RunFailure`.
 */
export async function converse(state: RunState, deps: LoopDeps, signal: AbortSignal): Promise<Answer> {
  await settlePending(state, deps, signal);
  for (;;) {
    if (endsInMalformedCalls(state)) throw providerFailure(state.model, new ModelError("malformed", "malformed calls"));
    const asking = askingOf(state);
    const { planning, lastChance } = asking;
    const raw = await respond(state, asking, deps, signal);

    const failure = unusable(state, raw, planning, lastChance);
    if (failure) {
      const { echo: _, ...kept } = state.answerHooks.length > 0 ? withoutTexts(raw) : raw;
      state.asking.unstored = entryOf(state, { ...kept, calls: [] }, deps);
      throw failure;
    }
    const { turn, verdict } = await check(state, raw, { asking, deps }, signal);
    if (planning) await deps.journal.write(planEntry(state, turn, deps));
    else if (verdict.kind === "answer")
      return { text: fenced(verdict.value), structured: verdict.value, last: answerEntry(state, turn, verdict, deps) };
    else if (verdict.kind === "again")
      await deps.journal.write(againEntry(state, turn, { ...verdict, lastChance }, deps));
    else if (verdict.kind === "failed") {
      // Stored before the end of the run, it would be followed by another turn when the run is resumed between the two.
      state.asking.unstored = answerEntry(state, turn, verdict, deps);
      throw verdict.failure;
    } else if (turn.calls.length > 0) await runCalls(state, turn, deps, signal);
    else if (turn.stop === "pause" && !lastChance) await deps.journal.write(entryOf(state, turn, deps));
    else return { text: turn.text, last: entryOf(state, turn, deps) };
  }
}

/**
 * The turn as the services let it be seen, and what it is to the run. Until then nothing of it is stored or shown: after a crash
 * the hooks see it again.
 */
async function check(
  state: RunState,
  written: ModelTurn,
  { asking, deps }: { asking: Asking; deps: LoopDeps },
  signal: AbortSignal,
): Promise<{ turn: ModelTurn; verdict: Verdict }> {
  try {
    const turn = state.answerHooks.length === 0 ? written : await checkTurn(state, written, asking, deps, signal);
    return { turn, verdict: asking.planning ? { kind: "other" } : judge(state, turn, asking) };
  } catch (error) {
    keepCost(state, written, deps);
    throw error;
  }
}

/** Keeps what a turn cost that came and led to nothing. */
function keepCost(state: RunState, turn: ModelTurn, deps: LoopDeps): void {
  state.asking.unstored = entryOf(state, { ...withoutTexts(turn), calls: [] }, deps);
}

function withoutTexts(written: ModelTurn): ModelTurn {
  const { echo: _, ...turn } = written;
  return { ...turn, text: "", thoughts: [] };
}

/** A model that cannot write its calls gets two more tries; after that it would go on until the limit of steps, turn after turn. */
const MALFORMED_IN_A_ROW = 3;

/** Calls that are to be the answer do not count: the model may correct them, as often as any other invalid value. */
function endsInMalformedCalls({ turns, respond }: RunState): boolean {
  const messages = turns.flatMap((turn) => turn.messages);
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const last = calls.filter(({ name }) => name !== respond?.name).slice(-MALFORMED_IN_A_ROW);
  return (
    last.length === MALFORMED_IN_A_ROW &&
    last.every((call) => call.arguments.trim() !== "" && !parseJson(call.arguments).ok)
  );
}

/** Why nothing can be done with a turn; it was paid for all the same. */
function unusable(state: RunState, turn: ModelTurn, planning: boolean, lastChance: boolean): RunFailure | undefined {
  if (turn.stop === "refused") return refused(state.answerHooks.length > 0 ? {} : turn);
  if (turn.stop === "malformed") return providerFailure(state.model, new ModelError("malformed", "unreadable call"));
  if (turn.stop === "context_window") return providerFailure(state.model, new ModelError("context_window", "too long"));
  const unanswered = state.respond !== undefined && !planning;
  if (turn.stop === "length" && (turn.cutCall || turn.calls.length > 0 || isEmpty(turn) || unanswered))
    return new RunFailure("output_limit", "The model's output was cut by maxTokens before it could be used");
  if (turn.calls.length > 0 && lastChance && !planning && !answers(state, turn))
    return stepLimit(stepsOf(state.run.request));
  if (!planning && isEmpty(turn) && (turn.stop !== "pause" || lastChance))
    return new RunFailure(
      "provider_error",
      `Provider ${state.model.provider.name} failed: it answered without any text`,
    );
  if (turn.stop === "length" && !planning) state.warnings.add("The answer was cut by maxTokens");
  return undefined;
}

const answers = ({ respond }: RunState, { calls }: ModelTurn): boolean =>
  calls.some(({ name }) => name === respond?.name);

/** Longest reason of a refusal that a caller reads. */
const REFUSAL_CHARS = 500;

function refused({ refusal = "" }: Pick<ModelTurn, "refusal">): RunFailure {
  const reason = refusal.trim().slice(0, REFUSAL_CHARS);
  return new RunFailure("model_refused", `The model refused to answer${reason === "" ? "" : `: ${reason}`}`);
}

/** Ends what an earlier owner of the run had begun. */
async function settlePending(state: RunState, deps: LoopDeps, signal: AbortSignal): Promise<void> {
  const last = state.turns.at(-1);
  if (last) await settleTurn(state, callsOf(state, last.step), deps, { resumed: true, signal });
}

function settleTurn(
  state: RunState,
  calls: readonly CallRecord[],
  deps: LoopDeps,
  options: { resumed: boolean; signal: AbortSignal },
): Promise<void> {
  const { gateway, journal, clock, limits, remainingMs, onCall: onSettled, onDisagreement } = deps;
  return settle(state, calls, { gateway, journal, clock, limits, remainingMs, onSettled, onDisagreement }, options);
}

async function runCalls(state: RunState, turn: ModelTurn, deps: LoopDeps, signal: AbortSignal): Promise<void> {
  // Followers were shown this text as the beginning of an answer; with calls next to it, it is a thought.
  if (turn.text !== "" && !state.respond) deps.journal.live({ type: "deltaReset" });
  const calls = await plan(state, state.turns.length, turn.calls, deps, signal).catch((error: unknown) => {
    keepCost(state, turn, deps);
    throw error;
  });
  const entry = entryOf(state, turn, deps);
  state.calls.push(...calls);
  await deps.journal.write({
    ...entry,
    events: [...entry.events, ...spoken(turn), ...calledEvents(calls)],
    calls,
    audit: calls.filter((call) => call.outcome).flatMap((call) => callEntries(state.run, call)),
  });
  await settleTurn(state, calls, deps, { resumed: false, signal });
}

/** A server may ignore that the model must not call while it plans. Its calls are dropped, and with them the echo that repeats them. */
function planEntry(state: RunState, turn: ModelTurn, deps: LoopDeps): JournalEntry {
  const { echo, calls, ...plan } = turn;
  const entry = entryOf(state, { ...plan, calls: [], ...(echo && calls.length === 0 && { echo }) }, deps);
  const { messages } = entry.turn;
  if (turn.text === "") messages.length = 0;
  else {
    messages.unshift({ role: "user", text: PLAN_REQUEST });
    messages.push({ role: "user", text: PLAN_GO_AHEAD });
  }
  return { ...entry, events: [...entry.events, ...spoken(turn)] };
}

/** A turn that gives its answer by a call: its text is a step of the reasoning, and calls next to the answer are not run. */
function answerEntry(
  state: RunState,
  turn: ModelTurn,
  { kind, besides }: { kind: string; besides: readonly ModelCall[] },
  deps: LoopDeps,
): JournalEntry {
  const calls = planNone(state, state.turns.length, besides, deps.limits);
  const names = [...new Set(calls.map(({ functionName }) => functionName))].join(", ");
  const ignored = `The model answered in the turn in which it called ${names}. These calls were not run.`;
  const warnings = [...(turn.warnings ?? []), ...(kind === "answer" && calls.length > 0 ? [ignored] : [])];
  const entry = entryOf(state, { ...turn, warnings }, deps);
  state.calls.push(...calls);
  return {
    ...entry,
    events: [...entry.events, ...spoken(turn), ...calledEvents(calls)],
    calls,
    audit: calls.flatMap((call) => callEntries(state.run, call)),
  };
}

/** A turn whose answer is asked for again: what it is asked with is stored with it. */
function againEntry(
  state: RunState,
  turn: ModelTurn,
  { lastChance, ...verdict }: Extract<Verdict, { kind: "again" }> & { lastChance: boolean },
  deps: LoopDeps,
): JournalEntry {
  const entry = answerEntry(state, turn, verdict, deps);
  const { messages } = state.turns.at(-1)!;
  if (lastChance && state.respond) messages.unshift({ role: "user", text: lastCallOf(state.respond.name) });
  messages.push(verdict.reply);
  return entry;
}

/** What a model says beside its calls, or as its plan, is a step of its reasoning. */
const spoken = (turn: ModelTurn): RunEvent[] => (turn.text === "" ? [] : [{ type: "thought", content: turn.text }]);

/** The entry of a turn that did not come about, for what attempts at it cost; undefined where no attempt was billed. */
export function unfinishedEntry(state: RunState, deps: Pick<LoopDeps, "onTurn">): JournalEntry | undefined {
  if (!state.asking.discarded) return undefined;
  const usage = { input: 0, cachedInput: 0, output: 0 };
  return entryOf(state, { text: "", thoughts: [], calls: [], stop: "stop", usage, model: state.model.model }, deps);
}

/** No wire takes an assistant's message without content. */
const isBlank = ({ text, calls, echo }: ModelTurn): boolean => text === "" && calls.length === 0 && !echo;

/** Adds a turn to the state and gives the entry that stores it: its reasoning, its use of tokens, its cost. */
function entryOf(state: RunState, turn: ModelTurn, deps: Pick<LoopDeps, "onTurn">) {
  const { model } = state;
  const warnings = [...(turn.warnings ?? [])];
  if (model.cost(turn.usage) === undefined)
    warnings.push(`No price is known for model ${model.model}: its cost counts as 0`);
  const record: TurnRecord = {
    step: state.turns.length,
    messages: isBlank(turn)
      ? []
      : [{ role: "assistant", text: turn.text, calls: turn.calls, ...(turn.echo && { echo: turn.echo }) }],
    ...spentWith(state, turn),
    warnings,
    provider: model.provider.name,
    model: model.model,
  };
  state.turns.push(record);
  for (const warning of warnings) state.warnings.add(warning);
  deps.onTurn(record);
  const { heldMicros } = state;
  state.heldMicros = 0;
  const timing = state.asking.turn;
  delete state.asking.turn;
  delete state.asking.discarded;
  return {
    turn: {
      ...record,
      heldMicros,
      ...(timing && { timing }),
    },
    events: turn.thoughts.map((content): RunEvent => ({ type: "thought", content })),
  };
}
