import type { RunView, ViewStore } from "../ports/run-views.ts";
import { fromJson, toJson } from "./columns.ts";
import type { Engine } from "./engine.ts";
import type { Schema } from "./schema.ts";

/** Private views of one member, and shared ones of all members. */
const MOST_VIEWS = 200;

export function viewStore({ db, dialect }: Engine): ViewStore {
  const ofAgent = (orgId: string, agentId: string) =>
    db.selectFrom("run_views").where("org_id", "=", orgId).where("agent_id", "=", agentId);
  return {
    async list(orgId, agentId, memberId) {
      const rows = await ofAgent(orgId, agentId)
        .selectAll()
        .where((eb) => eb.or([eb("member_id", "=", memberId), eb("shared", "=", 1)]))
        .orderBy("created_at")
        .orderBy("id")
        .execute();
      return rows.map(toView);
    },

    async add({ viewId, orgId, agentId, memberId, name, shared, search }) {
      const kept = await ofAgent(orgId, agentId)
        .select("id")
        .where("shared", "=", shared ? 1 : 0)
        .$if(!shared, (own) => own.where("member_id", "=", memberId))
        .execute();
      if (kept.length >= MOST_VIEWS) return false;
      const of = { id: viewId, org_id: orgId, agent_id: agentId, member_id: memberId };
      await db
        .insertInto("run_views")
        .values({ ...of, name, shared: shared ? 1 : 0, search: toJson(search), created_at: dialect.now })
        .execute();
      return true;
    },

    async remove({ orgId, agentId, viewId, memberId, anyShared }) {
      const removed = await db
        .deleteFrom("run_views")
        .where("id", "=", viewId)
        .where("org_id", "=", orgId)
        .where("agent_id", "=", agentId)
        .where((eb) => eb.or([eb("member_id", "=", memberId), ...(anyShared ? [eb("shared", "=", 1)] : [])]))
        .returning("id")
        .executeTakeFirst();
      return removed !== undefined;
    },
  };
}

const toView = (row: Schema["run_views"]): RunView => ({
  viewId: row.id,
  orgId: row.org_id,
  agentId: row.agent_id,
  memberId: row.member_id,
  name: row.name,
  shared: row.shared === 1,
  search: fromJson(row.search),
});
