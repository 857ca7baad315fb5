import { present } from "@patchbay/kit";
import { isDeepStrictEqual } from "node:util";
import type { Manifest } from "@patchbay/protocol";
import type { ModelMessage, ModelParameters, SentTurn } from "@patchbay/protocol/console";
import type { ChosenModel, ModelCatalog } from "@patchbay/engine/ports/model-provider";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { historyScope, promptParts, type SentRequest, sentRequests } from "@patchbay/engine/run/api";
import { recallRun } from "@patchbay/engine/run/start/retry";
import { type ConsoleDeps, notFound } from "../handler.ts";
import type { RunParts } from "./queries.ts";
import { awaitsTurn } from "./trace.ts";

/** A turn's model request. Throws `not_found` for a turn without one. */
export async function sentTurn(
  parts: RunParts,
  turn: string,
  manifest: Manifest | undefined,
  { models, queries, store }: Pick<ConsoleDeps, "queries" | "store"> & { models: ModelCatalog },
): Promise<SentTurn> {
  const { result: _, ...run } = parts.run;
  const { turns, calls, resumedAt } = await recalled(parts, store.runs);
  const requested = turns.length + (run.startedAt !== undefined && awaitsTurn(parts) ? 1 : 0);
  const step = /^\d{1,4}$/.test(turn) ? Number(turn) : requested;
  if (step >= requested || run.request.testCall) throw notFound("model request");
  if (!manifest)
    throw new ServiceError(
      "not_found",
      "The model request cannot be shown: the functions of the run are no longer stored.",
    );
  const { runId } = run;
  const sent = await sentRequests({ ...parts, run, turns, calls, resumedAt }, step, {
    manifest,
    choose: (wanted) => chosen(models, { ...wanted, orgId: run.orgId }),
    history: (maxBytes) => queries.runs.history({ before: runId, ...historyScope(run), maxBytes }),
  });
  const [last, before, usage] = [sent.at(-1)!, sent.at(-2), turns[step]?.usage];
  const { system, functions, messages, earlierMessages = 0 } = last.request;
  return {
    step,
    system,
    functions: functions.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    messages: [...messages],
    earlierMessages,
    parameters: parametersOf(last),
    tokens: { ...promptParts(last.request), input: usage?.input ?? null, cachedInput: usage?.cachedInput ?? null },
    difference: before ? differenceOf(last, before) : null,
    historyDeleted: last.historyDeleted,
  };
}

/** A run's turns by number: a retry starts with the turns from the runs that it continues, like a resumed run. */
async function recalled(parts: RunParts, runs: ConsoleDeps["store"]["runs"]) {
  const { run, turns, calls, resumedAt } = parts;
  if (!run.request.retryOf || run.startedAt === undefined) return parts;
  const all = await recallRun(run, runs);
  const before = all.turns.slice(0, all.turns.length - turns.length).map((turn) => ({ ...turn, endedAt: 0 }));
  return {
    turns: [...before, ...turns],
    calls: [...all.calls.slice(0, all.continuedCalls), ...calls],
    resumedAt: [run.startedAt, ...resumedAt],
  };
}

/** A finished turn needs only its model's name and window, which the catalog has only for configured providers. */
function chosen(models: ModelCatalog, wanted: { provider: string; model: string; orgId: string }): ChosenModel {
  const model = models.choose(wanted);
  if (!("missing" in model)) return model;
  const stream = () => {
    throw new Error("a stored turn is not requested again");
  };
  return { provider: { name: wanted.provider, stream }, model: wanted.model, cost: () => 0 };
}

function parametersOf({ request, provider }: SentRequest): ModelParameters {
  const { model, maxTokens, temperature = null, reasoning, toolChoice, respond, cacheKey } = request;
  const more = { ...present({ reasoning }), answerFunction: respond?.name ?? null };
  return { provider, model, maxTokens, temperature, toolChoice, cacheKey, ...more };
}

function differenceOf(sent: SentRequest, before: SentRequest): NonNullable<SentTurn["difference"]> {
  const [now, then] = [sent, before].map(({ request }) => request.messages.map((message) => JSON.stringify(message)));
  const former = parametersOf(before);
  const changed = Object.entries(parametersOf(sent)).filter(
    ([name, value]) => !isDeepStrictEqual(value, former[name as keyof ModelParameters]),
  );
  return {
    added: missingFrom(then!, now!),
    removed: missingFrom(now!, then!).map((at): ModelMessage => before.request.messages[at]!),
    parameters: Object.fromEntries(changed.map(([name]) => [name, former[name as keyof ModelParameters]])),
  };
}

/** Positions of the texts that `others` lacks, or has less often. */
function missingFrom(others: readonly string[], texts: readonly string[]): number[] {
  const left = Map.groupBy(others, (text) => text);
  return texts.flatMap((text, at) => (left.get(text)?.pop() === undefined ? [at] : []));
}
