import type { CallOutcome, Manifest } from "@patchbay/protocol";
import type { JsonObject } from "@patchbay/kit";
import { openStore } from "@patchbay/control-plane/admin";

/** An ended call of a run of its own, after other calls. */
export interface SeededCall {
  before?: Pick<SeededCall, "functionName" | "arguments" | "outcome">[];
  functionName: string;
  role?: string;
  context?: JsonObject;
  arguments: JsonObject;
  outcome: CallOutcome;
}

export const AGENT = "agt_1";

/** Stores runs with one ended call each in a new database; returns their ids. */
export async function seedCalls(url: string, manifest: Manifest, calls: readonly SeededCall[]): Promise<string[]> {
  const store = await openStore(url);
  try {
    await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "starter" });
    await store.accounts.createAgent({ agentId: AGENT, orgId: "org_1", name: "Clerk", instructions: "" });
    await store.runtimes.saveManifest(AGENT, "set_1", manifest);
    const runIds: string[] = [];
    for (const [i, { role, context = {}, before = [], ...last }] of calls.entries()) {
      const runId = `run_${i}`;
      const started = await store.runs.start({
        runId,
        orgId: "org_1",
        agentId: AGENT,
        keyId: "key_1",
        threadId: `thr_${i}`,
        newThread: true,
        kind: "query",
        manifestHash: "set_1",
        request: {
          charged: false,
          query: "Which orders are late?",
          context,
          ...(role !== undefined && { role }),
          analysisMode: false,
          provider: "offline",
          model: "offline",
          maxTokens: 8192,
          system: "You are a clerk.",
          warnings: [],
        },
        timeoutMs: 240_000,
        owner: "replica-a",
        leaseMs: 15_000,
        audit: [],
      });
      if (started.kind !== "started") throw new Error(`the run is ${started.kind}`);
      const ended = [...before, last].map((call, step) => {
        const callId = step < before.length ? `call_${i}_${step}` : `call_${i}`;
        return { callId, step, position: 0, modelCallId: "m1", attempt: 1, instanceId: "rt_1", ...call };
      });
      await store.runs.commit(started.run, { calls: ended });
      runIds.push(runId);
    }
    return runIds;
  } finally {
    await store.close();
  }
}
