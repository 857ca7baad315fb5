import type { Found } from "@patchbay/protocol/console";
import { type Expression, sql, type SqlBool } from "kysely";
import { fromJson, isoTime } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import type { RunRow } from "../../store/run-record.ts";
import { searchedWords } from "../../store/run-words.ts";
import { likeLiteral } from "../runs/filter.ts";
import { shownQuery } from "../runs/summary.ts";

/** Of each kind. */
const MOST = 5;

type Search = (engine: Engine, orgId: string, q: string) => Promise<Found[]>;

/** Everything of an organisation that has this id, or whose name contains this text; runs also by their words. */
export function searchQueries(engine: Engine) {
  return {
    async find(orgId: string, q: string): Promise<Found[]> {
      const all = await Promise.all(SEARCHES.map((search) => search(engine, orgId, q)));
      return all.flat();
    },
  };
}

const agents: Search = async ({ db }, orgId, q) => {
  const rows = await db
    .selectFrom("agents")
    .select(["id", "name"])
    .where("org_id", "=", orgId)
    .where("deleted_at", "is", null)
    .where((eb) => eb.or([eb("id", "=", q), contains(eb.ref("name"), q)]))
    .orderBy("name")
    .limit(MOST)
    .execute();
  return rows.map(({ id, name }) => ({ kind: "agent", id, agentId: id, name, at: null }));
};

const FOUND_RUN = ["runs.id", "runs.agent_id", "runs.request", "runs.created_at"] as const;

const runsById: Search = async ({ db }, orgId, q) => {
  const rows = await db
    .selectFrom("runs")
    .select(FOUND_RUN)
    .where("runs.id", "=", q)
    .where("runs.org_id", "=", orgId)
    .execute();
  return rows.map(toRun);
};

const runsByWords: Search = async ({ db, dialect }, orgId, q) => {
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

const threads: Search = async ({ db }, orgId, q) => {
  const rows = await db
    .selectFrom("threads")
    .select(["id", "agent_id", "title"])
    .where("id", "=", q)
    .where("org_id", "=", orgId)
    .execute();
  return rows.map(({ id, agent_id, title }) => ({ kind: "thread", id, agentId: agent_id, name: title, at: null }));
};

/** The key of a session begins with the agent, of which an organisation has few. */
const sessions: Search = async ({ db }, orgId, q) => {
  const rows = await db
    .selectFrom("sessions")
    .innerJoin("agents", "agents.id", "sessions.agent_id")
    .select(["sessions.id", "sessions.agent_id"])
    .where("agents.org_id", "=", orgId)
    .where("sessions.org_id", "=", orgId)
    .where("sessions.id", "=", q)
    .limit(MOST)
    .execute();
  return rows.map(({ id, agent_id }) => ({ kind: "session", id, agentId: agent_id, name: id, at: null }));
};

const keys: Search = async ({ db }, orgId, q) => {
  const rows = await db
    .selectFrom("credentials")
    .innerJoin("agents", "agents.id", "credentials.agent_id")
    .select(["credentials.id", "credentials.agent_id", "credentials.label", "credentials.hint", "credentials.kind"])
    .where("credentials.org_id", "=", orgId)
    .where("agents.deleted_at", "is", null)
    .where((eb) =>
      eb.or([
        eb("credentials.id", "=", q),
        contains(eb.fn.coalesce("credentials.label", sql.lit("")), q),
        eb("credentials.hint", "=", q),
      ]),
    )
    .orderBy("credentials.created_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map(({ id, agent_id, label, hint, kind }) => ({
    kind: "key",
    id,
    agentId: agent_id,
    name: label ?? hint,
    keyKind: kind,
    at: null,
  }));
};

const members: Search = async ({ db }, orgId, q) => {
  const rows = await db
    .selectFrom("members")
    .select(["id", "name", "email"])
    .where("org_id", "=", orgId)
    .where("removed_at", "is", null)
    .where((eb) =>
      eb.or([eb("id", "=", q), contains(eb.ref("name"), q), contains(eb.fn.coalesce("email", sql.lit("")), q)]),
    )
    .limit(MOST)
    .execute();
  return rows.map(({ id, name, email }) => ({
    kind: "member",
    id,
    agentId: null,
    name: name || (email ?? id),
    at: null,
  }));
};

/** Functions of the newest set of each agent. */
const functions: Search = async ({ db }, orgId, q) => {
  const rows = await db
    .selectFrom("agents")
    .innerJoin("function_sets", (join) =>
      join
        .onRef("function_sets.agent_id", "=", "agents.id")
        .onRef("function_sets.position", "=", "agents.last_set_position"),
    )
    .innerJoin("manifests", (join) =>
      join.onRef("manifests.agent_id", "=", "agents.id").onRef("manifests.hash", "=", "function_sets.manifest_hash"),
    )
    .select(["agents.id", "manifests.body"])
    .where("agents.org_id", "=", orgId)
    .where("agents.deleted_at", "is", null)
    .where((eb) => contains(eb.ref("manifests.body"), q))
    .execute();
  const text = q.toLowerCase();
  return rows
    .flatMap(({ id, body }) => fromJson(body).functions.map(({ name }) => ({ agentId: id, name })))
    .filter(({ name }) => name.toLowerCase().includes(text))
    .slice(0, MOST)
    .map(({ agentId, name }) => ({ kind: "function", id: name, agentId, name, at: null }));
};

const runtimes: Search = async ({ db }, orgId, q) => {
  const rows = await db
    .selectFrom("runtimes")
    .innerJoin("agents", "agents.id", "runtimes.agent_id")
    .select(["runtimes.instance_id", "runtimes.agent_id", "runtimes.service"])
    .where("agents.org_id", "=", orgId)
    .where("runtimes.instance_id", "=", q)
    .limit(MOST)
    .execute();
  return rows.map(({ instance_id, agent_id, service }) => ({
    kind: "runtime",
    id: instance_id,
    agentId: agent_id,
    name: service,
    at: null,
  }));
};

const SEARCHES: Search[] = [agents, runsById, threads, sessions, keys, members, functions, runtimes, runsByWords];

const contains = (column: Expression<string>, q: string) =>
  sql<SqlBool>`lower(${column}) like lower(cast(${`%${likeLiteral(q)}%`} as text)) escape '\\'`;
