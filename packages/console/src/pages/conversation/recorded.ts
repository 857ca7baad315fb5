import type { RunEvent } from "@patchbay/protocol";
import type { RunSummary } from "@patchbay/protocol/console";
import { queryOptions } from "@tanstack/react-query";
import { api } from "../../api/api.ts";
import { NOTHING_TOLD, tell, type Told } from "./exchange.ts";

/** Parts of a log that are fetched at most; a run's log is far shorter. */
const MAX_PARTS = 50;

/** What the stored log of a run tells. For runs that ended: it is fetched once. */
export function recorded({ agentId, runId, createdAt }: Pick<RunSummary, "agentId" | "runId" | "createdAt">) {
  return queryOptions({
    queryKey: ["recorded", agentId, runId],
    staleTime: Infinity,
    async queryFn({ signal }): Promise<Told> {
      const params = { agent_id: agentId, run_id: runId };
      const askedAt = Date.parse(createdAt);
      let told = NOTHING_TOLD;
      let cursor: string | undefined;
      for (let part = 0; part < MAX_PARTS; part += 1) {
        const query = { limit: 100, cursor };
        const page = await api.get("/agents/:agent_id/runs/:run_id/log", { params, query, signal });
        for (const { seq, at, body } of page.items) {
          const event = JSON.parse(body) as RunEvent;
          told = tell(told, { event, seq, raw: `id: ${seq}\ndata: ${body}`, atMs: Date.parse(at) - askedAt });
        }
        if (page.nextCursor === null) break;
        cursor = page.nextCursor;
      }
      return told;
    },
  });
}
