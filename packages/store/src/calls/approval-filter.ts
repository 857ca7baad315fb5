import { present } from "@patchbay/kit";
import { CALLER } from "@patchbay/protocol";
import { type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { ApprovalFilter } from "@patchbay/engine/ports/store/approvals";
import { toJson } from "../columns.ts";
import type { Engine } from "../engine.ts";
import type { Schema } from "../tables/schema.ts";

/** The run's proven caller. */
export const callerId = sql<string | null>`(select caller_id from runs where runs.id = approvals.run_id)`;

type Approvals = ExpressionBuilder<Schema, "approvals">;

const ofRoles = (eb: Approvals, roles: readonly string[] | undefined) =>
  roles ? eb.or([eb("role", "is", null), ...(roles.length > 0 ? [eb("role", "in", roles)] : [])]) : eb.lit(true);

function decidedBy(
  { dialect }: Engine,
  eb: Approvals,
  { roles, ofRoles: of }: NonNullable<ApprovalFilter["orDecidedBy"]>,
) {
  const decides = eb.ref("decides");
  const named = roles
    ? eb.or(roles.map((role) => sql<SqlBool>`${dialect.indexOf(decides, toJson(role))} > 0`))
    : eb(decides, "<>", toJson([CALLER]));
  return eb.and([named, ofRoles(eb, of)]);
}

/** Condition for the approvals in a list. */
export function matches(
  engine: Engine,
  eb: Approvals,
  { orgId, agentId, runId, approvalId, status, visibleTo, orDecidedBy }: ApprovalFilter,
) {
  const { dialect } = engine;
  const all = [eb.and(present({ org_id: orgId, agent_id: agentId, run_id: runId, id: approvalId }))];
  if (visibleTo) {
    const { roles, callers } = visibleTo;
    const seen = [ofRoles(eb, roles), ...(callers ? [eb(callerId, "in", callers)] : [])];
    all.push(eb.or([eb.and(seen), ...(orDecidedBy ? [decidedBy(engine, eb, orDecidedBy)] : [])]));
  }
  const open = eb("status", "=", "pending");
  if (status === "pending") all.push(open, eb("expires_at", ">", dialect.now));
  else if (status === "expired")
    all.push(eb.or([eb("status", "=", "expired"), eb.and([open, eb("expires_at", "<=", dialect.now)])]));
  else all.push(eb.and(present({ status })));
  return eb.and(all);
}
