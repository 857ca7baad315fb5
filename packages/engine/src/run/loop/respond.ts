import {
  type ChosenModel,
  type ModelCatalog,
  ModelError,
  type ModelErrorKind,
  type ModelTurn,
  type TokenUsage,
} from "../../ports/model-provider.ts";
import type { ModelRetry, RunRecord, TurnRecord } from "../../ports/records.ts";
import { excessOf } from "../function-limits.ts";
import { notConfigured, RunFailure } from "../run-failure.ts";
import { testCallModel } from "../start/settings.ts";
import type { ActiveRun, NextTurn, RunState } from "../state.ts";
import { billed, discard, learnRatio, payAhead } from "./cost.ts";
import { type AttemptObserver, providerFailure, reasonOf, takeTurn } from "./model-turn.ts";
import { createOutage, type Outage } from "./outage.ts";
import { nextTurn, shrink } from "./request.ts";

/** A model turn, and how it was requested. */
export interface Response {
  turn: ModelTurn;
  next: NextTurn;
}

/**
 * Asks for a run's next turn, paid for in advance. A conversation that is too long is cut, and a model that fails is
 * replaced by the next one in the run's list. When all have failed, a run that has stored a turn asks them again for a
 * while: its calls may have taken effect, which a new run would repeat. Stores nothing but the reservation.
 */
export async function respond(state: RunState, active: ActiveRun): Promise<Response> {
  const outage = createOutage(active);
  try {
    return await ask(state, active, outage);
  } catch (error) {
    // A run that was cancelled or timed out while it waited for its models has the warning too.
    for (const warning of outage.warnings()) state.warnings.add(warning);
    throw error;
  }
}

async function ask(state: RunState, active: ActiveRun, outage: Outage): Promise<Response> {
  const { clock, segment } = active;
  let retries: { retries?: number } = {};
  for (;;) {
    const next = nextTurn(state);
    const { model } = state;
    const { request } = next;
    const asked = { provider: model.provider.name, model: model.model };
    const noteRetry = (code: ModelRetry["code"], waitMs: number): void => {
      state.asking.turn?.retries.push({ at: clock.now(), code, waitedMs: waitMs, ...asked });
      outage.pauses(waitMs);
      if (state.turns.length > 0 || waitMs >= NOTICED_MS) showStatus(state, active, { state: "retrying", waitMs });
    };
    await payAhead(state, request, active);
    state.asking.turn = { beganAt: clock.now(), retries: [], ...state.asking.turn, ...asked };
    try {
      const observer = attemptObserver(state, next, active, { outage, noteRetry });
      const excess = excessOf(state.run.role, request.functions, model);
      if (excess !== undefined) {
        observer.failed(new ModelError("too_many_functions", excess));
        throw new ModelError("too_many_functions", excess);
      }
      const take = () => takeTurn(model, request, active, observer, retries);
      const turn = await (next.planning && segment ? segment.plan(take) : take());
      learnRatio(state, request, turn.usage);
      if (turn.stop !== "context_window" || !shrink(state)) {
        const warnings = [...fallbackWarnings(outage, model), ...outage.warnings(), ...(turn.warnings ?? [])];
        return { next, turn: { ...turn, warnings } };
      }
      discard(state, turn.usage);
      noteRetry("context_window", 0);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      if (error.kind === "context_window" && shrink(state)) noteRetry(error.kind, 0);
      else if (await anotherModel(state, error, active, { outage, noteRetry })) retries = { retries: 0 };
    }
  }
}

/** Shorter waits before a run's first turn are not worth a message. */
const NOTICED_MS = 1_000;

/** Reports to the run's followers what its model does. A turn's attempts are counted from 1. */
function showStatus(
  { asking }: RunState,
  { journal }: ActiveRun,
  { state, waitMs = 0 }: { state: "retrying" | "silent"; waitMs?: number },
): void {
  const attempt = (asking.turn?.retries.length ?? 0) + 1;
  journal.live({ type: "modelStatus", state, attempt, ...(waitMs > 0 && { waitMs }) });
}

interface Attempts {
  outage: Outage;
  /** Another request follows after a pause. */
  noteRetry(code: ModelRetry["code"], waitMs: number): void;
}

/** Shows the turn to followers as it arrives, and accounts for failed attempts. */
function attemptObserver(
  state: RunState,
  { planning, request }: NextTurn,
  active: ActiveRun,
  { outage, noteRetry }: Attempts,
): AttemptObserver {
  const { clock, journal, log, observer } = active;
  const { asking, model, respond } = state;
  const asked = { provider: model.provider.name, model: model.model };
  // With a function for the answer, or in a plan, text is not the answer.
  const type = planning || respond ? "thoughtDelta" : "responseDelta";
  const discarded = (usage: TokenUsage): void => {
    learnRatio(state, request, usage);
    discard(state, usage);
  };
  const show = (delta: Parameters<typeof journal.live>[0]): void => {
    if (asking.turn) asking.turn.firstTokenMs ??= Math.max(0, clock.now() - asking.turn.beganAt);
    journal.live(delta);
  };
  return {
    text: (content) => show({ type, content }),
    thought: (content) => show({ type: "thoughtDelta", content }),
    reset() {
      delete asking.turn?.firstTokenMs;
      journal.live({ type: "deltaReset" });
    },
    discarded,
    cut: (used) => discarded(billed(state, request, used)),
    silent: () => showStatus(state, active, { state: "silent" }),
    succeeded: (took) => observer.attemptEnded({ ...asked, outcome: "succeeded", ...took }),
    failed(error) {
      const { kind, message: cause } = error;
      observer.attemptEnded({ ...asked, outcome: kind });
      log.warn("model turn failed", { ...asked, kind, attempt: (asking.turn?.retries.length ?? 0) + 1, cause });
      outage.failed(model, error);
    },
    async retry(code, waitMs) {
      await payAhead(state, request, active);
      noteRetry(code, waitMs);
    },
  };
}

