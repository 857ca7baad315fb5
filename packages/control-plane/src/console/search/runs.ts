import type { Found } from "@patchbay/protocol/console";
import { sql } from "kysely";
import { REQUEST_ID } from "../../http/kernel/exchange.ts";
import { fromJson, isoTime } from "../../store/columns.ts";
import type { RunRow } from "../../store/run-record.ts";
import { startedBy } from "../../store/run-requests.ts";
import { searchedWords } from "../../store/run-words.ts";
import { shownQuery } from "../runs/summary.ts";
import { contains } from "../contains.ts";
import { MOST, type Search } from "./search.ts";

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
    .select(["calls.id", "calls.run_id", "runs.agent_id", "calls.function_name", "calls.created_at"])
    .where("calls.id", "=", q)
    .where("runs.org_id", "=", orgId)
    .execute();
  return rows.map(({ id, run_id, agent_id, function_name, created_at }) => ({
    kind: "call",
    id,
    agentId: agent_id,
    name: function_name,
    runId: run_id,
    at: isoTime(created_at),
  }));
};

/** Approvals by their whole id; those that wait also by a part of the function's name. */
export const approvals: Search = async ({ db }, { orgId }, q) => {
  const all = db
    .selectFrom("approvals")
    .select(["id", "agent_id", "run_id", "function_name", "requested_at"])
    .where("org_id", "=", orgId);
  // Condition and order are those of the index of waiting approvals: the decided ones are many more.
  const waiting = all
    .where(sql<boolean>`status = 'pending'`)
    .where((eb) => contains(eb.ref("function_name"), q))
    .orderBy("agent_id", "desc")
    .orderBy("requested_at", "desc")
    .limit(MOST);
  const rows = [...(await all.where("id", "=", q).execute()), ...(await waiting.execute())];
  return rows.map(({ id, agent_id, run_id, function_name, requested_at }) => ({
    kind: "approval",
    id,
    agentId: agent_id,
    name: function_name,
    runId: run_id,
    at: isoTime(requested_at),
  }));
};
