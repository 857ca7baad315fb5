import { isoTime, isoTimeOrNull } from "@patchbay/kit";
import type { Agent, AgentDetail, Credential, Runtime } from "@patchbay/protocol/console";
import { type InferResult, sql, type SqlBool } from "kysely";
import type { CredentialKind } from "@patchbay/engine/ports/store/stores";
import { fromJson, manifestIn } from "@patchbay/store/columns";
import { connectedNow } from "@patchbay/store/function-sets/connected";
import { ago } from "@patchbay/store/moments";
import type { Engine } from "@patchbay/store/engine";
import { lineageIn, makersOf } from "@patchbay/store/accounts/holders";
import { newestPage, type PageAsked, pageFrom, type PageOf, parseCursor } from "@patchbay/store/page-cursor";
import type { CredentialRow } from "@patchbay/store/tables/credentials";
import { isSetOfRuntime } from "@patchbay/store/function-sets/set-order";
import { namesOf } from "../names.ts";
import { type AgentScope, begins, contains } from "../lists.ts";
import { is } from "@patchbay/store/statement";

const AGENT_ORDER = { at: "agents.created_at", id: "agents.id" } as const;
const DAY_MS = 86_400_000;

/** All agents except deleted ones. */
const figured = (engine: Engine, orgId: string) =>
  engine.db
    .selectFrom("agents")
    .selectAll("agents")
    .select([
      runtimesOf(engine).as("runtimes"),
      queriesOf(engine, sql``).as("queries"),
      queriesOf(
        engine,
        sql`and runs.org_id = agents.org_id and runs.status = 'failed' and runs.finished_at is not null`,
      ).as("failed"),
      sql<number | null>`(select max(runs.created_at) from runs where runs.agent_id = agents.id)`.as("last_query_at"),
      newestSetOf(engine).as("manifest_hash"),
    ])
    .where("agents.org_id", "=", orgId)
    .where("agents.deleted_at", "is", null);

export function agentQueries(engine: Engine) {
  return {
    /** Newest first. `q` matches part of the name, or the start of an id. */
    async list(orgId: string, { q, ...asked }: { q?: string | undefined } & PageAsked): Promise<PageOf<Agent>> {
      const all = figured(engine, orgId);
      const named = q === undefined ? all : all.where(called(q));
      const { items, nextCursor } = await newestPage(named, asked, AGENT_ORDER);
      return { items: await withFunctions(engine, items), nextCursor };
    },

    async get({ orgId, agentId }: AgentScope): Promise<AgentDetail | undefined> {
      const rows = await figured(engine, orgId).where("agents.id", "=", agentId).execute();
      const [agent] = await withFunctions(engine, rows);
      return agent && { ...agent, settings: fromJson(rows[0]!.settings) };
    },
  };
}

const runtimesOf = (engine: Engine) =>
  sql<number>`(select count(*) from runtimes where runtimes.agent_id = agents.id and ${connectedNow(engine, "runtimes")})`;

const queriesOf = (engine: Engine, narrowed: ReturnType<typeof sql>) =>
  sql<number>`(select count(*) from runs where runs.agent_id = agents.id
    and runs.created_at > ${ago(engine, DAY_MS)} ${narrowed})`;

/** The active set for new runs, or the last connected set while no runtime is connected. */
const newestSetOf = (engine: Engine) =>
  sql<string | null>`(select runtimes.manifest_hash from runtimes where runtimes.agent_id = agents.id
    order by case when ${connectedNow(engine, "runtimes")} then 0 else 1 end, coalesce(runtimes.opened_at, 0) desc limit 1)`;

function called(q: string) {
  if (q.startsWith("agt_")) return begins(sql.ref("agents.id"), q);
  return contains(sql.ref<string>("agents.name"), q);
}

