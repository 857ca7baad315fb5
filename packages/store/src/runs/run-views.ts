import type { ViewStore } from "@patchbay/engine/ports/store/run-views";
import type { Engine } from "../engine.ts";
import { viewColumns } from "../tables/run-tables.ts";
import { affects, is } from "../statement.ts";

/** Private views of one member, and shared ones of all members. */
const MOST_VIEWS = 200;

export function viewStore({ db, dialect }: Engine): ViewStore {
  const ofAgent = (orgId: string, agentId: string) =>
    db.selectFrom("run_views").where(is({ org_id: orgId, agent_id: agentId }));
  return {
    async list(orgId, agentId, memberId) {
      const rows = await ofAgent(orgId, agentId)
        .selectAll()
        .where((eb) => eb.or([eb("member_id", "=", memberId), eb("shared", "=", 1)]))
        .orderBy("created_at")
        .orderBy("id")
        .execute();
      return rows.map(viewColumns.recordOf);
    },

    async add(view) {
      const { orgId, agentId, memberId, shared } = view;
      const kept = await ofAgent(orgId, agentId)
        .select("id")
        .where("shared", "=", shared ? 1 : 0)
        .$if(!shared, (own) => own.where("member_id", "=", memberId))
        .execute();
      if (kept.length >= MOST_VIEWS) return false;
      await db
        .insertInto("run_views")
        .values({ ...viewColumns.rowOf(view), created_at: dialect.now })
        .execute();
      return true;
    },

    remove({ orgId, agentId, viewId, memberId, anyShared }) {
      const view = db.deleteFrom("run_views").where(is({ id: viewId, org_id: orgId, agent_id: agentId }));
      const own = is({ member_id: memberId });
      return affects(
        { db },
        view.where((eb) => (anyShared ? eb.or([own(eb), eb("shared", "=", 1)]) : own(eb))),
      );
    },
  };
}
