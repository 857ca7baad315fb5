import { present } from "@patchbay/kit";
import { decisionOf, ruleOf } from "@patchbay/engine/ports/refusal";
import type { ListedCall, StoredCalls } from "@patchbay/engine/ports/store/call-store";
import { fromJson, inBatches } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { newestPage, toCursor } from "../page-cursor.ts";
import type { CallRow } from "../tables/calls.ts";
import { is } from "../statement.ts";

const COLUMNS = ["id", "run_id", "role", "function_name", "arguments", "attempts", "outcome", "finished_at"] as const;

type Row = Pick<CallRow, (typeof COLUMNS)[number]> & { finished_at: number };

/** Reads an agent's ended calls with the caller of each run. */
export function newestCalls(engine: Engine): StoredCalls {
  return {
    async newest(agentId, asked) {
      const { reads } = engine;
      const agent = await reads.selectFrom("agents").select("org_id").where("id", "=", agentId).executeTakeFirst();
      if (!agent) return { items: [], nextCursor: null };
      const ended = endedCalls(engine, { agentId, orgId: agent.org_id });
      const { since } = asked;
      const query = since === undefined ? ended : ended.where("finished_at", ">=", since);
      const page = await newestPage(query, asked, { at: "finished_at", id: "id" });
      return { ...page, items: await withCallers(engine, page.items) };
    },
  };
}

/** An agent's ended calls, with the columns that `withCallers` reads. */
export const endedCalls = ({ reads }: Engine, { agentId, orgId }: { agentId: string; orgId: string }) =>
  reads
    .selectFrom("calls")
    .select(COLUMNS)
    .where(is({ org_id: orgId, agent_id: agentId }))
    .where("finished_at", "is not", null)
    .$narrowType<{ finished_at: number }>();

export async function withCallers(engine: Engine, rows: readonly Row[]) {
  const callers = await callersOf(engine, [...new Set(rows.map((row) => row.run_id))]);
  return rows.flatMap(({ outcome: stored, finished_at: finishedAt, ...row }): ListedCall[] => {
    const caller = callers.get(row.run_id);
    // The run was erased between the two reads.
    if (!caller || stored === null) return [];
    const outcome = fromJson(stored);
    const earlier = row.attempts === null ? [] : fromJson(row.attempts);
    return [
      {
        finishedAt,
        cursor: toCursor({ at: finishedAt, id: row.id }),
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
}

/** Each run's context and function set. */
async function callersOf({ reads }: Engine, runIds: readonly string[]) {
  const runs = reads.selectFrom("runs").select(["id", "request", "manifest_hash as hash"]);
  const rows = await inBatches(runIds, (ids) => runs.where("id", "in", ids).execute());
  return new Map(
    rows.map(({ id, request, hash }) => {
      const { context, caller, roleByDefault } = fromJson(request);
      return [id, { context, manifestHash: hash ?? undefined, ...present({ caller, roleByDefault }) }];
    }),
  );
}
