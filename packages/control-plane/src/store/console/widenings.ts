import type { FunctionReads } from "../../ports/console-agents.ts";
import { present } from "../columns.ts";
import { toSet } from "../function-sets.ts";
import type { Engine } from "../schema.ts";
import { olderThan, pageFrom } from "./keyset.ts";

const ORDER = { at: "sets.position", id: "sets.manifest_hash" };

/** Function sets of an agent that widened access. */
export function wideningReads({ db }: Engine): Pick<FunctionReads, "widened"> {
  return {
    async widened(orgId, agentId, { limit, cursor }) {
      const rows = await db
        .selectFrom("function_sets as sets")
        .leftJoin("members", "members.id", "sets.confirmed_by")
        .selectAll("sets")
        .select(["members.name as member_name", "members.email as member_email"])
        .where("sets.org_id", "=", orgId)
        .where("sets.agent_id", "=", agentId)
        .where("sets.widenings", "!=", "[]")
        .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, ORDER)))
        .orderBy("sets.position", "desc")
        .orderBy("sets.manifest_hash", "desc")
        .limit(limit + 1)
        .execute();
      const endOf = (row: (typeof rows)[number]) => ({ at: row.position, id: row.manifest_hash });
      const page = pageFrom(rows, { limit, floor: undefined, endOf });
      const items = page.rows.map((row) => ({
        ...toSet(row),
        ...present({ confirmedBy: row.member_name || row.member_email || row.confirmed_by }),
      }));
      return { items, nextCursor: page.nextCursor };
    },
  };
}
