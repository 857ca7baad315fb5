import {
  type ChosenModel,
  type ModelCatalog,
  ModelError,
  type ModelErrorKind,
  type ModelTurn,
  type TokenUsage,
} from "../../ports/model-provider.ts";
import type { ModelRetry, RunRecord, TurnRecord } from "../../ports/records.ts";
import { RunFailure } from "../run-failure.ts";
import { testCallModel } from "../start/settings.ts";
import type { ActiveRun, NextTurn, RunState } from "../state.ts";
import { billed, discard, learnRatio, payAhead } from "./cost.ts";
import { type AttemptObserver, providerFailure, reasonOf, takeTurn } from "./model-turn.ts";
import { nextTurn, shrink } from "./request.ts";

/** A turn of the model, and how it was asked for. */
export interface Response {
  turn: ModelTurn;
  next: NextTurn;
}

/**
 * Asks for the next turn of a run, paid for in advance. A conversation that is too long is cut, and a model that fails is replaced
 * by the next one of the run's list for the rest of the run. Stores nothing but the reservation.
 */
export async function respond(state: RunState, active: ActiveRun): Promise<Response> {
  const { clock, log, segment } = active;
  const failed: FailedModel[] = [];
  for (;;) {
    const next = nextTurn(state);
    const { model } = state;
    const { request } = next;
    const asked = { provider: model.provider.name, model: model.model };
    const noteRetry = (code: ModelRetry["code"], waitedMs: number): void =>
      void state.asking.turn?.retries.push({ at: clock.now(), code, waitedMs, ...asked });
    await payAhead(state, request, active);
    state.asking.turn = { beganAt: clock.now(), retries: [], ...state.asking.turn, ...asked };
    try {
      const take = () => takeTurn(model, request, active, attemptObserver(state, next, active, noteRetry));
      const turn = await (next.planning && segment ? segment.plan(take) : take());
      learnRatio(state, request, turn.usage);
      if (turn.stop !== "context_window" || !shrink(state))
        return { next, turn: { ...turn, warnings: [...fallbackWarnings(failed, model), ...(turn.warnings ?? [])] } };
      discard(state, turn.usage);
      noteRetry("context_window", 0);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      if (error.kind !== "context_window" || !shrink(state)) {
        failed.push({ model, error });
        if (!fallBack(state, error)) throw allFailed(failed);
        log.warn("falling back to another model", { failed: asked, kind: error.kind, next: state.model.model });
      }
      noteRetry(error.kind, 0);
    }
  }
}

/** Shows the turn to followers while it is made, and accounts for attempts that fail. */
function attemptObserver(
  state: RunState,
  { planning, request }: NextTurn,
  active: ActiveRun,
  noteRetry: (code: ModelRetry["code"], waitedMs: number) => void,
): AttemptObserver {
  const { clock, journal, observer } = active;
  const { asking, model, respond } = state;
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
    ended: (outcome, took) =>
      observer.attemptEnded({ provider: model.provider.name, model: model.model, outcome, ...took }),
    async retry(code, waitMs) {
      await payAhead(state, request, active);
      noteRetry(code, waitMs);
    },
  };
}

/** A model that did not give a turn, and its last error. */
interface FailedModel {
  model: ChosenModel;
  error: ModelError;
}

/**
 * The model that a run asks, and the models that replace it in this order when it fails. A resumed run stays with the model of its
 * last turn. Throws `RunFailure` `provider_not_configured`.
 */
export function modelsOf(
  { request }: Pick<RunRecord, "request">,
  turns: readonly Pick<TurnRecord, "provider" | "model">[],
  catalog: ModelCatalog,
): Pick<RunState, "model" | "fallback"> {
  if (request.testCall) return { model: testCallModel(request.testCall), fallback: [] };
  const inOrder = [request, ...(request.fallback ?? [])].map(({ provider, model }) =>
    catalog.choose({ provider, model }),
  );
  const last = turns.at(-1);
  const current = inOrder.findIndex(
    (one) => !("missing" in one) && one.provider.name === last?.provider && one.model === last.model,
  );
  const [model, ...fallback] = inOrder.slice(Math.max(0, current));
  if (!model || "missing" in model)
    throw new RunFailure("provider_not_configured", `Provider ${model?.missing} is not configured`);
  // The list was checked when the run was accepted, but another replica may have other keys.
  return { model, fallback: fallback.flatMap((one) => ("missing" in one ? [] : [one])) };
}

/**
 * Whether another model may succeed: yes when the provider, the account or the connection failed. A model that wrote unreadable
 * calls did answer, and a conversation that is too long for one model is too long for similar ones.
 */
const FALLBACK_HELPS: Record<ModelErrorKind, boolean> = {
  rate_limited: true,
  quota: true,
  overloaded: true,
  authentication: true,
  unknown_model: true,
  network: true,
  truncated: true,
  server: true,
  bad_request: false,
  context_window: false,
  malformed: false,
};

/** A rejected block that only the provider which issued it can read. Other models are asked without such blocks. */
const OPAQUE_BLOCKS = /signature|encrypted content/i;

/** Replaces the run's model by the next one of its list; false when that cannot help or the list is used up. */
function fallBack(state: RunState, { kind, message }: ModelError): boolean {
  const mayHelp = FALLBACK_HELPS[kind] || (kind === "bad_request" && OPAQUE_BLOCKS.test(message));
  const next = mayHelp ? state.fallback.shift() : undefined;
  if (!next) return false;
  state.model = next;
  // A conversation that was too long for one model may fit into the window of another.
  state.maxTokens = Infinity;
  state.next = undefined;
  return true;
}

const nameOf = ({ provider, model }: ChosenModel): string => `${provider.name}/${model}`;

/** One warning of the answer for each model that failed before this one answered. */
const fallbackWarnings = (failed: readonly FailedModel[], answered: ChosenModel): string[] =>
  failed.map(
    ({ model, error }) => `Model ${nameOf(model)} failed (${error.kind}): ${nameOf(answered)} answered instead`,
  );

/** The end of a run when every model that it asked for a turn failed. */
function allFailed(failed: readonly FailedModel[]): RunFailure {
  const [first, second] = failed;
  if (first && !second) return providerFailure(first.model, first.error);
  const reasons = failed.map(({ model, error }) => `Model ${nameOf(model)} failed: ${reasonOf(error)}`);
  return new RunFailure("provider_error", reasons.join(". "), {
    cause: failed.map(({ error }) => error.message).join("; "),
  });
}
