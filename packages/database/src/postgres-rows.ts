import { sql } from "kysely";
import { storedText } from "./stored-text.ts";

/** Rows as one value. Postgres can store neither NUL nor half a surrogate pair in text, and rejects both in JSON. */
export function jsonRows(rows: readonly object[]): string {
  const json = JSON.stringify(rows);
  return UNSTORABLE.test(json) ? JSON.stringify(rows, storable) : json;
}

/** Matches more than necessary: the escapes within a text that contains JSON, too. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

const storable = (_name: string, value: unknown): unknown => storedText(value);

/**
 * The last part of a `with` that moves credits. Expects `moved`, the movements that must happen, and `wanted`, ordered
 * reservations with their running sum `up_to`. Grants those that the balance can pay after the movements: the caller
 * tries the others in a separate transaction, which decides with the newest balance. The ledger's sum stays the
 * balance, because the same rows change both. A negative balance violates its constraint, and nothing is stored.
 */
export const MOVE_CREDITS = sql`balance as materialized (
  select org_id, micros from balances where org_id in (select org_id from moved union select org_id from wanted)
  for no key update
),
granted as materialized (
  select wanted.* from wanted join balance using (org_id)
  where up_to <= balance.micros + (select coalesce(sum(moved.micros), 0) from moved where moved.org_id = wanted.org_id)
),
entries as materialized (
  select entry, org_id, run_id, step, kind, micros, now from moved
  union all
  select entry, org_id, run_id, step, 'reserve', -micros, now from granted
),
new_entries as (
  insert into ledger (id, org_id, run_id, step, kind, micros, created_at)
  select entry, org_id, run_id, step, kind, micros, now from entries
),
new_balance as (
  update balances set micros = balances.micros + change.micros
  from (select org_id, cast(sum(micros) as bigint) as micros from entries group by org_id) as change
  where balances.org_id = change.org_id
)`;
