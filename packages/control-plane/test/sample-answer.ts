import type { RunEvent } from "@patchbay/protocol";

export const USAGE = { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0, cacheWriteInputTokens: 0, costUsd: 0 };

type Answer = Omit<Extract<RunEvent, { type: "finalResponse" }>, "type">;

/** The members that answers and `finalResponse` events share. */
export const sampleAnswer = (members: Partial<Answer> = {}): Answer => ({
  response: "Two.",
  threadId: "thr_1",
  runId: "run_1",
  executionTimeMs: 1,
  toolInteractions: [],
  usage: USAGE,
  ...members,
});
