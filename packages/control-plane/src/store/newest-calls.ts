import type { StoredCall } from "@patchbay/protocol";
import { decisionOf, ruleOf } from "../ports/refusal.ts";
import type { StoredCalls } from "../ports/stored-calls.ts";
import { fromJson, idBatches } from "./columns.ts";
import type { Engine } from "./engine.ts";
import { olderThan, pageFrom } from "./page-cursor.ts";

const ORDER = { at: "finished_at", id: "id" };

/** Reads the ended calls of an agent with the callers of their runs. */
export function newestCalls(engine: Engine): StoredCalls {
  const { reads } = engine;
  return {
    async newest(agentId, { limit, cursor }) {
      const agent = await reads.selectFrom("agents").select("org_id").where("id", "=", agentId).executeTakeFirst();
      if (!agent) return { items: [], nextCursor: null };
      const rows = await reads
        .selectFrom("calls")
        .select(["id", "run_id", "role", "function_name", "arguments", "attempts", "outcome", "finished_at"])
        .where("org_id", "=", agent.org_id)
        .where("agent_id", "=", agentId)
        .$narrowType<{ finished_at: number }>()
        .where("finished_at", "is not", null)
        .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, ORDER)))
        .orderBy("finished_at", "desc")
        .orderBy("id", "desc")
        .limit(limit + 1)
        .execute();
      const endOf = (row: (typeof rows)[number]) => ({ at: row.finished_at, id: row.id });
      const page = pageFrom(rows, { limit, floor: undefined, endOf });
      const callers = await callersOf(engine, [...new Set(page.rows.map((row) => row.run_id))]);
      const items = page.rows.flatMap(({ outcome: stored, ...row }): StoredCall[] => {
        const caller = callers.get(row.run_id);
        // The run was erased between the two reads.
        if (!caller || stored === null) return [];
        const outcome = fromJson(stored);
        const earlier = row.attempts === null ? [] : fromJson(row.attempts);
        return [
          {
            callId: row.id,
            runId: row.run_id,
            functionName: row.function_name,
            role: row.role ?? undefined,
            ...caller,
            arguments: fromJson(row.arguments),
            decision: decisionOf({ outcome, earlier }),
            rule: outcome.ok ? undefined : ruleOf(outcome),
            succeeded: outcome.ok,
            redacted: (outcome.ok && outcome.redacted) || [],
          },
        ];
      });
      return { items, nextCursor: page.nextCursor };
    },
  };
}

/** The context and the function set of each run. */
async function callersOf({ reads }: Engine, runIds: readonly string[]) {
  const callers = new Map<string, Pick<StoredCall, "context" | "manifestHash">>();
  for (const ids of idBatches(runIds)) {
    const rows = await reads
      .selectFrom("runs")
      .select(["id", "request", "manifest_hash"])
      .where("id", "in", ids)
      .execute();
    for (const { id, request, manifest_hash: hash } of rows)
      callers.set(id, { context: fromJson(request).context, manifestHash: hash ?? undefined });
  }
  return callers;
}
