import { sql } from "kysely";
import type { Lease, RunCommit } from "@patchbay/engine/ports/store/run-store";
import { auditRowOf } from "../audit/audit.ts";
import { REPLACE_CALL } from "../calls/calls.ts";
import { isGivenUp } from "../calls/late-calls.ts";
import { sortableId } from "../columns.ts";
import { type Engine, repeat } from "../engine.ts";
import { countsAsHistory } from "../runs/history.ts";
import { finishRowOf } from "../runs/runs-commit.ts";
import { statement } from "../statement.ts";
import { entryColumns } from "../tables/audit.ts";
import { callColumns, callRowOf } from "../tables/calls.ts";
import { listed } from "../tables/table.ts";
import { bothColumns, storedTurn, turnColumns, usageColumns } from "../tables/turns.ts";
import { grouped } from "@patchbay/database/groups";
import { jsonRows, MOVE_CREDITS } from "@patchbay/database/postgres-rows";

/** One step's rows, each with the run's id. */
interface Step {
  lease: Lease;
  change: RunCommit;
}

/**
 * Stores steps in groups: one statement, one round trip and one commit for the steps that an organisation's runs finish
 * while the previous statement is in progress. Returns the credit reserved by the step's `reserve`, or undefined when
 * the statement did not store the step: its run has moved, or the step needs a decision between its rows. The caller
 * then stores it in a separate transaction.
 */
export function groupedSteps(engine: Engine) {
  const store = grouped<Step, number | undefined>({
    keysOf: ({ lease }) => [lease.runId],
    // Events contain what the other rows contain: answers, arguments and results.
    charsOf: ({ change }) => (change.events ?? []).reduce((sum, { body }) => sum + body.length, 0),
    store: (steps) => storeSteps(engine, steps),
    failed: (error) => engine.health.groupFailed("steps", error),
  });
  return (lease: Lease, change: RunCommit): Promise<number | undefined> =>
    isPlain(change) ? store(engine.dialect.scope(), { lease, change }) : Promise.resolve(undefined);
}

/**
 * True when no row in the step depends on what another transaction may have stored for its calls, its approvals, its
 * Idempotency-Key, its agent's webhook or the runs that it replaces.
 */
function isPlain({ events = [], calls = [], approvals, wait, finish }: RunCommit): boolean {
  if (approvals || wait) return false;
  const [first] = events;
  const isGapless = events.every(({ seq }, index) => seq === first!.seq + index);
  if (finish?.releaseIdempotencyKey || finish?.report || finish?.replaces) return false;
  return isGapless && !calls.some(isGivenUp);
}

async function storeSteps(engine: Engine, steps: readonly Step[]): Promise<(number | undefined)[]> {
  // In id order, like every transaction that locks several runs, so that two of them never wait for each other.
  const sorted = steps.toSorted((a, b) => (a.lease.runId < b.lease.runId ? -1 : 1));
  const values = {
    steps: jsonRows(sorted.map(stepRowOf)),
    events: jsonRows(sorted.flatMap(({ lease, change }) => ofRun(lease, change.events))),
    turns: jsonRows(
      sorted.flatMap(({ lease, change }) => ofRun(lease, change.turn && [bothColumns.rowOf(storedTurn(change.turn))])),
    ),
    calls: jsonRows(sorted.flatMap(({ lease, change }) => ofRun(lease, change.calls?.map(callRowOf)))),
    audit: jsonRows(sorted.flatMap(({ lease, change }) => ofRun(lease, change.audit?.map(auditRowOf)))),
  };
  const rows = await repeat(engine, () => storeRows(engine, values));
  const stored = new Map(rows.map(({ run_id, reserved }) => [run_id, reserved]));
  return steps.map(({ lease }) => stored.get(lease.runId));
}

/** `of_run`: an audit entry's run may differ from the run that writes it. */
const ofRun = <Row extends object>({ runId }: Lease, rows: readonly Row[] = []) =>
  rows.map((row) => ({ ...row, of_run: runId }));

