import { CLIENT_DOORS_BY_DEFAULT, ClientTokenRequest } from "@patchbay/protocol";
import { isoTime, present } from "@patchbay/kit";
import type { ProvenCaller } from "@patchbay/engine/ports/callers";
import { asClaimed } from "@patchbay/engine/run/api";
import { receiveJson } from "../kernel/body.ts";
import { type Handler, json } from "../kernel/exchange.ts";
import { apiHandler, type CallerDeps } from "./caller.ts";
import { parse } from "./query-body.ts";
import { countQuery } from "./query-routes.ts";

/** What a client token keeps of its caller, without the role and context that it fixes. */
const lastingOf = ({ subject, ids, issuer, claims }: ProvenCaller) => ({
  subject,
  ids,
  ...present({ issuer, claims }),
});

/** The route by which a key's holder creates client tokens. */
export function clientTokenRoutes(deps: CallerDeps): Record<"createClientToken", Handler> {
  return {
    createClientToken: apiHandler(deps)(async (exchange, caller) => {
      const limiter = () => countQuery(exchange, caller, deps.adapterLimit, "requests");
      const body = await receiveJson(exchange, { limiter, exact: true });
      const { role, context, threadKey, allow, reasoning, expiresInSeconds } = parse(ClientTokenRequest, body, []);
      await deps.runs.requireRole(caller, role);
      const { keyId, proven } = caller;
      const { token, expiresAt } = await deps.clientTokens.create({
        keyId,
        role,
        context: asClaimed(caller, present({ role, context })).context ?? {},
        lifeMs: expiresInSeconds * 1_000,
        allow: allow ?? CLIENT_DOORS_BY_DEFAULT,
        ...(reasoning && { reasoning }),
        ...present({ threadKey }),
        ...(proven && { proven: lastingOf(proven) }),
      });
      return json(exchange, 201, { token, expiresAt: isoTime(expiresAt) });
    }),
  };
}
