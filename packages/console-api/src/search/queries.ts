import { CONSOLE_ROUTES, type Found } from "@patchbay/protocol/console";
import { sql, type SqlBool } from "kysely";
import { fromJson, manifestIn } from "@patchbay/store/columns";
import type { Engine } from "@patchbay/store/engine";
import { hasRole } from "../actors.ts";
import { approvals, calls, MOST, runsById, runsByRequest, runsByWords, type Search, type Searcher } from "./runs.ts";
import { completeness, contains } from "../lists.ts";

/**
 * Everything in the organisation that the member may read and whose id or name contains this text; runs by their whole
 * id, their request's whole id, or their words; calls and decided approvals by their whole id.
 */
export async function find(engine: Engine, by: Searcher, q: string): Promise<{ found: Found[]; indexedTo?: string }> {
  const all = await Promise.all(SEARCHES.map((search) => search(engine, by, q)));
  // A run may be found both by its request and by its words.
  const found = new Map(all.flat().map((item) => [`${item.kind} ${item.agentId} ${item.id}`, item]));
  return { found: [...found.values()], ...(await completeness(engine, by.orgId)) };
}

/** Agents that are not deleted. */
const liveAgents = ({ db }: Engine, orgId: string) =>
  db.selectFrom("agents").where("agents.org_id", "=", orgId).where("agents.deleted_at", "is", null);

/** True if this is the id, or one of these columns contains the text, ignoring case. */
const matches = (q: string, id: string, ...columns: string[]) =>
  sql<SqlBool>`(${sql.join([sql`${sql.ref(id)} = ${q}`, ...columns.map((name) => contains(sql.ref(name), q))], sql` or `)})`;

const agents: Search = async (engine, { orgId }, q) => {
  const rows = await liveAgents(engine, orgId)
    .select(["id", "id as agentId", "name"])
    .where(matches(q, "id", "name"))
    .orderBy("name")
    .limit(MOST)
    .execute();
  return rows.map((row) => ({ kind: "agent", at: null, ...row }));
};

/** Rows whose names are read, divided among the agents: a search must not read a table that grows without limit. */
const ROWS_READ = 20_000;
const AGENTS_READ = 50;

/** An organisation's agents, newest first, and the rows to read for each. */
async function readable(engine: Engine, orgId: string): Promise<{ agentIds: string[]; each: number }> {
  const rows = await liveAgents(engine, orgId).select("id").orderBy("created_at", "desc").limit(AGENTS_READ).execute();
  return { agentIds: rows.map(({ id }) => id), each: Math.ceil(ROWS_READ / Math.max(1, rows.length)) };
}