function stepRowOf({ lease, change }: Step) {
  const { events = [], turn, finish, reserve } = change;
  return {
    run_id: lease.runId,
    fence: lease.fence,
    events: events.length,
    first_seq: events[0]?.seq,
    ...(finish && { ...finishRowOf(finish), release_id: sortableId("led") }),
    ...(turn &&
      turn.reservedMicros > 0 && {
        settle_id: sortableId("led"),
        settle_step: turn.step,
        settle_micros: turn.reservedMicros - turn.costMicros,
      }),
    ...(reserve &&
      reserve.micros > 0 && {
        reserve_id: sortableId("led"),
        reserve_step: reserve.step,
        reserve_micros: reserve.micros,
      }),
  };
}

interface Values {
  steps: string;
  events: string;
  turns: string;
  calls: string;
  audit: string;
}

/** Selects the runs with matching fence and sequence, as `advanced`. Thread rows come first, as in every statement. */
const ADVANCE = sql`
ending as materialized (
  select runs.id, runs.thread_id, coalesce(runs.role, '') as role
  from steps join runs on runs.id = steps.run_id and runs.fence = steps.fence and runs.status = 'running'
  where steps.status is not null
),
touched as (
  update threads set updated_at = clock.now from ending, clock where threads.id = ending.thread_id returning 1
),
touched_roles as (
  update thread_roles set updated_at = clock.now from ending, clock
  where thread_roles.thread_id = ending.thread_id and thread_roles.role = ending.role returning 1
),
advanced as (
  update runs set
    last_seq = runs.last_seq + seen.events,
    status = coalesce(seen.status, runs.status),
    finished_at = case when seen.status is not null then seen.now end,
    result = seen.result, ending = seen.ending, history = seen.history, unanswered = seen.unanswered,
    history_total = case when seen.status is not null then seen.history_bytes + coalesce((
      select earlier.history_total from runs as earlier
      where earlier.thread_id = seen.thread_id and earlier.position < seen.position
        and earlier.role is not distinct from seen.role and earlier.subject is not distinct from seen.subject
        and earlier.history is not null and ${countsAsHistory("earlier")}
      order by earlier.position desc limit 1), 0) end,
    owner = case when seen.status is null then runs.owner end,
    lease_until = case when seen.status is null then runs.lease_until end
  from (
    select steps.*, clock.now, visible.ctid as version, visible.thread_id, visible.position, visible.role, visible.subject
    from steps join runs as visible on visible.id = steps.run_id, clock,
      (select count(*) as threads from touched) as threads, (select count(*) as roles from touched_roles) as roles
    where threads.threads >= 0 and roles.roles >= 0
  ) as seen
  where runs.id = seen.run_id and runs.ctid = seen.version and runs.fence = seen.fence and runs.status = 'running'
    and (seen.first_seq is null or runs.last_seq + 1 = seen.first_seq)
  returning runs.id, runs.org_id, runs.agent_id, runs.key_id, runs.role, seen.status, seen.now, seen.release_id,
    seen.settle_id, seen.settle_step, seen.settle_micros, seen.reserve_id, seen.reserve_step, seen.reserve_micros
),`;

const TURN = listed(turnColumns.names);
const USAGE = listed(usageColumns.names);

/** What an audit entry takes from its run, in place of or without an own value. */
const OF_RUN: Record<string, string> = {
  org_id: "run.org_id",
  agent_id: "coalesce(x.agent_id, run.agent_id)",
  run_id: "coalesce(x.run_id, run.id)",
  role: "coalesce(x.role, run.role)",
  key_id: "coalesce(x.key_id, run.key_id)",
};
const AUDITED = sql.raw(entryColumns.names.map((name) => OF_RUN[name] ?? `x.${name}`).join(", "));

