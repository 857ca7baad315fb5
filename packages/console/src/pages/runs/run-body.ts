import type { RunTrace } from "@patchbay/protocol/console";

const PROVIDERS: readonly string[] = ["anthropic", "openai", "gemini"];

/** What would ask the same again, in a thread of its own. Models that a caller cannot name are left to the service. */
export function bodyOf(run: RunTrace): Record<string, unknown> & { query: string } {
  const { maxTokens, temperature } = run.spans.find(({ kind }) => kind === "query")?.attributes ?? {};
  return {
    query: run.fullQuery,
    ...(run.role !== null && { role: run.role }),
    ...(run.sessionId !== null && { sessionId: run.sessionId }),
    ...(Object.keys(run.context).length > 0 && { contextJson: JSON.stringify(run.context) }),
    ...(run.analysisMode && { analysisMode: true }),
    ...(PROVIDERS.includes(run.provider) && {
      llmConfig: {
        provider: run.provider,
        model: run.model,
        ...(maxTokens !== undefined && { maxTokens }),
        ...(temperature !== undefined && { temperature }),
      },
    }),
  };
}
