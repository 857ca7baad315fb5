import { isoTime } from "@patchbay/kit";
import { CONSOLE_ROUTES, type ConsoleRole, type Found } from "@patchbay/protocol/console";
import { sql, type SqlBool } from "kysely";
import { REQUEST_ID } from "@patchbay/server/kernel/exchange";
import { fromJson, manifestIn } from "@patchbay/store/columns";
import type { CredentialKind } from "@patchbay/engine/ports/store/stores";
import type { Engine } from "@patchbay/store/engine";
import { startedBy } from "@patchbay/store/runs/run-requests";
import { searchedWords } from "@patchbay/store/runs/run-words";
import type { Schema } from "@patchbay/store/tables/schema";
import { hasRole } from "../actors.ts";
import { completeness, contains } from "../lists.ts";
import { shownQuery } from "../runs/summary.ts";

/** Maximum results per search. */
const MOST = 5;

/** The searching member. */
export interface Searcher {
  orgId: string;
  memberId: string;
  role: ConsoleRole;
}

/** A result. A run has its request in place of a name. `at` is in milliseconds. */
interface Row extends Pick<Found, "id" | "runId" | "keyKind"> {
  agentId?: string;
  name?: string;
  request?: Schema["runs"]["request"];
  at?: number;
  search?: Schema["run_views"]["search"];
}

/** Finds things of one kind: the query, or its results. */
type Search = (engine: Engine, by: Searcher, q: string) => Results | Promise<Results>;
type Results = { limit(most: number): { execute(): Promise<Row[]> } } | Row[];

/**
 * Everything in the organisation that the member may read and whose id or name contains this text; runs by their whole
 * id, their request's whole id, or their words; calls and decided approvals by their whole id.
 */
export async function find(engine: Engine, by: Searcher, q: string): Promise<{ found: Found[]; indexedTo?: string }> {
  const searches = SEARCHES.map(async ([kind, search]) => {
    const results = await search(engine, by, q);
    const rows = Array.isArray(results) ? results : await results.limit(MOST).execute();
    return rows.map((row) => toFound(kind, row));
  });
  const all = await Promise.all(searches);
  // A run may be found both by its request and by its words.
  const found = new Map(all.flat().map((item) => [`${item.kind} ${item.agentId} ${item.id}`, item]));
  return { found: [...found.values()], ...(await completeness(engine, by.orgId)) };
}

const toFound = (kind: Found["kind"], { agentId, name = "", request, at, search, ...row }: Row): Found => ({
  kind,
  agentId: agentId ?? null,
  name: request === undefined ? name : shownQuery(fromJson(request).query),
  at: at === undefined ? null : isoTime(at),
  ...(search !== undefined && { search: fromJson(search) }),
  ...row,
});

/** Agents that are not deleted. */
const liveAgents = ({ db }: Engine, orgId: string) =>
  db.selectFrom("agents").where("agents.org_id", "=", orgId).where("agents.deleted_at", "is", null);

/** True if this is the id, or one of these columns contains the text, ignoring case. */
const matches = (q: string, id: string, ...columns: string[]) =>
  sql<SqlBool>`(${sql.join([sql`${sql.ref(id)} = ${q}`, ...columns.map((name) => contains(sql.ref(name), q))], sql` or `)})`;

const agents: Search = (engine, { orgId }, q) =>
  liveAgents(engine, orgId)
    .select(["id", "id as agentId", "name"])
    .where(matches(q, "id", "name"))
    .orderBy("name");

const FOUND_RUN = ["runs.id", "runs.agent_id as agentId", "runs.request", "runs.created_at as at"] as const;

const runsById: Search = ({ db }, { orgId }, q) =>
  db.selectFrom("runs").select(FOUND_RUN).where("runs.id", "=", q).where("runs.org_id", "=", orgId);

const runsByRequest: Search = (engine, { orgId }, q) =>
  REQUEST_ID.test(q)
    ? engine.db
        .selectFrom("runs")
        .select(FOUND_RUN)
        .where("runs.id", "in", startedBy(q, { orgId }, engine))
        .where("runs.org_id", "=", orgId)
        .orderBy("runs.created_at", "desc")
    : [];

