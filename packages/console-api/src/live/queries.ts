import type { Change } from "@patchbay/protocol/console";
import { type InferResult, sql } from "kysely";
import { connectedNow } from "@patchbay/store/function-sets/connected";
import type { Engine } from "@patchbay/store/engine";

type Topic = Change["topics"][number];

export const TOPICS: readonly Topic[] = ["agents", "runtimes", "runs", "credentials", "credits", "members"];

/**
 * Versions for an organisation's lists, by list and part: a list may have changed when one of its values did. The agent's
 * id is '' for organisation lists.
 */
export type Versions = ReadonlyMap<string, InferResult<ReturnType<typeof changes>>[number]>;

/** A few index look-ups, however many runs there are. */
export async function versionsOf(engine: Engine, orgId: string): Promise<Versions> {
  const rows = await changes(engine, orgId)
    .unionAll(newestRuns(engine, orgId))
    .unionAll(openRuns(engine, orgId))
    .unionAll(connections(engine, orgId))
    .unionAll(expiredCredentials(engine, orgId))
    .unionAll(balance(engine, orgId))
    .execute();
  return new Map(rows.map((row) => [JSON.stringify([row.topic, row.agent_id, row.part]), row]));
}

/** Topics whose version changed, for the organisation's lists and those of all its agents or of `agentId` only. */
export function changedTopics(before: Versions, now: Versions, agentId: string | undefined): Topic[] {
  const changed = new Set<Topic>();
  for (const [key, row] of [...before, ...now]) {
    const shown = agentId === undefined || row.agent_id === "" || row.agent_id === agentId;
    if (shown && before.get(key)?.value !== now.get(key)?.value) changed.add(row.topic);
  }
  return TOPICS.filter((topic) => changed.has(topic));
}

const topic = (name: Topic) => sql<Topic>`${sql.lit(name)}`.as("topic");
const part = (name: string) => sql<string>`${sql.lit(name)}`.as("part");

/** The counters that triggers increment. */
const changes = ({ db }: Engine, orgId: string) =>
  db
    .selectFrom("change_counters")
    .select([sql<Topic>`topic`.as("topic"), "agent_id", part("count"), sql<string>`cast(count as text)`.as("value")])
    .where("org_id", "=", orgId);

const newestRuns = ({ db }: Engine, orgId: string) =>
  db
    .selectFrom("agents")
    .select([topic("runs"), "agents.id as agent_id", part("newest")])
    .select(
      sql<string>`(select cast(coalesce(max(runs.created_at), 0) as text) from runs where runs.agent_id = agents.id)`.as(
        "value",
      ),
    )
    .where("org_id", "=", orgId)
    .where("deleted_at", "is", null);

/** An ended run leaves the count, and one that takes a step has a longer log. */
const openRuns = ({ db }: Engine, orgId: string) =>
  db
    .selectFrom("runs")
    .select([topic("runs"), "agent_id", sql<string>`status`.as("part")])
    .select(sql<string>`cast(count(*) as text) || ' ' || cast(cast(sum(last_seq) as bigint) as text)`.as("value"))
    .where("finished_at", "is", null)
    .where("org_id", "=", orgId)
    .groupBy(["agent_id", "status"]);

/**
 * A silent connection, for example on a dead replica, changes no row. Each open connection is a part, so that a
 * replaced one is a change. The join finds rows by the agent index, because they have no organisation index.
 */
const connections = (engine: Engine, orgId: string) =>
  engine.db
    .selectFrom("runtimes")
    .innerJoin("agents", "agents.id", "runtimes.agent_id")
    .select([topic("runtimes"), "runtimes.agent_id", "connection_id as part", sql<string>`'open'`.as("value")])
    .where("agents.org_id", "=", orgId)
    .where(connectedNow(engine, "runtimes"));

/** An expiring credential changes no row either. */
const expiredCredentials = ({ db, dialect }: Engine, orgId: string) =>
  db
    .selectFrom("credentials")
    .innerJoin("agents", "agents.id", "credentials.agent_id")
    .select([
      topic("credentials"),
      "credentials.agent_id",
      part("expired"),
      sql<string>`cast(count(*) as text)`.as("value"),
    ])
    .where("agents.org_id", "=", orgId)
    .where("credentials.expires_at", "<=", dialect.now)
    .groupBy("credentials.agent_id");

const balance = ({ db }: Engine, orgId: string) =>
  db
    .selectFrom("orgs")
    .select([topic("credits"), sql<string>`''`.as("agent_id"), part("balance")])
    .select(
      sql<string>`cast(coalesce((select micros from balances where balances.org_id = orgs.id), 0) as text) || ' ' || (select cast(coalesce(max(ledger.created_at), 0) as text)
        from ledger where ledger.org_id = orgs.id)`.as("value"),
    )
    .where("id", "=", orgId);
