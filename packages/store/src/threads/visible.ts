import type { Expression, ExpressionBuilder, SqlBool } from "kysely";
import type { VisibleTo } from "@patchbay/engine/ports/callers";
import type { Schema } from "../tables/schema.ts";

/** Condition for the runs that a reader may see. */
export function visibleRuns<T extends keyof Schema>(
  eb: ExpressionBuilder<Schema, T | "runs">,
  { roles, callers }: VisibleTo,
): Expression<SqlBool> {
  const runs = eb as ExpressionBuilder<Schema, "runs">;
  const all: Expression<SqlBool>[] = [];
  if (roles)
    all.push(runs.or([runs("runs.role", "is", null), ...(roles.length > 0 ? [runs("runs.role", "in", roles)] : [])]));
  if (callers) all.push(runs("runs.caller_id", "in", callers));
  return runs.and(all);
}