/**
 * The model that a run asks, and the models that replace it in this order when it fails. A resumed run stays with its
 * last turn's model. Throws `RunFailure` `provider_not_configured`.
 */
export function modelsOf(
  { request, orgId }: Pick<RunRecord, "request" | "orgId">,
  turns: readonly Pick<TurnRecord, "provider" | "model">[],
  catalog: ModelCatalog,
): Pick<RunState, "model" | "fallback" | "passed"> {
  if (request.testCall) return { model: testCallModel(request.testCall), fallback: [], passed: [] };
  const inOrder = [request, ...(request.fallback ?? [])].map(({ provider, model, reasoning }) => {
    const one = catalog.choose({ provider, model, orgId });
    return reasoning === undefined || reasoning === request.reasoning ? one : { ...one, reasoning };
  });
  const last = turns.at(-1);
  const current = inOrder.findIndex(
    (one) => !("missing" in one) && one.provider.name === last?.provider && one.model === last.model,
  );
  const passed = inOrder.splice(0, Math.max(0, current));
  const [model, ...fallback] = inOrder;
  if (!model || "missing" in model) throw notConfigured(model ?? { missing: "none" });
  // The list was checked when the run was accepted, but another replica may have other keys.
  const configured = (list: typeof inOrder) => list.flatMap((one) => ("missing" in one ? [] : [one]));
  return { model, fallback: configured(fallback), passed: configured(passed) };
}

/**
 * Failures that another model would share. It may succeed when the provider, the account or the connection failed. A
 * model that wrote unreadable calls did answer, and a conversation that is too long for one model is too long for
 * similar ones.
 */
const SHARED_FAILURES: ReadonlySet<ModelErrorKind> = new Set(["bad_request", "context_window", "malformed"]);

/** A rejected block that only the provider which issued it can read. Other models are asked without such blocks. */
const OPAQUE_BLOCKS = /signature|encrypted content/i;

/**
 * Replaces the run's model with the next one in its list. When the list is used up, a run that has stored a turn pauses
 * and begins with the list again; true from then on. Throws `RunFailure` when no model can be asked.
 */
async function anotherModel(
  state: RunState,
  error: ModelError,
  { clock, log, signal }: ActiveRun,
  { outage, noteRetry }: Attempts,
): Promise<boolean> {
  const { fallback, model, passed } = state;
  const { kind, message } = error;
  if (SHARED_FAILURES.has(kind) && !(kind === "bad_request" && OPAQUE_BLOCKS.test(message))) throw allFailed(outage);
  if (error.retryable) passed.push(model);
  if (useNext(state, outage)) {
    log.warn("falling back to another model", { failed: nameOf(model), kind, next: nameOf(state.model) });
    noteRetry(kind, 0);
    return false;
  }
  const waitMs = state.turns.length > 0 ? outage.nextPauseMs([...passed, ...fallback]) : undefined;
  if (waitMs === undefined) throw allFailed(outage);
  log.warn("all models failed, asking them again", { failed: nameOf(model), kind, waitMs });
  noteRetry(kind, waitMs);
  await clock.sleep(waitMs, { signal });
  fallback.unshift(...passed.splice(0));
  useNext(state, outage);
  return true;
}

/** Switches to the run's first next model that may be asked now. False when the list has none. */
function useNext(state: RunState, outage: Outage): boolean {
  const { fallback, passed } = state;
  const index = fallback.findIndex(outage.isReady);
  const next = fallback[index];
  if (!next) return false;
  passed.push(...fallback.splice(0, index + 1).slice(0, -1));
  if (next === state.model) return true;
  state.model = next;
  // A conversation that was too long for one model may fit into another's window.
  state.maxTokens = Infinity;
  state.next = undefined;
  return true;
}

const nameOf = ({ provider, model }: ChosenModel): string => `${provider.name}/${model}`;

/** A warning in the answer for each model that failed before this one answered. */
const fallbackWarnings = ({ failures }: Outage, answered: ChosenModel): string[] =>
  [...failures]
    .filter(([model]) => model !== answered)
    .map(([model, { kind }]) => `Model ${nameOf(model)} failed (${kind}): ${nameOf(answered)} answered instead`);

/** Ends a run when every model that it asked for a turn failed. */
function allFailed({ failures }: Outage): RunFailure {
  const [first, second] = failures;
  const isOurs = failures.values().every(({ kind }) => kind === "out_of_files");
  if (first && (!second || isOurs)) return providerFailure(...first);
  const reasons = [...failures].map(([model, error]) => `Model ${nameOf(model)} failed: ${reasonOf(error)}`);
  const causes = [...failures].map(([, error]) => error.message);
  return new RunFailure("provider_error", reasons.join(". "), { cause: causes.join("; ") });
}
