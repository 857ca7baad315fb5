import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { invalid } from "@patchbay/engine/ports/service-error";
import { receiveJson } from "../../kernel/body.ts";
import { baseUrl, type Exchange, type Handler, json, originOf } from "../../kernel/exchange.ts";
import { asAdapterCaller, type CallerDeps, type AdapterCaller } from "../caller.ts";
import type { HttpDeps } from "../deps.ts";
import { type Guarded, refuseForeign } from "../origins.ts";
import { countQuery } from "../query-routes.ts";
import { withStreamSlot, ownerOf } from "../stream-run.ts";
import { elicitsIn, passReply, replyIn, SESSION_HEADER, sessionFor } from "./elicitation.ts";
import { createListChanges } from "./list-changes.ts";

const INVALID_REQUEST = -32_600;

type McpDeps = CallerDeps &
  Guarded &
  Pick<HttpDeps, "approvals" | "bus" | "streams" | "rateLimit" | "closing" | "version">;

/** An agent's functions as Model Context Protocol tools, in the 2025 and 2026-07-28 revisions. */
export function mcpRoutes(deps: McpDeps): Record<"mcp", Handler> {
  const changes = createListChanges();

  async function serve(exchange: Exchange, caller: AdapterCaller, message: unknown, signal: AbortSignal) {
    // The SDK costs memory and start-up time, which agents without MCP clients do not pay.
    const { EXPOSED, serveMcp } = await import("./serve.ts");
    const { c, headers } = exchange;
    const wanted = c.req.query("expose") ?? "functions";
    const exposed = EXPOSED.find((known) => known === wanted);
    if (!exposed) throw invalid([{ path: "expose", message: `must be one of ${EXPOSED.join(", ")}` }]);
    const response = await serveMcp({
      deps,
      caller,
      origin: originOf(exchange),
      facts: exchange.facts,
      gone: signal,
      approvalUrl: (approvalId) => `${baseUrl(exchange, deps)}/console/approvals?approval=${approvalId}`,
      request: signal === c.req.raw.signal ? c.req.raw : new Request(c.req.raw.url, { ...asSent(c.req.raw), signal }),
      message,
      version: deps.version,
      exposed,
      changes,
    });
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  }

  return {
    mcp: (exchange) => {
      const refused = refuseForeign(exchange, deps);
      if (refused) return refused;
      return asAdapterCaller(exchange, deps, async (caller) => {
        const { principal, role } = caller;
        if (role !== undefined) exchange.facts.role = role;
        const message = await receiveJson(exchange, { exact: true });
        const object: JsonObject = isJsonObject(message) ? message : {};
        const { method } = object;
        if (method === "tools/call") await countQuery(exchange, principal, deps.rateLimit);
        else await countQuery(exchange, principal, deps.adapterLimit, "requests");
        if (Array.isArray(message)) return refusedBatch(exchange);
        const reply = elicitsIn(exchange.c.req.header(SESSION_HEADER)) ? replyIn(object) : undefined;
        if (reply) {
          await passReply({ deps, caller }, reply);
          return accepted(exchange);
        }
        const session = sessionFor(object);
        if (session !== undefined) exchange.headers[SESSION_HEADER] = session;
        const { signal } = exchange.c.req.raw;
        if (method !== "subscriptions/listen") return await serve(exchange, caller, message, signal);
        return await withStreamSlot(deps, exchange, { owner: ownerOf(principal), wait: false }, async (slot) => {
          const ends = AbortSignal.any([signal, slot.revoked, deps.closing]);
          const response = await serve(exchange, caller, message, ends);
          const free = () => slot[Symbol.dispose]();
          if (!response.body || !isStream(response) || ends.aborted) {
            free();
            return response;
          }
          ends.addEventListener("abort", free, { once: true });
          // The SDK itself ends refusals, and streams whose client's filter names no list.
          return new Response(response.body.pipeThrough(new TransformStream({ flush: free })), response);
        });
      });
    },
  };
}

/** The request without its body, which has been read. */
const asSent = ({ method, headers }: Request) => ({ method, headers });

const isStream = ({ headers }: Response): boolean =>
  headers.get("Content-Type")?.startsWith("text/event-stream") === true;

const accepted = ({ headers }: Exchange): Response => new Response(null, { status: 202, headers });

function refusedBatch(exchange: Exchange): Response {
  const error = { code: INVALID_REQUEST, message: "Batches of messages are not accepted: send one message a request." };
  return json(exchange, 400, { jsonrpc: "2.0", id: null, error });
}
