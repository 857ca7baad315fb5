import { ModelError, type ChosenModel, type ModelCatalog, type ModelErrorKind } from "../ports/model-provider.ts";
import type { RunRecord, TurnRecord } from "../ports/records.ts";
import { providerFailure, reasonOf } from "./model-turn.ts";
import { RunFailure } from "./run-failure.ts";
import type { RunState } from "./state.ts";
import { trialModel } from "./trial.ts";

/** A model that gave no turn, and its last error. */
export interface FailedModel {
  model: ChosenModel;
  error: ModelError;
}

/**
 * The model that a run asks next, and those that it tries in this order when that one fails. A run that was resumed stays with
 * the model that its last turn came from. Throws `RunFailure` `provider_not_configured`.
 */
export function modelsOf(
  { request }: Pick<RunRecord, "request">,
  turns: readonly Pick<TurnRecord, "provider" | "model">[],
  catalog: ModelCatalog,
): Pick<RunState, "model" | "fallback"> {
  if (request.trial) return { model: trialModel(request.trial), fallback: [] };
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
  // The list was checked when the run was accepted, perhaps by a replica with other keys.
  return { model, fallback: fallback.flatMap((one) => ("missing" in one ? [] : [one])) };
}

/**
 * Whether another model may answer what this one failed at: its provider, the account there or the connection is at fault. A
 * model that wrote calls which cannot be read did answer, and what is too long for one is too long for its likes.
 */
const ANOTHER_MAY_ANSWER: Record<ModelErrorKind, boolean> = {
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

/** Blocks that only their issuer can read. Every other model is asked without them. */
const OWN_BLOCKS = /signature|encrypted content/i;

/** Replaces the model of a run that failed by the next one of its list; false where that cannot help, or the list is used up. */
export function fallBack(state: RunState, { kind, message }: ModelError): boolean {
  const mayHelp = ANOTHER_MAY_ANSWER[kind] || (kind === "bad_request" && OWN_BLOCKS.test(message));
  const next = mayHelp ? state.fallback.shift() : undefined;
  if (!next) return false;
  state.model = next;
  // What was too long for one model may fit into the window of another.
  state.mostTokens = Infinity;
  return true;
}

const nameOf = ({ provider, model }: ChosenModel): string => `${provider.name}/${model}`;

/** One entry of an answer's `warnings` for each model that failed before this one answered. */
export const fallbackWarnings = (failed: readonly FailedModel[], answered: ChosenModel): string[] =>
  failed.map(
    ({ model, error }) => `Model ${nameOf(model)} failed (${error.kind}): ${nameOf(answered)} answered instead`,
  );

/** What a run ends with when none of the models that it asked for a turn gave one. */
export function allFailed(failed: readonly FailedModel[]): RunFailure {
  const [first, second] = failed;
  if (first && !second) return providerFailure(first.model, first.error);
  const reasons = failed.map(({ model, error }) => `Model ${nameOf(model)} failed: ${reasonOf(error)}`);
  return new RunFailure("provider_error", reasons.join(". "), {
    cause: failed.map(({ error }) => error.message).join("; "),
  });
}
