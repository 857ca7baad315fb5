import { SUSPECT_CRASHES } from "@patchbay/engine/ports/quarantine";

/** A figure of a run's rows in a table. */
const of = (table: string, figure: string, which = "true"): string =>
  `(select ${figure} from ${table} where run_id = runs.id and ${which})`;
const ended = (figure: string, open: string): string => `case when finished_at is null then ${open} else ${figure} end`;
const ends = (end: string): string => `exists ${of("run_events", "1", `body like '{"type":${end}%'`)}`;

const FINAL = `(body like '{"type":"finalResponse"%' or body like '{"type":"error"%')`;
const MICROS = "cast(coalesce(sum(cost_micros), 0) as bigint)";
const COST = of("usage", MICROS);
const CHARGE = of("ledger", "cast(coalesce(sum(-micros), 0) as bigint)");
const UNSETTLED = `kind = 'reserve' and not exists (
  select 1 from ledger as done where done.run_id = runs.id and done.step = held.step and done.kind <> 'reserve')`;
const STATUS = `case when ${ends('"finalResponse"')} then 'succeeded'
  when ${ends('"error"%"code":"cancelled"')} then 'cancelled' else 'failed' end`;

const TABLES = ["run_events", "turns", "calls", "approvals", "usage", "ledger", "audit"];
const FOREIGN = TABLES.map((table) => of(table, "count(*)", "org_id <> runs.org_id")).join(" + ");

/** A run without a turn may end later than the next one starts. */
const OVERLAP = `coalesce((select case when earlier.finished_at > runs.started_at then 1 when earlier.finished_at is null then 1 end
  from runs as earlier where earlier.thread_id = runs.thread_id and earlier.position < runs.position
    and exists (select 1 from turns where run_id = earlier.id) and exists ${of("turns", "1")}
  order by earlier.position desc limit 1), 0)`;

/**
 * Only the time since the last gap is known to be served. The gap may be a step of the database's clock, and then a run in progress
 * still has all its time. A run that was created before the clock was set back has a deadline older than itself, and the
 * later gap is longer than its life. A suspect without an owner is in quarantine.
 */
const DUE = `deadline_at + 20000 + case when since <= created_at then 0
  when gap_from < created_at then since - gap_from else since - created_at end`;
const LATE = `(select count(*) from served where last_at > ${DUE} and (finished_at > ${DUE}
  or finished_at is null and status <> 'waiting' and (owner is not null or crashes < ${SUSPECT_CRASHES})))`;

/** Of a run that ended with `crash_loop`, which violates nothing. */
export const CRASHES = "crashes of its process";

/** Pairs of SQL expressions that are equal for every row of `runs`. */
export const FIGURES: Readonly<Record<string, readonly [expected: string, found: string]>> = {
  events: ["last_seq", of("run_events", "count(*)")],
  "last event": ["last_seq", of("run_events", "coalesce(max(seq), 0)")],
  "final events": [ended("1", "0"), of("run_events", "count(*)", FINAL)],
  "final event": [ended("last_seq", "null"), of("run_events", "max(seq)", FINAL)],
  status: [ended(STATUS, "case when status in ('queued', 'waiting') then status else 'running' end"), "status"],
  "turns with usage": [of("turns", "count(*)"), of("usage", "count(*)")],
  "micro-USD of usage": [of("turns", MICROS), COST],
  "micro-USD in lists": [COST, `coalesce(${of("run_facts", "cost_micros")}, ${COST})`],
  // A turn that costs more than its reservation and the balance is charged less.
  "micro-USD charged": [COST, ended(`case when ${CHARGE} > ${COST} then ${CHARGE} else ${COST} end`, COST)],
  "open reservations": ["0", ended(of("ledger as held", "count(*)", UNSETTLED), "0")],
  "rows of other organisations": ["0", FOREIGN],
  "earlier runs in progress in its thread": ["0", OVERLAP],
  "ends more than 20 s after its deadline": ["0", LATE],
  [CRASHES]: ["0", `case when ${ends('"error"%"code":"crash_loop"')} then crashes else 0 end`],
};
