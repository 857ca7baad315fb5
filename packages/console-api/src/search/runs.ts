import { isoTime } from "@patchbay/kit";
import type { ConsoleRole, Found } from "@patchbay/protocol/console";
import { sql } from "kysely";
import { REQUEST_ID } from "@patchbay/server/kernel/exchange";
import { fromJson } from "@patchbay/store/columns";
import type { Engine } from "@patchbay/store/engine";
import type { RunRow } from "@patchbay/store/tables/runs";
import { startedBy } from "@patchbay/store/runs/run-requests";
import { searchedWords } from "@patchbay/store/runs/run-words";
import { shownQuery } from "../runs/summary.ts";
import { contains } from "../lists.ts";

/** Maximum results per kind. */
export const MOST = 5;

/** The searching member. */
export interface Searcher {
  orgId: string;
  memberId: string;
  role: ConsoleRole;
}

/** Finds things in one category. */
export type Search = (engine: Engine, by: Searcher, q: string) => Promise<Found[]>;

const FOUND_RUN = ["runs.id", "runs.agent_id", "runs.request", "runs.created_at"] as const;

export const runsById: Search = async ({ db }, { orgId }, q) => {
  const rows = await db
    .selectFrom("runs")
    .select(FOUND_RUN)
    .where("runs.id", "=", q)
    .where("runs.org_id", "=", orgId)
    .execute();
  return rows.map(toRun);
};

export const runsByRequest: Search = async (engine, { orgId }, q) => {
  if (!REQUEST_ID.test(q)) return [];
  const rows = await engine.db
    .selectFrom("runs")
    .select(FOUND_RUN)
    .where("runs.id", "in", startedBy(q, { orgId }, engine))
    .where("runs.org_id", "=", orgId)
    .orderBy("runs.created_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map(toRun);
};

export const runsByWords: Search = async ({ db, dialect }, { orgId }, q) => {
  const words = searchedWords(q);
  if (words.length === 0) return [];
  const rows = await db
    .selectFrom("run_facts")
    .innerJoin("runs", "runs.id", "run_facts.run_id")
    .select(FOUND_RUN)
    .where("run_facts.org_id", "=", orgId)
    .where(dialect.hasWords(words))
    .orderBy("run_facts.id", "desc")
    .limit(MOST)
    .execute();
  return rows.map(toRun);
};

const toRun = ({
  id,
  agent_id,
  request,
  created_at,
}: Pick<RunRow, "id" | "agent_id" | "request" | "created_at">): Found => ({
  kind: "run",
  id,
  agentId: agent_id,
  name: shownQuery(fromJson(request).query),
  at: isoTime(created_at),
});

export const calls: Search = async ({ db }, { orgId }, q) => {
  const rows = await db
    .selectFrom("calls")
    .innerJoin("runs", "runs.id", "calls.run_id")
    .select(["calls.id", "calls.run_id as runId", "runs.agent_id as agentId", "calls.function_name as name"])
    .select("calls.created_at")
    .where("calls.id", "=", q)
    .where("runs.org_id", "=", orgId)
    .execute();
  return rows.map(({ created_at, ...row }) => ({ kind: "call", at: isoTime(created_at), ...row }));
};

/** Approvals by their whole id; waiting ones also by a part of the function's name. */
export const approvals: Search = async ({ db }, { orgId }, q) => {
  const all = db
    .selectFrom("approvals")
    .select(["id", "agent_id as agentId", "run_id as runId", "function_name as name", "requested_at"])
    .where("org_id", "=", orgId);
  // Condition and order match the index on waiting approvals: decided ones are far more.
  const waiting = all
    .where(sql<boolean>`status = 'pending'`)
    .where((eb) => contains(eb.ref("function_name"), q))
    .orderBy("agent_id", "desc")
    .orderBy("requested_at", "desc")
    .limit(MOST);
  const rows = [...(await all.where("id", "=", q).execute()), ...(await waiting.execute())];
  return rows.map(({ requested_at, ...row }) => ({ kind: "approval", at: isoTime(requested_at), ...row }));
};