/** A page's agents with the number of functions in their newest sets. */
async function withFunctions({ db }: Engine, rows: InferResult<ReturnType<typeof figured>>): Promise<Agent[]> {
  const sets = rows.flatMap(({ id, manifest_hash }) => (manifest_hash === null ? [] : [{ id, manifest_hash }]));
  const bodies =
    sets.length === 0
      ? []
      : await db
          .selectFrom("manifests")
          .select(["agent_id", "hash", "body"])
          .where((eb) => eb.or(sets.map((set) => eb.and({ agent_id: set.id, hash: set.manifest_hash }))))
          .execute();
  const counts = new Map<string, number>();
  for (const { agent_id, body } of bodies) counts.set(agent_id, (await manifestIn(body)).functions.length);
  return rows.map((row) => ({
    agentId: row.id,
    name: row.name,
    instructions: row.instructions,
    accessChanges: row.access_changes,
    createdAt: isoTime(row.created_at),
    runtimes: row.runtimes,
    functions: counts.get(row.id) ?? null,
    queries: row.queries,
    failed: row.failed,
    lastQueryAt: isoTimeOrNull(row.last_query_at),
  }));
}

const SHOWN_MS = 7 * 86_400_000;

/** An agent's runtimes. */
export function runtimeQueries(engine: Engine) {
  const { db, dialect } = engine;
  const open = sql<number>`case when ${connectedNow(engine, "runtimes")} then 1 else 0 end`;
  return {
    /** Connected runtimes first, then those seen in the last 7 days; within each group the newest connection first. */
    async list(scope: AgentScope, { limit, cursor }: PageAsked): Promise<PageOf<Runtime>> {
      // An agent has few runtimes, so sorting by a computed value is cheap.
      const listed = db
        .selectFrom("runtimes")
        .selectAll()
        .select([open.as("open"), "opened_at as opened", sql<number>`${dialect.now} - last_seen_at`.as("silent_ms")])
        .select((eb) => {
          const waiting = eb
            .selectFrom("function_sets as sets")
            .select("sets.position")
            .where(isSetOfRuntime)
            .where("sets.confirmation", "=", "pending");
          return eb.case().when(eb.exists(waiting)).then(1).else(0).end().as("pending");
        })
        .where(is({ org_id: scope.orgId, agent_id: scope.agentId }))
        .where("last_seen_at", ">", ago(engine, SHOWN_MS));
      const rows = await db
        .selectFrom(listed.as("listed"))
        .selectAll()
        .$if(cursor !== undefined, (narrowed) => narrowed.where(after(cursor!)))
        .orderBy("open", "desc")
        .orderBy("opened", "desc")
        .orderBy("instance_id", "desc")
        .limit(limit + 1)
        .execute();
      const endOf = (row: (typeof rows)[number]) => ({ at: row.opened, id: `${row.open}${row.instance_id}` });
      const page = pageFrom(rows, { limit, floor: undefined, endOf });
      const calls = await callsInFlight(engine, scope);
      const items = page.rows.map((row) => {
        const connected = row.open === 1;
        return {
          instanceId: row.instance_id,
          connected,
          draining: connected && row.draining === 1,
          replicaId: connected ? row.replica_id : null,
          host: row.host,
          service: row.service,
          deployment: row.deployment,
          sdk: row.sdk,
          manifestHash: row.manifest_hash,
          pending: row.pending === 1,
          concurrency: row.concurrency,
          inFlight: calls.get(row.instance_id) ?? 0,
          connectedAt: connected ? isoTime(row.opened_at) : null,
          lastSeenAt: isoTime(row.last_seen_at),
          silentMs: Math.max(0, row.silent_ms),
        };
      });
      return { items, nextCursor: page.nextCursor };
    },
  };
}

/** The cursor's id starts with 1 for a connected runtime and 0 for any other. */
function after(cursor: string) {
  const { at, id } = parseCursor(cursor);
  const open = id.startsWith("1") ? 1 : 0;
  const instanceId = id.slice(1);
  return sql<SqlBool>`(open < ${sql.lit(open)} or (open = ${sql.lit(open)}
    and (opened < ${at} or (opened = ${at} and instance_id < ${instanceId}))))`;
}

