import { sql } from "kysely";
import type { AgentSigns, ListSigns, LiveReads } from "../../ports/console-agents.ts";
import type { Engine } from "../schema.ts";
import { connectedNow } from "./connected.ts";

/** Says whether a list may have changed by few and cheap figures. */
export function liveReads(engine: Engine): LiveReads {
  return {
    async signs(orgId) {
      const [org, agents, unfinished, links, credentials] = await Promise.all([
        organisation(engine, orgId),
        agentsOf(engine, orgId),
        unfinishedRuns(engine, orgId),
        openLinks(engine, orgId),
        credentialsOf(engine, orgId),
      ]);
      if (!org) return undefined;
      const by = (rows: readonly { agent_id: string }[], agentId: string): string =>
        JSON.stringify(rows.filter((row) => row.agent_id === agentId));
      const signs = agents.map(({ newest_run, ...agent }): [string, AgentSigns] => [
        agent.id,
        {
          agents: JSON.stringify(agent),
          runs: `${newest_run} ${by(unfinished, agent.id)}`,
          runtimes: by(links, agent.id),
          credentials: by(credentials, agent.id),
        },
      ]);
      const { credits, ...members } = org;
      return { members: JSON.stringify(members), credits: String(credits), agents: new Map(signs) } satisfies ListSigns;
    },
  };
}

/** Roles are told by how many letters they have, which differs. */
function organisation({ db }: Engine, orgId: string) {
  return db
    .selectFrom("orgs")
    .leftJoin("members", (join) => join.onRef("members.org_id", "=", "orgs.id").on("members.removed_at", "is", null))
    .select((eb) => [
      "orgs.balance_micros as credits",
      "orgs.name",
      eb.fn.count<number>("members.id").as("members"),
      eb.fn.count<number>("members.password_hash").as("active"),
      eb.fn.max("members.created_at").as("newest"),
      sql<number | null>`sum(length(members.role))`.as("roles"),
      sql<number | null>`sum(length(members.name))`.as("names"),
    ])
    .where("orgs.id", "=", orgId)
    .groupBy(["orgs.id", "orgs.balance_micros", "orgs.name"])
    .executeTakeFirst();
}

function agentsOf({ db }: Engine, orgId: string) {
  return db
    .selectFrom("agents")
    .select([
      "id",
      "name",
      sql<number>`length(instructions)`.as("size"),
      sql<number | null>`(select max(runs.created_at) from runs where runs.agent_id = agents.id)`.as("newest_run"),
    ])
    .where("org_id", "=", orgId)
    .where("deleted_at", "is", null)
    .orderBy("id")
    .execute();
}

/** A run that ends leaves these, and one that takes a step has a longer log. What has not ended has an index of its own. */
function unfinishedRuns({ db }: Engine, orgId: string) {
  return db
    .selectFrom("runs")
    .select((eb) => ["agent_id", "status", eb.fn.countAll<number>().as("runs")])
    .select(sql<number>`cast(sum(last_seq) as bigint)`.as("events"))
    .where("finished_at", "is", null)
    .where("org_id", "=", orgId)
    .groupBy(["agent_id", "status"])
    .orderBy("status")
    .execute();
}

function openLinks(engine: Engine, orgId: string) {
  return engine.db
    .selectFrom("runtimes")
    .innerJoin("agents", "agents.id", "runtimes.agent_id")
    .select(["runtimes.agent_id", "runtimes.connection_id", "runtimes.draining"])
    .where("agents.org_id", "=", orgId)
    .where(connectedNow(engine, "runtimes"))
    .orderBy("runtimes.connection_id")
    .execute();
}

function credentialsOf({ db, dialect }: Engine, orgId: string) {
  return db
    .selectFrom("credentials")
    .innerJoin("agents", "agents.id", "credentials.agent_id")
    .select((eb) => [
      "credentials.agent_id",
      eb.fn.countAll<number>().as("all"),
      eb.fn.count<number>("credentials.revoked_at").as("revoked"),
      eb.fn.max("credentials.last_used_at").as("used"),
      sql<number | null>`sum(case when credentials.expires_at <= ${dialect.now} then 1 else 0 end)`.as("expired"),
    ])
    .where("agents.org_id", "=", orgId)
    .groupBy("credentials.agent_id")
    .execute();
}
