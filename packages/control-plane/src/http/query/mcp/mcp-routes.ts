import { isJsonObject, type JsonObject } from "@patchbay/protocol";
import { invalid } from "../../../ports/service-error.ts";
import { parseBody, readBody, requireJsonType } from "../../kernel/body.ts";
import { type Exchange, type Handler, json, originOf } from "../../kernel/exchange.ts";
import { asDoorCaller, type DoorCaller } from "../caller.ts";
import type { HttpDeps } from "../deps.ts";
import { refuseForeign } from "../origins.ts";
import { countQuery } from "../query-routes.ts";
import { baseUrl } from "../service-routes.ts";
import { onPlace, ownerOf } from "../stream-run.ts";
import { elicitsIn, passReply, replyIn, SESSION_HEADER, sessionFor } from "./elicitation.ts";
import { createListChanges } from "./list-changes.ts";

const INVALID_REQUEST = -32_600;

/** The functions of an agent as tools of the Model Context Protocol, in its revisions of 2025 and 2026-07-28. */
export function mcpRoutes(deps: HttpDeps): Record<"mcp", Handler> {
  const changes = createListChanges();

  async function serve(exchange: Exchange, caller: DoorCaller, message: unknown, signal: AbortSignal) {
    // The SDK costs memory and start-up time, which agents without MCP clients do not pay.
    const { EXPOSED, serveMcp } = await import("./serve.ts");
    const { c, headers } = exchange;
    const wanted = c.req.query("expose") ?? "functions";
    const exposed = EXPOSED.find((one) => one === wanted);
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
      return asDoorCaller(exchange, deps, async (caller) => {
        const { principal, role } = caller;
        if (role !== undefined) exchange.facts.role = role;
        requireJsonType(exchange);
        const message = parseBody(await readBody(exchange), { exact: true });
        const object: JsonObject = isJsonObject(message) ? message : {};
        const { method } = object;
        if (method === "tools/call") await countQuery(exchange, principal, deps.rateLimit);
        else await countQuery(exchange, principal, deps.doorLimit, "requests");
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
        return await onPlace(deps, exchange, { owner: ownerOf(principal), wait: false }, async (place) => {
          const ends = AbortSignal.any([signal, place.revoked, deps.closing]);
          const response = await serve(exchange, caller, message, ends);
          const free = () => place[Symbol.dispose]();
          if (!response.body || !isStream(response) || ends.aborted) {
            free();
            return response;
          }
          ends.addEventListener("abort", free, { once: true });
          // The SDK ends the stream of a client whose filter holds no list, and that of a refusal.
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