/** Calls without an outcome in running runs, by runtime. */
async function callsInFlight({ db }: Engine, { orgId, agentId }: AgentScope): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom("runs")
    .innerJoin("calls", "calls.run_id", "runs.id")
    .select((eb) => ["calls.instance_id", eb.fn.countAll<number>().as("count")])
    .$narrowType<{ instance_id: string }>()
    .where("runs.finished_at", "is", null)
    .where(is({ "runs.status": "running", "runs.org_id": orgId }))
    // The expression stops the database from using the index on all the agent's runs instead of the small one on open
    // runs.
    .where((eb) => eb(eb.fn.coalesce("runs.agent_id", eb.val("")), "=", agentId))
    .where("calls.outcome", "is", null)
    .where("calls.instance_id", "is not", null)
    .groupBy("calls.instance_id")
    .execute();
  return new Map(rows.map(({ instance_id, count }) => [instance_id, count]));
}

const CREDENTIAL_ORDER = { at: "created_at", id: "id" } as const;

type CredentialsAsked = { kinds?: CredentialKind[] | undefined } & PageAsked;

/** An agent's API keys, runtime keys and access tokens. */
export function credentialQueries(engine: Engine) {
  const { db, dialect } = engine;
  const ofAgent = ({ orgId, agentId }: AgentScope) =>
    db
      .selectFrom("credentials")
      .selectAll()
      .select(sql<number>`case when expires_at <= ${dialect.now} then 1 else 0 end`.as("expired"))
      .where("org_id", "=", orgId)
      .where("agent_id", "=", agentId)
      .where("kind", "<>", "caller")
      .$narrowType<{ kind: CredentialKind }>();
  return {
    /** Newest first; all kinds unless `kinds` is set. */
    async list(scope: AgentScope, { kinds, ...asked }: CredentialsAsked): Promise<PageOf<Credential>> {
      const wanted = kinds === undefined ? ofAgent(scope) : ofAgent(scope).where("kind", "in", kinds);
      const { items, nextCursor } = await newestPage(wanted, asked, CREDENTIAL_ORDER);
      return { items: await withMakers(engine, scope.orgId, items), nextCursor };
    },

    async get(scope: AgentScope, credentialId: string): Promise<Credential | undefined> {
      const rows = await ofAgent(scope).where("id", "=", credentialId).execute();
      return (await withMakers(engine, scope.orgId, rows))[0];
    },
  };
}

type ListedCredential = CredentialRow & { expired: number; kind: CredentialKind };

async function withMakers(engine: Engine, orgId: string, rows: readonly ListedCredential[]): Promise<Credential[]> {
  const makers = await makersOf(engine, rows.map(lineageIn));
  const names = await namesOf(engine, orgId, [...new Set([...makers.values()].flat())]);
  return rows.map((row) => {
    const ids = makers.get(lineageIn(row));
    return { ...toCredential(row), ...(ids && { makers: ids.map((id) => ({ id, name: names.get(id) ?? id })) }) };
  });
}

function toCredential(row: ListedCredential): Credential {
  return {
    credentialId: row.id,
    kind: row.kind,
    agentId: row.agent_id,
    hint: row.hint,
    label: row.label,
    roles: row.roles === null ? null : fromJson(row.roles),
    can: row.can === null ? null : fromJson(row.can),
    taskModel: row.task_model,
    createdAt: isoTime(row.created_at),
    lastUsedAt: isoTimeOrNull(row.last_used_at),
    expiresAt: isoTimeOrNull(row.expires_at),
    revokedAt: isoTimeOrNull(row.revoked_at),
    state: row.revoked_at !== null ? "revoked" : row.expired === 1 ? "expired" : "active",
  };
}
