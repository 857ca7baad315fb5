import { ClientTokenRequest, present } from "@patchbay/protocol";
import { asStated } from "../../run/api.ts";
import { parseBody, readBody, requireJsonType } from "../kernel/body.ts";
import { type Handler, json } from "../kernel/exchange.ts";
import { asApiCaller } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import { parse } from "./query-body.ts";
import { countQuery } from "./query-routes.ts";

/** The route by which the holder of a key makes tokens for its pages. */
export function clientTokenRoutes(deps: HttpDeps): Record<"createClientToken", Handler> {
  return {
    createClientToken: (exchange) =>
      asApiCaller(exchange, deps, async (caller) => {
        await countQuery(exchange, caller, deps.doorLimit, "requests");
        requireJsonType(exchange);
        const body = parseBody(await readBody(exchange), { exact: true });
        const { role, context, threadKey, expiresInSeconds } = parse(ClientTokenRequest, body, []);
        await deps.runs.requireRole(caller, role);
        const { keyId, proven } = caller;
        const { token, expiresAt } = await deps.clientTokens.create({
          keyId,
          role,
          context: asStated(caller, present({ role, context })).context ?? {},
          lifeMs: expiresInSeconds * 1_000,
          ...present({ threadKey }),
          ...(proven && { proven: { subject: proven.subject } }),
        });
        exchange.headers["Cache-Control"] = "no-store";
        return json(exchange, 201, { token, expiresAt: new Date(expiresAt).toISOString() });
      }),
  };
}
