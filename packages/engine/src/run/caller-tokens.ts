import type { CallerToken } from "../ports/callers.ts";
import type { Clock } from "../ports/clock.ts";

/**
 * The tokens of callers of this process's runs, in memory only: a process that takes over a run does not have its
 * token.
 */
export function createCallerTokens({ now }: Pick<Clock, "now">) {
  const tokens = new Map<string, CallerToken>();
  return {
    keep(runId: string, token: CallerToken): void {
      // Tokens of runs that ended elsewhere while they waited.
      for (const [other, { expiresAt }] of tokens) if (expiresAt <= now()) tokens.delete(other);
      tokens.set(runId, token);
    },
    /** Undefined for an expired token. */
    of(runId: string): string | undefined {
      const token = tokens.get(runId);
      return token && token.expiresAt > now() ? token.value : undefined;
    },
    forget: (runId: string): void => void tokens.delete(runId),
  };
}
export type CallerTokens = ReturnType<typeof createCallerTokens>;
