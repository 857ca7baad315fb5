import { sql } from "kysely";
import type { CallStore } from "@patchbay/engine/ports/store/call-store";
import { type AcceptedInGroup as Accepted, type Engine, OF_CALL, OF_RUN, repeat } from "../engine.ts";
import { statement } from "../statement.ts";
import { listed } from "../tables/table.ts";
import { grouped } from "@patchbay/database/groups";
import { jsonRows } from "@patchbay/database/postgres-rows";

type Attempt = Parameters<CallStore["accept"]>[0];

/** A turn's calls arrive together, and the steps that store them are grouped, so their acceptances are too. */
export function groupedAccepts(engine: Engine) {
  const accept = grouped<Attempt, Accepted | undefined>({
    keysOf: ({ callId }) => [callId],
    charsOf: ({ callId }) => callId.length,
    store: (attempts) => acceptAll(engine, attempts),
    failed: (error) => engine.health.groupFailed("accepts", error),
  });
  return (attempt: Attempt): Promise<Accepted | undefined> => accept(engine.dialect.scope(), attempt);
}

async function acceptAll(engine: Engine, attempts: readonly Attempt[]): Promise<(Accepted | undefined)[]> {
  const values = { attempts: jsonRows(attempts.map((attempt, at) => ({ ...attempt, at }))) };
  const accepted: (Accepted | undefined)[] = attempts.map(() => undefined);
  for (const row of await repeat(engine, () => acceptRows(engine, values))) accepted[row.at] = row;
  return accepted;
}

/**
 * The lock on the runs excludes a claim, as in `acceptOpen`. Both locks follow the common transaction order: the run,
 * then the call. The range of `fence` is always true: see `storeRows`.
 */
const acceptRows = statement(
  (p: { attempts: string }) => sql<Accepted & { at: number }>`
with attempts as materialized (
  select * from json_to_recordset(cast(${p.attempts} as json)) as x(
    at int, "callId" text, attempt int, fence int, "replicaId" text)
  where fence between 0 and 2147483647
),
own as materialized (
  select attempts.*, ${listed(OF_RUN, "runs")}
  from attempts join calls on calls.id = attempts."callId" join runs on runs.id = calls.run_id
  where runs.fence = attempts.fence and runs.status = 'running'
  order by runs.id
  for share of runs
)
update calls set accepted_by = own."replicaId" from own
where calls.id = own."callId" and calls.attempt = own.attempt and calls.accepted_by is null and calls.outcome is null
  and calls.arrived is null
returning own.at, ${listed(OF_CALL, "calls")}, ${listed(OF_RUN, "own")}`,
);
