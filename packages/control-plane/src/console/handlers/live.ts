import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";
import { createLive } from "../live/live.ts";
import { agentOf } from "./agent-of.ts";

export function liveHandlers(deps: ConsoleDeps): HandlersOf<"GET /live"> {
  const live = createLive(deps);
  return {
    async "GET /live"({ by, query, exchange }) {
      const { agentId } = query;
      if (agentId !== undefined) await agentOf(deps.store, by.orgId, agentId);
      const { c, headers } = exchange;
      const again = c.req.header("Last-Event-ID") !== undefined;
      const body = live.open(by, { agentId, again });
      headers["Content-Type"] = "text/event-stream; charset=utf-8";
      headers["Cache-Control"] = "no-store, no-transform";
      headers["X-Accel-Buffering"] = "no";
      return new Response(body, { status: 200, headers });
    },
  };
}
