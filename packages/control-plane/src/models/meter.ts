import type { PartialUsage, TokenUsage } from "../ports/model-provider.ts";

/** What a turn has used so far, out of what its wire counts and writes. */
export function createMeter() {
  let usage: TokenUsage = { input: 0, cachedInput: 0, cacheWriteInput: 0, output: 0 };
  let uncountedBytes = 0;
  let lastTokens = 0;
  let begun = false;
  return {
    /** Takes a piece of output. An empty one says that the model has begun to answer. */
    wrote(text: string | null | undefined): void {
      begun = true;
      uncountedBytes += Buffer.byteLength(text ?? "");
    },
    /** Takes the wire's counts, which replace earlier ones. `answerTokens`: those of the output that `wrote` was given. */
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
    /** Undefined before the model began to answer. */
    soFar: (): PartialUsage | undefined => (begun ? { counted: usage, uncountedBytes } : undefined),
  };
}
