import { ApprovalDecision, ApprovalStatus } from "@patchbay/protocol";
import { invalid } from "../../ports/service-error.ts";
import { parseBody, readBody, requireJsonType } from "../kernel/body.ts";
import { type Exchange, type Handler, json } from "../kernel/exchange.ts";
import { asStranger } from "../kernel/fair-queue.ts";
import { asApiCaller } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import { parse } from "./query-body.ts";
import { pageOf } from "./run-routes.ts";

const PAGE = 50;

/** Routes by which keys with the right to decide read and decide approvals. */
export function approvalRoutes(deps: HttpDeps): Record<"listApprovals" | "getApproval" | "decideApproval", Handler> {
  const { approvals, reads } = deps;
  return {
    listApprovals: (exchange) =>
      asApiCaller(exchange, deps, async (caller) => {
        approvals.requireRight(caller);
        const { runId, status } = exchange.c.req.query();
        const asked = {
          ...pageOf(exchange, PAGE),
          ...(runId && { runId }),
          ...(status && { status: statusOf(status) }),
        };
        return json(exchange, 200, await reads.run(asStranger(caller.orgId), () => approvals.list(caller, asked)));
      }),

    getApproval: (exchange) =>
      asApiCaller(exchange, deps, async (caller) => json(exchange, 200, await approvals.get(caller, idOf(exchange)))),

    decideApproval: (exchange) =>
      asApiCaller(exchange, deps, async (caller) => {
        approvals.requireRight(caller);
        requireJsonType(exchange);
        const decision = parse(ApprovalDecision, parseBody(await readBody(exchange)), []);
        return json(exchange, 200, await approvals.decide(caller, idOf(exchange), decision));
      }),
  };
}

const idOf = ({ c }: Exchange): string => c.req.param("approval_id") ?? "";

function statusOf(text: string): ApprovalStatus {
  const { success, data } = ApprovalStatus.safeParse(text);
  if (!success) throw invalid([{ path: "status", message: `must be one of ${ApprovalStatus.options.join(", ")}` }]);
  return data;
}
