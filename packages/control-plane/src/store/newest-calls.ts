import type { StoredCall } from "@patchbay/protocol";
import type { SelectQueryBuilder } from "kysely";
import { decisionOf, ruleOf } from "../ports/refusal.ts";
import type { StoredCalls } from "../ports/stored-calls.ts";
import { fromJson, idBatches } from "./columns.ts";
import type { Engine } from "./engine.ts";
import { olderThan, type PageEnd, pageFrom } from "./page-cursor.ts";
import type { CallRow } from "./run-record.ts";
import type { Schema } from "./schema.ts";

const ORDER = { at: "finished_at", id: "id" };
const COLUMNS = ["id", "run_id", "role", "function_name", "arguments", "attempts", "outcome", "finished_at"] as const;

type Row = Pick<CallRow, (typeof COLUMNS)[number]>;

/** Reads the ended calls of an agent with the callers of their runs. */
export function newestCalls(engine: Engine): StoredCalls {
  return {
    async newest(agentId, { limit, cursor }) {
      const { reads } = engine;
      const agent = await reads.selectFrom("agents").select("org_id").where("id", "=", agentId).executeTakeFirst();
      if (!agent) return { items: [], nextCursor: null };
      const rows = await endedRows(engine, (query) =>
        query
          .where("org_id", "=", agent.org_id)
          .where("agent_id", "=", agentId)
          .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, ORDER)))
          .orderBy("finished_at", "desc")
          .orderBy("id", "desc")
          .limit(limit + 1),
      );
      const page = pageFrom(rows, { limit, floor: undefined, endOf });
      return { items: await withCallers(engine, page.rows), nextCursor: page.nextCursor };
    },
  };
}

type Select = SelectQueryBuilder<Schema, "calls", Row>;

const endedRows = ({ reads }: Engine, select: (query: Select) => Select): Promise<Row[]> =>
  select(reads.selectFrom("calls").select(COLUMNS).where("finished_at", "is not", null)).execute();

const endOf = (row: Row): PageEnd => ({ at: row.finished_at!, id: row.id });

/** The calls of a selection, and their places in the order of the ended calls. */
export async function readCalls(
  engine: Engine,
  select: (query: Select) => Select,
): Promise<{ calls: StoredCall[]; ends: PageEnd[] }> {
  const rows = await endedRows(engine, select);
  return { calls: await withCallers(engine, rows), ends: rows.map(endOf) };
}

async function withCallers(engine: Engine, rows: readonly Row[]): Promise<StoredCall[]> {
  const callers = await callersOf(engine, [...new Set(rows.map((row) => row.run_id))]);
  return rows.flatMap(({ outcome: stored, ...row }): StoredCall[] => {
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
