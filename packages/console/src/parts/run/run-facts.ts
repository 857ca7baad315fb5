import type { RunSource, RunSummary, RunTrace, Span } from "@patchbay/protocol/console";

/** Labels for a query's source. */
export const SOURCE_LABELS: Record<RunSource, string> = {
  api: "API",
  local: "Local API",
  direct_call: "Direct call",
  playground: "Playground",
  test_call: "Test call",
};

/** True for runs without a model. */
export const isCall = (source: RunSource): boolean => source === "test_call" || source === "direct_call";

/** A run that was refused before its model was chosen has only the parts that its query named. */
export const modelName = ({ provider, model }: Pick<RunSummary, "provider" | "model">): string =>
  [provider, model].filter((part) => part !== "").join(" / ") || "no model";

/** A run's state in one word. A run without a model succeeds with any call outcome, which is then its state. */
export function stateOf(run: Pick<RunSummary, "source" | "status" | "failedCalls" | "deniedCalls">): string {
  const { source, status, failedCalls, deniedCalls } = run;
  if (status !== "succeeded" || !isCall(source)) return status;
  return deniedCalls > 0 ? "call denied" : failedCalls > 0 ? "call failed" : status;
}

export const isActive = (status: RunTrace["status"]): boolean => status === "queued" || status === "running";

/** Whether a run can be cancelled. A run that waits is open, but neither works nor counts its time. */
export const isOpen = (status: RunTrace["status"]): boolean => isActive(status) || status === "waiting";

/** What a run waits for in words, if it waits for functions. */
export const waitOf = ({ waitsFor }: Pick<RunSummary, "waitsFor">): string | null =>
  waitsFor.length === 0 ? null : `waiting for ${waitsFor.map(({ functionName }) => functionName).join(", ")}`;

/** Whether the trace has only a part of a payload. */
export function isTruncated(
  { attributes: { truncated } }: Pick<Span, "attributes">,
  side: "input" | "output",
): boolean {
  return Array.isArray(truncated) && truncated.includes(side);
}

/** A call's arguments; undefined if the trace has only a part. */
export function wholeInput(call: Span): Record<string, unknown> | undefined {
  const { input } = call;
  return isTruncated(call, "input") || typeof input !== "object" || input === null
    ? undefined
    : (input as Record<string, unknown>);
}
