import { present } from "@patchbay/kit";
import { ApprovalDecision, ApprovalStatus } from "@patchbay/protocol";
import { invalid } from "@patchbay/engine/ports/service-error";
import { receiveJson } from "../kernel/body.ts";
import { type Exchange, json } from "../kernel/exchange.ts";
import { asStranger } from "@patchbay/engine/ports/fair-queue";
import { apiHandler, type CallerDeps } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import { parse } from "./query-body.ts";
import { countQuery } from "./query-routes.ts";
import { pageOf } from "./run-routes.ts";

const PAGE = 50;

/** Routes that read and decide approvals, for keys with the right to decide. */
export function approvalRoutes(deps: CallerDeps & Pick<HttpDeps, "approvals" | "reads">) {
  const { approvals, reads } = deps;
  const forKey = apiHandler(deps);
  return {
    listApprovals: forKey(async (exchange, caller) => {
      approvals.requireRight(caller);
      const { runId, status } = exchange.c.req.query();
      const filter = present({ runId: runId || undefined, status: status ? statusOf(status) : undefined });
      const asked = { ...pageOf(exchange, PAGE), ...filter };
      return json(exchange, 200, await reads.run(asStranger(caller.orgId), () => approvals.list(caller, asked)));
    }),

    getApproval: forKey(async (exchange, caller) => json(exchange, 200, await approvals.get(caller, idOf(exchange)))),

    decideApproval: forKey(async (exchange, caller) => {
      approvals.requireRight(caller);
      const limiter = () => countQuery(exchange, caller, deps.adapterLimit, "requests");
      const decision = parse(ApprovalDecision, await receiveJson(exchange, { limiter, exact: true }), []);
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
