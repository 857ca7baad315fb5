import { CONSOLE_ROUTES, type Found } from "@patchbay/protocol/console";
import { sql } from "kysely";
import { fromJson } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import { hasRole } from "../actors.ts";
import { approvals, calls, runsById, runsByRequest, runsByWords } from "./runs.ts";
import { contains } from "../contains.ts";
import { MOST, type Search, type Searcher } from "./search.ts";

/**
 * Everything of an organisation that the member may read and whose id or name contains this text; runs by their whole id, that of
 * their request, or their words; calls and decided approvals by their whole id.
 */
export function searchQueries(engine: Engine) {
  return {
    async find(by: Searcher, q: string): Promise<Found[]> {
      const all = await Promise.all(SEARCHES.map((search) => search(engine, by, q)));
      // A run may be found by its request and by its words.
      return [...new Map(all.flat().map((found) => [`${found.kind} ${found.agentId} ${found.id}`, found])).values()];
    },
  };
}

const agents: Search = async ({ db }, { orgId }, q) => {
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

/** Rows whose names are read, divided among the agents: a search must not read a table that grows without end. */
const ROWS_READ = 20_000;
const AGENTS_READ = 50;

/** The agents of an organisation, the newest first, and the rows to read of each. */
async function readable({ db }: Engine, orgId: string): Promise<{ agentIds: string[]; each: number }> {
  const rows = await db
    .selectFrom("agents")
    .select("id")
    .where("org_id", "=", orgId)
    .where("deleted_at", "is", null)
    .orderBy("created_at", "desc")
    .limit(AGENTS_READ)
    .execute();
  return { agentIds: rows.map(({ id }) => id), each: Math.ceil(ROWS_READ / Math.max(1, rows.length)) };
}

/** Threads by a part of the id or the title, of those that changed last; by their whole id of all. */
const threads: Search = async (engine, { orgId }, q) => {
  const { db } = engine;
  const { agentIds, each } = await readable(engine, orgId);
  const all = db.selectFrom("threads").select(["id", "agent_id", "title", "updated_at"]).where("org_id", "=", orgId);
  const newest = agentIds.map((agentId) =>
    db
      .selectFrom(
        all
          .where("agent_id", "=", agentId)
          .where("listed", "=", 1)
          .orderBy("updated_at", "desc")
          .limit(each)
          .as("newest"),
      )
      .selectAll(),
  );
  const rows = await db
    .selectFrom(newest.reduce((some, more) => some.union(more), all.where("id", "=", q)).as("read"))
    .selectAll()
    .where((eb) => eb.or([contains(eb.ref("id"), q), contains(eb.ref("title"), q)]))
    .orderBy("updated_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map(({ id, agent_id, title }) => ({ kind: "thread", id, agentId: agent_id, name: title, at: null }));
};

/** Sessions by a part of the id, which is the owner's; by their whole id of all. The key of the table begins with the agent. */
const sessions: Search = async (engine, { orgId }, q) => {
  const { db } = engine;
  const { agentIds, each } = await readable(engine, orgId);
  if (agentIds.length === 0) return [];
  const all = db.selectFrom("sessions").select(["id", "agent_id", "last_seen_at"]).where("org_id", "=", orgId);
  const read = agentIds.map((agentId) =>
    db.selectFrom(all.where("agent_id", "=", agentId).orderBy("id").limit(each).as("some")).selectAll(),
  );
  const exact = all.where("agent_id", "in", agentIds).where("id", "=", q);
  const rows = await db
    .selectFrom(read.reduce((some, more) => some.union(more), exact).as("read"))
    .selectAll()
    .where((eb) => contains(eb.ref("id"), q))
    .orderBy("last_seen_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map(({ id, agent_id }) => ({ kind: "session", id, agentId: agent_id, name: id, at: null }));
};

const keys: Search = async ({ db }, { orgId }, q) => {
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
        contains(eb.ref("credentials.hint"), q),
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

const members: Search = async ({ db }, { orgId }, q) => {
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

/** Functions of the sets that serve queries: of each service of an agent the newest one that is confirmed. */
const functions: Search = async ({ db }, { orgId }, q) => {
  const ranked = db
    .selectFrom("function_sets")
    .innerJoin("agents", "agents.id", "function_sets.agent_id")
    .select(["function_sets.agent_id", "function_sets.manifest_hash"])
    .select(
      sql<number>`row_number() over (partition by function_sets.agent_id, function_sets.service
        order by function_sets.place desc, function_sets.position desc)`.as("rank"),
    )
    .where("agents.org_id", "=", orgId)
    .where("agents.deleted_at", "is", null)
    .where("function_sets.confirmation", "!=", "pending");
  const rows = await db
    .selectFrom(ranked.as("newest"))
    .innerJoin("manifests", (join) =>
      join.onRef("manifests.agent_id", "=", "newest.agent_id").onRef("manifests.hash", "=", "newest.manifest_hash"),
    )
    .select(["newest.agent_id as id", "manifests.body"])
    .where("newest.rank", "=", 1)
    .where((eb) => contains(eb.ref("manifests.body"), q))
    .orderBy("newest.agent_id")
    .execute();
  const text = q.toLowerCase();
  return rows
    .flatMap(({ id, body }) => fromJson(body).functions.map(({ name }) => ({ agentId: id, name })))
    .filter(({ name }) => name.toLowerCase().includes(text))
    .slice(0, MOST)
    .map(({ agentId, name }) => ({ kind: "function", id: name, agentId, name, at: null }));
};

/** Runtimes by a part of their id, host, service or deployment. The store keeps those of the last days. */
const runtimes: Search = async ({ db }, { orgId }, q) => {
  const rows = await db
    .selectFrom("runtimes")
    .innerJoin("agents", "agents.id", "runtimes.agent_id")
    .select(["runtimes.instance_id", "runtimes.agent_id", "runtimes.service", "runtimes.host", "runtimes.deployment"])
    .where("agents.org_id", "=", orgId)
    .where("agents.deleted_at", "is", null)
    .where((eb) =>
      eb.or([
        contains(eb.ref("runtimes.instance_id"), q),
        contains(eb.ref("runtimes.service"), q),
        contains(eb.fn.coalesce("runtimes.host", sql.lit("")), q),
        contains(eb.fn.coalesce("runtimes.deployment", sql.lit("")), q),
      ]),
    )
    .orderBy("runtimes.last_seen_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map(({ instance_id, agent_id, service, host, deployment }) => ({
    kind: "runtime",
    id: instance_id,
    agentId: agent_id,
    name: [host ?? instance_id.slice(0, 8), service, ...(deployment === null ? [] : [deployment])].join(" · "),
    at: null,
  }));
};

/** Views of runs: the member's own, and shared ones. */
const views: Search = async ({ db }, { orgId, memberId }, q) => {
  const rows = await db
    .selectFrom("run_views")
    .innerJoin("agents", "agents.id", "run_views.agent_id")
    .select(["run_views.id", "run_views.agent_id", "run_views.name", "run_views.search"])
    .where("run_views.org_id", "=", orgId)
    .where("agents.org_id", "=", orgId)
    .where("agents.deleted_at", "is", null)
    .where((eb) => eb.or([eb("run_views.member_id", "=", memberId), eb("run_views.shared", "=", 1)]))
    .where((eb) => eb.or([eb("run_views.id", "=", q), contains(eb.ref("run_views.name"), q)]))
    .orderBy("run_views.created_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map(({ id, agent_id, name, search }) => ({
    kind: "view",
    id,
    agentId: agent_id,
    name,
    search: fromJson(search),
    at: null,
  }));
};

/** Service tokens, for members who may list them. */
const serviceTokens: Search = async ({ db }, by, q) => {
  if (!hasRole(by, CONSOLE_ROUTES["GET /service-tokens"].needs)) return [];
  const rows = await db
    .selectFrom("service_tokens")
    .select(["id", "label", "hint"])
    .where("org_id", "=", by.orgId)
    .where((eb) =>
      eb.or([eb("id", "=", q), contains(eb.fn.coalesce("label", sql.lit("")), q), contains(eb.ref("hint"), q)]),
    )
    .orderBy("created_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map(({ id, label, hint }) => ({
    kind: "serviceToken",
    id,
    agentId: null,
    name: label ?? hint,
    at: null,
  }));
};

const SEARCHES: Search[] = [
  agents,
  runsById,
  runsByRequest,
  calls,
  approvals,
  threads,
  sessions,
  views,
  keys,
  serviceTokens,
  members,
  functions,
  runtimes,
  runsByWords,
];
