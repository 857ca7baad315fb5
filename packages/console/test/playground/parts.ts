import type { RunSummary } from "@patchbay/protocol/console";

const AT = "2026-01-01T00:00:00.000Z";

export function runSummary(given: Partial<RunSummary>): RunSummary {
  return {
    runId: "run_1",
    agentId: "agt_1",
    threadId: "thr_1",
    sessionId: null,
    source: "playground",
    keyId: "mem_1",
    status: "succeeded",
    waitsFor: [],
    code: null,
    role: null,
    query: "",
    provider: "offline",
    model: "offline",
    createdAt: AT,
    startedAt: AT,
    finishedAt: AT,
    durationMs: 1,
    calls: 0,
    failedCalls: 0,
    deniedCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
    ...given,
  };
}