/** Recently changed threads by a part of the id or the title; all threads by their whole id. */
const threads: Search = async (engine, { orgId }, q) => {
  const { db } = engine;
  const { agentIds, each } = await readable(engine, orgId);
  const all = db
    .selectFrom("threads")
    .select(["id", "agent_id as agentId", "title as name", "updated_at"])
    .where("org_id", "=", orgId);
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
    .select(["id", "agentId", "name"])
    .where(matches(q, "id", "id", "name"))
    .orderBy("updated_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map((row) => ({ kind: "thread", at: null, ...row }));
};

/**
 * Recent sessions by a part of the owner's id; all sessions by their whole id. The table's key starts with the agent.
 */
const sessions: Search = async (engine, { orgId }, q) => {
  const { db } = engine;
  const { agentIds, each } = await readable(engine, orgId);
  if (agentIds.length === 0) return [];
  const all = db
    .selectFrom("sessions")
    .select(["id", "id as name", "agent_id as agentId", "last_seen_at"])
    .where("org_id", "=", orgId);
  const read = agentIds.map((agentId) =>
    db.selectFrom(all.where("agent_id", "=", agentId).orderBy("id").limit(each).as("some")).selectAll(),
  );
  const exact = all.where("agent_id", "in", agentIds).where("id", "=", q);
  const rows = await db
    .selectFrom(read.reduce((some, more) => some.union(more), exact).as("read"))
    .select(["id", "name", "agentId"])
    .where((eb) => contains(eb.ref("id"), q))
    .orderBy("last_seen_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map((row) => ({ kind: "session", at: null, ...row }));
};

const keys: Search = async (engine, { orgId }, q) => {
  const rows = await liveAgents(engine, orgId)
    .innerJoin("credentials as keys", "keys.agent_id", "agents.id")
    .select(["keys.id", "keys.agent_id as agentId", "keys.label", "keys.hint", "keys.kind as keyKind"])
    .where("keys.org_id", "=", orgId)
    .where(matches(q, "keys.id", "keys.label", "keys.hint"))
    .orderBy("keys.created_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map(({ label, hint, ...row }) => ({ kind: "key", name: label ?? hint, at: null, ...row }));
};

const members: Search = async ({ db }, { orgId }, q) => {
  const rows = await db
    .selectFrom("members")
    .select(["id", "name", "email"])
    .where("org_id", "=", orgId)
    .where("removed_at", "is", null)
    .where(matches(q, "id", "name", "email"))
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

/** Functions that serve queries: those in the newest confirmed set of each service. */
const functions: Search = async (engine, { orgId }, q) => {
  const ranked = liveAgents(engine, orgId)
    .innerJoin("function_sets", "function_sets.agent_id", "agents.id")
    .select(["function_sets.agent_id", "function_sets.manifest_hash"])
    .select(
      sql<number>`row_number() over (partition by function_sets.agent_id, function_sets.service
        order by function_sets.place desc, function_sets.position desc)`.as("rank"),
    )
    .where("function_sets.confirmation", "!=", "pending");
  const rows = await engine.db
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
  const found: Found[] = [];
  for (const { id: agentId, body } of rows) {
    if (found.length >= MOST) break;
    const names = (await manifestIn(body)).functions.map(({ name }) => name);
    for (const name of names.filter((known) => known.toLowerCase().includes(text)))
      found.push({ kind: "function", id: name, agentId, name, at: null });
  }
  return found.slice(0, MOST);
};

/** Runtimes by a part of their id, host, service or deployment. The store keeps those from the last days. */
const runtimes: Search = async (engine, { orgId }, q) => {
  const id = "runtimes.instance_id";
  const rows = await liveAgents(engine, orgId)
    .innerJoin("runtimes", "runtimes.agent_id", "agents.id")
    .select([`${id} as id`, "runtimes.agent_id as agentId", "runtimes.service", "runtimes.host", "runtimes.deployment"])
    .where(matches(q, id, id, "runtimes.service", "runtimes.host", "runtimes.deployment"))
    .orderBy("runtimes.last_seen_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map(({ service, host, deployment, ...row }) => ({
    kind: "runtime",
    name: [host ?? row.id.slice(0, 8), service, ...(deployment === null ? [] : [deployment])].join(" · "),
    at: null,
    ...row,
  }));
};

/** Run views: the member's own, and shared ones. */
const views: Search = async (engine, { orgId, memberId }, q) => {
  const rows = await liveAgents(engine, orgId)
    .innerJoin("run_views as views", "views.agent_id", "agents.id")
    .select(["views.id", "views.agent_id as agentId", "views.name", "views.search"])
    .where("views.org_id", "=", orgId)
    .where((eb) => eb.or([eb("views.member_id", "=", memberId), eb("views.shared", "=", 1)]))
    .where(matches(q, "views.id", "views.name"))
    .orderBy("views.created_at", "desc")
    .limit(MOST)
    .execute();
  return rows.map(({ search, ...row }) => ({ kind: "view", search: fromJson(search), at: null, ...row }));
};

/** Service tokens, for members who may list them. */
const serviceTokens: Search = async ({ db }, by, q) => {
  if (!hasRole(by, CONSOLE_ROUTES["GET /service-tokens"].needs)) return [];
  const rows = await db
    .selectFrom("service_tokens")
    .select(["id", "label", "hint"])
    .where("org_id", "=", by.orgId)
    .where(matches(q, "id", "label", "hint"))
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
