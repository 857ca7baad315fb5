import type { PartialUsage, TokenUsage } from "@patchbay/engine/ports/model-provider";

/** Counts what a turn has used so far, from the wire's counts and its output. */
export function createMeter() {
  let usage: TokenUsage = { input: 0, cachedInput: 0, cacheWriteInput: 0, output: 0 };
  let uncountedBytes = 0;
  let lastTokens = 0;
  let begun = false;
  return {
    /** Adds a piece of output. An empty piece means that the model has begun to answer. */
    wrote(text: string | null | undefined): void {
      begun = true;
      uncountedBytes += Buffer.byteLength(text ?? "");
    },
    /** Replaces the counts with the wire's newest. `answerTokens`: the part of the output that `wrote` received. */
    counted(counts: TokenUsage, answerTokens = counts.output): void {
      begun = true;
      usage = counts;
      // Compatible servers send counts of 0 until the end, and some send the first count again.
      if (answerTokens > lastTokens) uncountedBytes = 0;
      lastTokens = answerTokens;
    },
    get usage() {
      return usage;
    },
    /** Undefined before the model begins to answer. */
    soFar: (): PartialUsage | undefined => (begun ? { counted: usage, uncountedBytes } : undefined),
  };
}
