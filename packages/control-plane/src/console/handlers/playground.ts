import { askedBy } from "../../http/query-body.ts";
import { cancelsWhenGone, faultsOfKey } from "../../http/query-routes.ts";
import { countQuery } from "../../http/rate-limit.ts";
import { hashJson } from "../../http/request-body.ts";
import { onPlace, streamRun, waitsForPlace } from "../../http/stream-run.ts";
import { invalid } from "../../ports/service-error.ts";
import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";
import { agentOf } from "./agent-of.ts";
import { callerOf, ownerOf } from "./caller-of.ts";

/** Queries as endpoint 2 takes them, by the same rules, but asked by a member and always with deltas. */
export function playgroundHandlers(deps: ConsoleDeps): HandlersOf<"POST /agents/:agent_id/playground"> {
  return {
    async "POST /agents/:agent_id/playground"({ by, params, body, exchange }) {
      const { agentId } = await agentOf(deps.store, by.orgId, params.agent_id);
      const caller = callerOf(by, agentId);
      const { query } = askedBy(body);
      const key = exchange.c.req.header("Idempotency-Key");
      const faults = key === undefined ? [] : faultsOfKey(key);
      if (faults.length > 0) throw invalid(faults);
      const idempotency = key === undefined ? undefined : { key, bodyHash: hashJson(body) };
      const known = idempotency && (await deps.runs.join(caller, idempotency.key, idempotency.bodyHash));
      if (!known) await countQuery(exchange, caller, deps.rateLimit);
      const wanted = { owner: ownerOf(by), wait: waitsForPlace(caller), ...(known && { runId: known.runId }) };
      return onPlace(deps, exchange, wanted, async (place) => {
        const asked = { ...query, requestId: exchange.requestId, ...(idempotency && { idempotency }) };
        const run = known ?? (await deps.runs.start(caller, asked));
        if (!known) place.follow(run.runId);
        const view = { after: 0, deltas: true, cancelWhenGone: cancelsWhenGone(exchange) };
        return streamRun(deps, exchange, run, view, place);
      });
    },
  };
}
