import type { Attributes } from "@opentelemetry/api";
import { FUNCTION_NAME, GEN_AI, OPERATIONS, PATCHBAY } from "@patchbay/protocol";
import { PROVIDERS } from "@patchbay/protocol/providers";
import type { ChosenModel, ModelRequest, ModelTurn } from "../ports/model-provider.ts";
import type { CallRecord } from "../ports/records.ts";
import { contentOf } from "./content.ts";

/** Provider names in the semantic conventions. */
const NAMES = new Map(Object.entries(PROVIDERS).map(([name, { otel }]) => [name, otel]));

/** The model writes the function name, and may write anything. */
export const toolSpan = ({ functionName }: CallRecord): string =>
  FUNCTION_NAME.test(functionName) ? `${OPERATIONS.tool} ${functionName}` : OPERATIONS.tool;

export function attemptAttributes(
  { provider, model }: ChosenModel,
  { maxTokens, temperature }: ModelRequest,
): Attributes {
  return {
    [GEN_AI.operation]: OPERATIONS.chat,
    [GEN_AI.provider]: NAMES.get(provider.family ?? provider.name) ?? provider.name,
    [GEN_AI.requestModel]: model,
    [GEN_AI.maxTokens]: maxTokens,
    ...given({ [GEN_AI.temperature]: temperature }),
  };
}

export function turnAttributes({ model, stop, usage }: ModelTurn): Attributes {
  return {
    [GEN_AI.responseModel]: model,
    [GEN_AI.finishReasons]: [stop],
    [GEN_AI.inputTokens]: usage.input,
    [GEN_AI.outputTokens]: usage.output,
    [GEN_AI.cacheReadTokens]: usage.cachedInput,
    ...given({ [GEN_AI.cacheWriteTokens]: usage.cacheWriteInput }),
  };
}

export function callAttributes({ functionName, callId, modelCallId }: CallRecord): Attributes {
  return {
    [GEN_AI.operation]: OPERATIONS.tool,
    [GEN_AI.toolType]: "function",
    [GEN_AI.toolCallId]: modelCallId,
    [PATCHBAY.callId]: callId,
    ...(FUNCTION_NAME.test(functionName) && { [GEN_AI.toolName]: functionName }),
  };
}

/** The call's current state: its outcome, or that it waits for an approval. */
export function outcomeAttributes({ attempt, approval, outcome, ...call }: CallRecord, content: boolean): Attributes {
  const { status, requestedAt, decidedAt } = approval ?? {};
  const waitedMs = decidedAt === undefined ? undefined : Math.max(0, decidedAt - (requestedAt ?? decidedAt));
  return given({
    [PATCHBAY.attempt]: attempt,
    [PATCHBAY.approval]: status,
    [PATCHBAY.approvalWaitedMs]: waitedMs,
    [PATCHBAY.rule]: outcome?.ok === false ? outcome.rule : undefined,
    [GEN_AI.toolArguments]: content ? contentOf(call.arguments) : undefined,
    [GEN_AI.toolResult]: content && outcome?.ok ? contentOf(outcome.value) : undefined,
  });
}

/** Drops attributes without a value. */
export const given = (attributes: Record<string, string | number | undefined>): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