function runsByWords({ db, dialect }: Engine, { orgId }: Searcher, q: string): Results {
  const words = searchedWords(q);
  if (words.length === 0) return [];
  return db
    .selectFrom("run_facts")
    .innerJoin("runs", "runs.id", "run_facts.run_id")
    .select(FOUND_RUN)
    .where("run_facts.org_id", "=", orgId)
    .where(dialect.hasWords(words))
    .orderBy("run_facts.id", "desc");
}

const calls: Search = ({ db }, { orgId }, q) =>
  db
    .selectFrom("calls")
    .innerJoin("runs", "runs.id", "calls.run_id")
    .select(["calls.id", "calls.run_id as runId", "runs.agent_id as agentId", "calls.function_name as name"])
    .select("calls.created_at as at")
    .where("calls.id", "=", q)
    .where("runs.org_id", "=", orgId);

const anyApprovals = ({ db }: Engine, orgId: string) =>
  db
    .selectFrom("approvals")
    .select(["id", "agent_id as agentId", "run_id as runId", "function_name as name", "requested_at as at"])
    .where("org_id", "=", orgId);

const approvalsById: Search = (engine, { orgId }, q) => anyApprovals(engine, orgId).where("id", "=", q);

/** Waiting approvals by a part of the function's name. */
const waitingApprovals: Search = (engine, { orgId }, q) =>
  anyApprovals(engine, orgId)
    // Condition and order match the index on waiting approvals: decided ones are far more.
    .where(sql<boolean>`status = 'pending'`)
    .where((eb) => contains(eb.ref("function_name"), q))
    .orderBy("agent_id", "desc")
    .orderBy("requested_at", "desc");

/** Rows whose names are read, divided among the agents: a search must not read a table that grows without limit. */
const ROWS_READ = 20_000;
const AGENTS_READ = 50;

/** An organisation's agents, newest first, and the rows to read for each. */
async function readable(engine: Engine, orgId: string): Promise<{ agentIds: string[]; each: number }> {
  const rows = await liveAgents(engine, orgId).select("id").orderBy("created_at", "desc").limit(AGENTS_READ).execute();
  return { agentIds: rows.map(({ id }) => id), each: Math.ceil(ROWS_READ / Math.max(1, rows.length)) };
}

/** Recently changed threads by a part of the id or the title; all threads by their whole id. */
async function threads(engine: Engine, { orgId }: Searcher, q: string): Promise<Results> {
  const { db } = engine;
  const { agentIds, each } = await readable(engine, orgId);
  const all = db
    .selectFrom("threads")
    .select(["id", "agent_id as agentId", "title as name", "updated_at"])
    .where("org_id", "=", orgId);
  const listed = all.where("listed", "=", 1).orderBy("updated_at", "desc").limit(each);
  const newest = agentIds.map((agentId) =>
    db.selectFrom(listed.where("agent_id", "=", agentId).as("newest")).selectAll(),
  );
  return db
    .selectFrom(newest.reduce((some, more) => some.union(more), all.where("id", "=", q)).as("read"))
    .select(["id", "agentId", "name"])
    .where(matches(q, "id", "id", "name"))
    .orderBy("updated_at", "desc");
}

/**
 * Recent sessions by a part of the owner's id; all sessions by their whole id. The table's key starts with the agent.
 */
async function sessions(engine: Engine, { orgId }: Searcher, q: string): Promise<Results> {
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
  return db
    .selectFrom(read.reduce((some, more) => some.union(more), exact).as("read"))
    .select(["id", "name", "agentId"])
    .where((eb) => contains(eb.ref("id"), q))
    .orderBy("last_seen_at", "desc");
}

const keys: Search = (engine, { orgId }, q) =>
  liveAgents(engine, orgId)
    .innerJoin("credentials as keys", "keys.agent_id", "agents.id")
    .select((eb) => [
      "keys.id",
      "keys.agent_id as agentId",
      "keys.kind as keyKind",
      eb.fn.coalesce("keys.label", "keys.hint").as("name"),
    ])
    .where("keys.org_id", "=", orgId)
    .where("keys.kind", "<>", "caller")
    .$narrowType<{ keyKind: CredentialKind }>()
    .where(matches(q, "keys.id", "keys.label", "keys.hint"))
    .orderBy("keys.created_at", "desc");

