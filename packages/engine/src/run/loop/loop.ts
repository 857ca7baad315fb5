import { parseJson, type JsonValue } from "@patchbay/kit";
import { type RunEvent } from "@patchbay/protocol";
import { ModelError, PLAN_GO_AHEAD, PLAN_REQUEST, type ModelCall, type ModelTurn } from "../../ports/model-provider.ts";
import { maxTurnsOf, type TurnRecord } from "../../ports/records.ts";
import { CUT_ANSWER } from "../answer.ts";
import { calledEvents, plan, planNone, settle } from "../calls/dispatch.ts";
import { callEntries, type JournalEntry } from "../calls/journal.ts";
import { RunFailure, turnLimit } from "../run-failure.ts";
import { type ActiveRun, callsOf, pushTurn, type RunState } from "../state.ts";
import { spentWith } from "./cost.ts";
import { checkTurn } from "./hooks.ts";
import { isEmpty, providerFailure } from "./model-turn.ts";
import { lastCallMessage, withoutEcho } from "./request.ts";
import { type Response, respond } from "./respond.ts";
import { fenced, judge, type Verdict } from "./structured.ts";

/** A successful run's end: the answer's text, and the last turn, which is stored together with the end. */
export interface Answer {
  text: string;
  /** The value of the answer, when the run has a schema for it. */
  structured?: JsonValue;
  last: JournalEntry;
}

/**
 * The agent loop: model turns and their calls, until the model answers. Each step is stored before the next one begins, so that
 * another process can continue from the stored state after a crash. Undefined when the run waits for calls. Throws `RunFailure`.
 */
export async function converse(state: RunState, active: ActiveRun): Promise<Answer | undefined> {
  const { journal } = active;
  // An approved call waits for a reader too. A crashed process's calls are settled before: they have begun.
  if (state.run.waitedMs !== undefined) await active.readerKnown;
  if (await settlePending(state, active)) return undefined;
  await active.readerKnown;
  active.signal.throwIfAborted();
  for (;;) {
    if (endsInMalformedCalls(state)) throw providerFailure(state.model, new ModelError("malformed", "malformed calls"));
    const response = await respond(state, active);
    const { next } = response;

    const failure = unusable(state, response);
    if (failure) {
      const kept = state.answerHooks.length > 0 ? withoutTexts(response.turn) : withoutEcho(response.turn);
      state.asking.unstored = entryOf(state, { ...kept, calls: [] }, active);
      throw failure;
    }
    const { turn, verdict } = await check(state, response, active);
    if (next.planning) await journal.write(planEntry(state, turn, active));
    else if (verdict.kind === "answer") {
      const last = answerEntry(state, turn, verdict, active);
      return { text: fenced(verdict.value), structured: verdict.value, last };
    } else if (verdict.kind === "again") await journal.write(againEntry(state, { turn, next }, verdict, active));
    else if (verdict.kind === "failed") {
      // Stored together with the end. If it were stored before, a run that resumes between the two would ask for another turn.
      state.asking.unstored = answerEntry(state, turn, verdict, active);
      throw verdict.failure;
    } else if (turn.calls.length > 0) {
      if (await runCalls(state, turn, active)) return undefined;
    } else if (turn.stop === "pause" && !next.lastChance) await journal.write(entryOf(state, turn, active));
    else return { text: turn.text, last: entryOf(state, turn, active) };
  }
}

/**
 * Has the hooks check a turn, and decides what it means for the run. The turn is neither stored nor shown before the
 * hooks have seen it. After a crash they see it again.
 */
async function check(
  state: RunState,
  { turn: raw, next }: Response,
  active: ActiveRun,
): Promise<{ turn: ModelTurn; verdict: Verdict }> {
  try {
    const turn = state.answerHooks.length === 0 ? raw : await checkTurn(state, raw, next, active);
    return { turn, verdict: next.planning ? { kind: "other" } : judge(state, turn, next) };
  } catch (error) {
    keepCost(state, raw, active);
    throw error;
  }
}

/** Charges for a turn that is not used. */
function keepCost(state: RunState, turn: ModelTurn, active: ActiveRun): void {
  state.asking.unstored = entryOf(state, { ...withoutTexts(turn), calls: [] }, active);
}

