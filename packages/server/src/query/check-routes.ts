import { CheckRequest, MESSAGES, RoleFunction } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { standardError } from "@patchbay/engine/ports/service-error";
import { asClaimed, type Principal } from "@patchbay/engine/run/api";
import { receiveJson } from "../kernel/body.ts";
import { type Exchange, type Handler, json } from "../kernel/exchange.ts";
import { apiHandler, type CallerDeps } from "./caller.ts";
import { parse } from "./query-body.ts";
import { countQuery } from "./query-routes.ts";

/** Routes that say what a role may call, for keys with the right to check. No handler runs. */
export function checkRoutes(deps: CallerDeps): Record<"listFunctions" | "checkCall", Handler> {
  const { runs } = deps;
  const forKey = (answer: (exchange: Exchange, caller: Principal) => Promise<object | undefined>) =>
    apiHandler(deps)(async (exchange, caller) => {
      if (!caller.can?.includes("check"))
        throw standardError("role_not_allowed", "create a key with the right: patchbay keys create --can check.");
      return json(exchange, 200, (await answer(exchange, caller)) ?? NO_SESSION);
    });
  const count = (exchange: Exchange, caller: Principal) => countQuery(exchange, caller, deps.adapterLimit, "requests");

  return {
    listFunctions: forKey(async (exchange, caller) => {
      await count(exchange, caller);
      const { role } = parse(CheckRequest.pick({ role: true }), exchange.c.req.query(), []);
      await runs.requireRole(caller, role);
      const found = await runs.functionsFor(caller, asClaimed(caller, present({ role })).role);
      const items = found?.functions.map((one) => RoleFunction.parse(one));
      return found && { items, ...present({ role: found.role }) };
    }),

    checkCall: forKey(async (exchange, caller) => {
      const limiter = () => count(exchange, caller);
      const asked = parse(CheckRequest, await receiveJson(exchange, { limiter, exact: true }), []);
      await runs.requireRole(caller, asked.role);
      return await runs.check(caller, asked);
    }),
  };
}

/** As a query without a runtime ends: a client must not read it as a decision. */
const NO_SESSION = { success: false, code: "agent_session_not_found", errorMessage: MESSAGES.agent_session_not_found };