const members: Search = ({ db }, { orgId }, q) =>
  db
    .selectFrom("members")
    .select(["id", sql<string>`coalesce(nullif(name, ''), email, id)`.as("name")])
    .where("org_id", "=", orgId)
    .where("removed_at", "is", null)
    .where(matches(q, "id", "name", "email"));

/** Functions that serve queries: those in the newest confirmed set of each service. */
async function functions(engine: Engine, { orgId }: Searcher, q: string): Promise<Row[]> {
  const ranked = liveAgents(engine, orgId)
    .innerJoin("function_sets", "function_sets.agent_id", "agents.id")
    .select(["function_sets.agent_id", "function_sets.manifest_hash"])
    .select(
      sql<number>`row_number() over (partition by function_sets.agent_id, function_sets.service
        order by function_sets.place desc, function_sets.position desc)`.as("rank"),
    )
    .where("function_sets.confirmation", "!=", "pending");
  const sets = await engine.db
    .selectFrom(ranked.as("newest"))
    .innerJoin("manifests", (join) =>
      join.onRef("manifests.agent_id", "=", "newest.agent_id").onRef("manifests.hash", "=", "newest.manifest_hash"),
    )
    .select(["newest.agent_id as agentId", "manifests.body"])
    .where("newest.rank", "=", 1)
    .where((eb) => contains(eb.ref("manifests.body"), q))
    .orderBy("newest.agent_id")
    .execute();
  const text = q.toLowerCase();
  const found: Row[] = [];
  for (const { agentId, body } of sets) {
    if (found.length >= MOST) break;
    const names = (await manifestIn(body)).functions.map(({ name }) => name);
    found.push(
      ...names.filter((name) => name.toLowerCase().includes(text)).map((name) => ({ id: name, agentId, name })),
    );
  }
  return found.slice(0, MOST);
}

/** Runtimes by a part of their id, host, service or deployment. The store keeps those from the last days. */
const runtimes: Search = (engine, { orgId }, q) => {
  const id = "runtimes.instance_id";
  const name = sql<string>`coalesce(runtimes.host, substr(${sql.ref(id)}, 1, 8)) || ' · ' || runtimes.service
    || coalesce(' · ' || runtimes.deployment, '')`;
  return liveAgents(engine, orgId)
    .innerJoin("runtimes", "runtimes.agent_id", "agents.id")
    .select([`${id} as id`, "runtimes.agent_id as agentId", name.as("name")])
    .where(matches(q, id, id, "runtimes.service", "runtimes.host", "runtimes.deployment"))
    .orderBy("runtimes.last_seen_at", "desc");
};

/** Run views: the member's own, and shared ones. */
const views: Search = (engine, { orgId, memberId }, q) =>
  liveAgents(engine, orgId)
    .innerJoin("run_views as views", "views.agent_id", "agents.id")
    .select(["views.id", "views.agent_id as agentId", "views.name", "views.search"])
    .where("views.org_id", "=", orgId)
    .where((eb) => eb.or([eb("views.member_id", "=", memberId), eb("views.shared", "=", 1)]))
    .where(matches(q, "views.id", "views.name"))
    .orderBy("views.created_at", "desc");

/** Service tokens, for members who may list them. */
const serviceTokens: Search = ({ db }, by, q) =>
  hasRole(by, CONSOLE_ROUTES["GET /service-tokens"].needs)
    ? db
        .selectFrom("service_tokens")
        .select((eb) => ["id", eb.fn.coalesce("label", "hint").as("name")])
        .where("org_id", "=", by.orgId)
        .where(matches(q, "id", "label", "hint"))
        .orderBy("created_at", "desc")
    : [];

const SEARCHES: readonly [kind: Found["kind"], search: Search][] = [
  ["agent", agents],
  ["run", runsById],
  ["run", runsByRequest],
  ["call", calls],
  ["approval", approvalsById],
  ["approval", waitingApprovals],
  ["thread", threads],
  ["session", sessions],
  ["view", views],
  ["key", keys],
  ["serviceToken", serviceTokens],
  ["member", members],
  ["function", functions],
  ["runtime", runtimes],
  ["run", runsByWords],
];
