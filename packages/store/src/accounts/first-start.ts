import { sql } from "kysely";
import { FIRST_START_NAMES, type FirstStartPlan, type FirstStartStore } from "@patchbay/engine/ports/store/first-start";
import { accountStore } from "./accounts.ts";
import { insertAudit } from "../audit/audit.ts";
import { withoutNulls } from "../columns.ts";
import { type Engine, transactOrUndo, Undone } from "../engine.ts";
import { affects } from "../statement.ts";
import { insertMember } from "./members.ts";
import { serviceTokenStore } from "./service-tokens.ts";

type Applied = Awaited<ReturnType<FirstStartStore["apply"]>>;
const undone = (outcome: Applied) => new Undone(outcome);

export function firstStartStore(engine: Engine): FirstStartStore {
  const { db, dialect } = engine;
  return {
    async recorded() {
      const rows = await db.selectFrom("first_start").selectAll().execute();
      return Object.fromEntries(rows.map(({ name, org_id: orgId, value }) => [name, { orgId, value }]));
    },

    apply: (plan) => transactOrUndo(engine, (trx) => store(trx, plan)),

    async secretWith(hash) {
      const active = sql<number>`case
        when revoked_at is null and (expires_at is null or expires_at > ${dialect.now}) then 1 else 0 end`;
      const credentials = db.selectFrom("credentials").select(["kind", "org_id", "agent_id", active.as("active")]);
      const tokens = db.selectFrom("service_tokens").select(["org_id", active.as("active")]);
      const credential = await credentials.where("hash", "=", hash).executeTakeFirst();
      if (credential) {
        const { kind, org_id: orgId, agent_id: agentId } = credential;
        return { kind, orgId, agentId, active: credential.active === 1 };
      }
      const token = await tokens.where("hash", "=", hash).executeTakeFirst();
      return token && { kind: "service", orgId: token.org_id, agentId: null, active: token.active === 1 };
    },
  };
}

/** The values first: a replica that starts at the same time waits at the first of them until this transaction ends. */
async function store(trx: Engine, plan: FirstStartPlan): Promise<Applied> {
  const { orgId, values, org, agent, credentials, member, serviceToken, audit } = plan;
  const { createOrg, createAgent, createCredential } = accountStore(trx);
  const chosen = withoutNulls(values);
  for (const name of FIRST_START_NAMES) {
    const value = chosen[name];
    if (value === undefined) continue;
    const added = trx.db.insertInto("first_start").values({ name, org_id: orgId, value });
    const once = added.onConflict((conflict) => conflict.column("name").doNothing());
    if (!(await affects(trx, once))) throw undone("recorded");
  }
  if (org) await createOrg(org);
  if (agent) await createAgent(agent);
  for (const credential of credentials) await createCredential(credential);
  if (member && !(await insertMember(trx, member))) throw undone("member_exists");
  if (serviceToken) await serviceTokenStore(trx).create(serviceToken);
  await insertAudit(trx, audit);
  return "stored";
}