const withoutTexts = (turn: ModelTurn): ModelTurn => ({ ...withoutEcho(turn), text: "", thoughts: [] });

/** A model that cannot write its calls gets two more tries. Without this limit it would use up all the run's turns. */
const MALFORMED_IN_A_ROW = 3;

/** Answer calls do not count: `judge` limits their corrections. */
function endsInMalformedCalls({ turns, respond }: RunState): boolean {
  const messages = turns.flatMap((turn) => turn.messages);
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const last = calls.filter(({ name }) => name !== respond?.name).slice(-MALFORMED_IN_A_ROW);
  return (
    last.length === MALFORMED_IN_A_ROW &&
    last.every((call) => call.arguments.trim() !== "" && !parseJson(call.arguments).ok)
  );
}

/** Why a turn cannot be used; its cost is still charged. */
function unusable(state: RunState, { turn, next: { planning, lastChance } }: Response): RunFailure | undefined {
  if (turn.stop === "refused") return refused(state.answerHooks.length > 0 ? {} : turn);
  if (turn.stop === "malformed") return providerFailure(state.model, new ModelError("malformed", "unreadable call"));
  if (turn.stop === "context_window") return providerFailure(state.model, new ModelError("context_window", "too long"));
  const unanswered = state.respond !== undefined && !planning;
  if (turn.stop === "length" && (turn.cutCall || turn.calls.length > 0 || isEmpty(turn) || unanswered))
    return new RunFailure("output_limit", "The model's output was cut by maxTokens before it could be used");
  if (turn.calls.length > 0 && lastChance && !planning && !answers(state, turn))
    return turnLimit(maxTurnsOf(state.run.request));
  if (!planning && isEmpty(turn) && (turn.stop !== "pause" || lastChance))
    return new RunFailure(
      "provider_error",
      `Provider ${state.model.provider.name} failed: it answered without any text`,
    );
  if (turn.stop === "length" && !planning) state.warnings.add(CUT_ANSWER);
  return undefined;
}

const answers = ({ respond }: RunState, { calls }: ModelTurn): boolean =>
  calls.some(({ name }) => name === respond?.name);

/** Maximum length of a refusal's reason in the message to the caller. */
const REFUSAL_CHARS = 500;

function refused({ refusal = "" }: Pick<ModelTurn, "refusal">): RunFailure {
  const reason = refusal.trim().slice(0, REFUSAL_CHARS);
  return new RunFailure("model_refused", `The model refused to answer${reason === "" ? "" : `: ${reason}`}`);
}

/** Completes calls that an earlier owner had begun. True when the run waits for calls. */
async function settlePending(state: RunState, active: ActiveRun): Promise<boolean> {
  const last = state.turns.at(-1);
  return last !== undefined && (await settle(state, callsOf(state, last.step), active, { resumed: true }));
}

/** True when the run waits for calls. */
async function runCalls(state: RunState, turn: ModelTurn, active: ActiveRun): Promise<boolean> {
  // Followers were shown this text as the beginning of an answer. Together with calls, it is a thought.
  if (turn.text !== "" && !state.respond) active.journal.live({ type: "deltaReset" });
  const calls = await plan(state, turn.calls, active).catch((error: unknown) => {
    keepCost(state, turn, active);
    throw error;
  });
  const entry = entryOf(state, turn, active);
  state.calls.push(...calls);
  const refused = calls.filter((call) => call.outcome);
  active.segment?.refused(refused);
  // Each call's intent is stored before the call is sent: after a crash the next owner asks the runtime for its
  // outcome.
  await active.journal.write({
    ...entry,
    events: [...entry.events, ...spoken(turn), ...calledEvents(calls)],
    calls,
    audit: refused.flatMap((call) => callEntries(state.run, call)),
  });
  for (const call of refused) active.observer.callRefused(call, { known: isKnown(state, call.functionName) });
  return await settle(state, calls, active, { resumed: false });
}

const isKnown = ({ functions, hidden }: RunState, name: string): boolean => functions.has(name) || hidden.has(name);