/** The rows that the steps add to their runs, except their audit entries. */
const addRows = (p: Values) => sql`
new_events as (
  insert into run_events (run_id, seq, org_id, body, created_at)
  select run.id, x.seq, run.org_id, x.body, run.now
  from json_to_recordset(cast(${p.events} as json)) as x(of_run text, seq int, body text)
  join advanced as run on run.id = x.of_run
),
all_turns as materialized (
  select run.id as run_id, run.org_id, run.agent_id, run.role, run.now, x.*
  from json_to_recordset(cast(${p.turns} as json)) as x(
    of_run text, ${sql.raw(bothColumns.types)})
  join advanced as run on run.id = x.of_run
),
new_turns as (
  insert into turns (run_id, org_id, ${TURN}, created_at) select run_id, org_id, ${TURN}, now from all_turns
),
new_usage as (
  insert into usage (run_id, org_id, agent_id, role, turns, ${USAGE}, created_at)
  select run_id, org_id, agent_id, role, 1, ${USAGE}, now from all_turns
),
new_calls as (
  insert into calls (run_id, org_id, agent_id, role, ${listed(callColumns.names)}, state, created_at, finished_at)
  select run.id, run.org_id, run.agent_id, run.role, ${listed(callColumns.names, "x")}, x.state, run.now,
    case when x.outcome is not null then run.now end
  from json_to_recordset(cast(${p.calls} as json)) as x(of_run text, ${sql.raw(callColumns.types)}, state text)
  join advanced as run on run.id = x.of_run
  ${REPLACE_CALL}
),`;

/** The credit that the steps settle, release and reserve, as `moved` and `wanted`. */
const CREDITS = sql`
moved as materialized (
  select org_id, id as run_id, settle_step as step, settle_id as entry, 'settle' as kind, settle_micros as micros, now
  from advanced where settle_id is not null
  union all
  select run.org_id, run.id, held.step, run.release_id || lpad(cast(held.step as text), 6, '0'), 'release', -held.micros, run.now
  from advanced as run join ledger as held on held.run_id = run.id and held.kind = 'reserve'
  where run.status is not null and held.step is distinct from run.settle_step and not exists (
    select from ledger as done
    where done.run_id = held.run_id and done.step = held.step and done.kind in ('settle', 'release'))
),
wanted as materialized (
  select org_id, id as run_id, reserve_step as step, reserve_id as entry, reserve_micros as micros, now,
    sum(reserve_micros) over (partition by org_id order by id) as up_to
  from advanced as run
  where reserve_id is not null and not exists (
    select from ledger as held where held.run_id = run.id and held.step = run.reserve_step and held.kind = 'reserve')
),`;

/**
 * All rows for the steps. Every insert joins `advanced`, the runs that the statement advanced under their fence, so
 * that a step whose lease is lost writes nothing, and the others are stored.
 * The statement sees the rows that were committed before it began. `advanced` therefore uses a run only while its row
 * is the version that the statement sees (`ctid`): every change to a run's rows locks the run by an update, so the
 * run's ledger rows are then current too. Otherwise the step is left to a transaction, whose statements see what they
 * waited for.
 * The range of `fence` is always true. With it, the planner expects one step instead of a hundred, and so uses indexes
 * even if the tables are small when it plans.
 */
const storeRows = statement(
  (p: Values, { dialect }: Engine) => sql<{ run_id: string; reserved: number }>`
with clock as materialized (select ${dialect.now} as now),
steps as materialized (
  select * from json_to_recordset(cast(${p.steps} as json)) as x(
    run_id text, fence int, events int, first_seq int, status text, result text, ending text, history text,
    history_bytes bigint, unanswered text, release_id text, settle_id text, settle_step int, settle_micros bigint,
    reserve_id text, reserve_step int, reserve_micros bigint)
  where fence between 0 and 2147483647
),
${ADVANCE}
new_audit as (
  insert into audit (${listed(entryColumns.names)}, created_at) select ${AUDITED}, run.now
  from json_to_recordset(cast(${p.audit} as json)) as x(of_run text, ${sql.raw(entryColumns.types)})
  join advanced as run on run.id = x.of_run
),
${addRows(p)}
${CREDITS}
${MOVE_CREDITS}
select advanced.id as run_id, coalesce(granted.micros, 0) as reserved
from advanced left join granted on granted.run_id = advanced.id`,
);