/** Providers may ignore that a plan has no calls. Such calls are dropped, and the echo that repeats them. */
function planEntry(state: RunState, turn: ModelTurn, active: ActiveRun): JournalEntry {
  const { echo, calls, ...plan } = turn;
  const entry = entryOf(state, { ...plan, calls: [], ...(echo && calls.length === 0 && { echo }) }, active);
  const { messages } = entry.turn;
  if (turn.text === "") messages.length = 0;
  else {
    messages.unshift({ role: "user", text: PLAN_REQUEST });
    messages.push({ role: "user", text: PLAN_GO_AHEAD });
  }
  return { ...entry, events: [...entry.events, ...spoken(turn)] };
}

/** A turn that gives its answer by a call. Its text is a thought, and its other calls do not run. */
function answerEntry(
  state: RunState,
  turn: ModelTurn,
  { kind, besides }: { kind: string; besides: readonly ModelCall[] },
  active: ActiveRun,
): JournalEntry {
  const calls = planNone(state, besides, active);
  for (const call of calls) active.observer.callRefused(call, { known: isKnown(state, call.functionName) });
  const names = [...new Set(calls.map(({ functionName }) => functionName))].join(", ");
  const ignored = `The model answered in the turn in which it called ${names}. These calls were not run.`;
  const warnings = [...(turn.warnings ?? []), ...(kind === "answer" && calls.length > 0 ? [ignored] : [])];
  const entry = entryOf(state, { ...turn, warnings }, active);
  state.calls.push(...calls);
  return {
    ...entry,
    events: [...entry.events, ...spoken(turn), ...calledEvents(calls)],
    calls,
    audit: calls.flatMap((call) => callEntries(state.run, call)),
  };
}

/**
 * A turn after which the model is asked for its answer again. The messages that ask for it are stored with the turn.
 */
function againEntry(
  state: RunState,
  { turn, next }: Response,
  verdict: Extract<Verdict, { kind: "again" }>,
  active: ActiveRun,
): JournalEntry {
  const entry = answerEntry(state, turn, verdict, active);
  const { messages } = state.turns.at(-1)!;
  const lastCall = lastCallMessage(state, next);
  if (lastCall) messages.unshift(lastCall);
  messages.push(verdict.reply);
  return entry;
}

/** Text next to calls, or a plan, is a reasoning event. */
const spoken = (turn: ModelTurn): RunEvent[] => (turn.text === "" ? [] : [{ type: "thought", content: turn.text }]);

/** The entry that charges for a turn whose attempts all failed; undefined when none was billed. */
export function unfinishedEntry(state: RunState, active: Pick<ActiveRun, "observer">): JournalEntry | undefined {
  if (!state.asking.discarded) return undefined;
  const usage = { input: 0, cachedInput: 0, output: 0 };
  return entryOf(state, { text: "", thoughts: [], calls: [], stop: "stop", usage, model: state.model.model }, active);
}

/** No provider accepts an assistant message without content. */
const isBlank = ({ text, calls, echo }: ModelTurn): boolean => text === "" && calls.length === 0 && !echo;

/** Adds a turn to the state and returns the entry that stores it: its messages, reasoning, tokens and cost. */
function entryOf(state: RunState, turn: ModelTurn, { observer }: Pick<ActiveRun, "observer">) {
  const { model, reservedMicros } = state;
  const warnings = [...(turn.warnings ?? [])];
  if (model.cost(turn.usage) === undefined)
    warnings.push(`No price is known for model ${model.model}: its cost counts as 0`);
  const record: TurnRecord = {
    step: state.turns.length,
    messages: isBlank(turn)
      ? []
      : [{ role: "assistant", text: turn.text, calls: turn.calls, ...(turn.echo && { echo: turn.echo }) }],
    warnings,
    provider: model.provider.name,
    model: model.model,
    ...spentWith(state, turn),
  };
  pushTurn(state, record);
  for (const warning of warnings) state.warnings.add(warning);
  observer.turnEnded(record);
  state.reservedMicros = 0;
  const timing = state.asking.turn;
  state.asking.turn = undefined;
  state.asking.discarded = undefined;
  return {
    turn: { reservedMicros, ...record, ...(timing && { timing }) },
    events: turn.thoughts.map((content): RunEvent => ({ type: "thought", content })),
  };
}
