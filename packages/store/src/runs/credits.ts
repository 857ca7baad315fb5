import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import { LeaseLost, type RunStore } from "@patchbay/engine/ports/store/run-store";
import type { AccountStore } from "@patchbay/engine/ports/store/stores";
import { sortableId } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import type { Schema } from "../tables/schema.ts";
import { is, change, statement } from "../statement.ts";

interface RunOfOrg {
  runId: string;
  orgId: string;
}
interface Step extends RunOfOrg {
  step: number;
}

/**
 * Credits of organisations. A movement changes the ledger and the balance in one transaction, so the ledger sum is
 * always the balance. Every statement that takes credits checks the balance, which therefore never falls below 0.
 * The balance is one row that all the organisation's runs update. Callers change it last in their transaction: a
 * transaction that keeps the lock longer than needed delays every other run.
 */
export function credits(engine: Engine): Pick<RunStore, "reserve"> & Pick<AccountStore, "grant" | "balance"> {
  return {
    reserve: (orgId, runId, step, micros) =>
      transact(engine, async (trx) => {
        // No step would release a reservation that a run makes after its end. The lock prevents the run from ending
        // now.
        const [running] = await lockRunning(trx, { runId });
        if (!running) throw new LeaseLost(`run ${runId} has ended`);
        return reserve(trx, { orgId, runId, step }, micros);
      }),

    grant: (orgId, micros) =>
      transact(engine, async (trx) => {
        const by = { orgId, micros: whole(micros) };
        if (!(await addToBalance(trx, by)) && !(await openBalance(trx, by)))
          throw new Error(`organisation ${orgId} does not exist, or its balance would fall below 0`);
        await enter(trx, { orgId, kind: "grant", micros });
        return (await readBalance(trx, { orgId }))[0]!.micros;
      }),

    async balance(orgId) {
      const [balance] = await readBalance(engine, { orgId });
      return balance?.micros ?? 0;
    },
  };
}

/**
 * Reserves `micros` for one turn of a run whose row is locked. Raises the turn's existing reservation to `micros`,
 * never doubles it: a replica that resumes a run repeats this. Returns the turn's total reservation, undefined when the
 * balance is too low.
 */
export async function reserve(trx: Engine, step: Step, micros: number): Promise<number | undefined> {
  if (whole(micros) === 0) return 0;
  const taken = await addToBalance(trx, { orgId: step.orgId, micros: -micros });
  if (taken && (await enter(trx, { ...step, kind: "reserve", micros: -micros }))) return micros;
  // The turn has a reservation already: undo, then take only the difference.
  if (taken) await addToBalance(trx, { orgId: step.orgId, micros });
  const [entry] = await readReservation(trx, step);
  const reserved = entry && -entry.micros;
  if (reserved === undefined || reserved >= micros) return reserved;
  const missing = micros - reserved;
  if (!(await addToBalance(trx, { orgId: step.orgId, micros: -missing }))) return undefined;
  if (await raiseReservation(trx, { ...step, micros: -micros })) return micros;
  await addToBalance(trx, { orgId: step.orgId, micros: missing });
  return reserved;
}

/** Returns a turn's reservation less the turn's cost. A cost above reservation and balance together is not charged. */
export async function settle(
  trx: Engine,
  { orgId, runId, step, reservedMicros, costMicros }: Step & { reservedMicros: number; costMicros: number },
): Promise<void> {
  let micros = reservedMicros - whole(costMicros);
  if (!(await addToBalance(trx, { orgId, micros }))) {
    micros = -((await lockBalance(trx, { orgId }))[0]?.micros ?? 0);
    await addToBalance(trx, { orgId, micros });
  }
  await enter(trx, { orgId, runId, step, kind: "settle", micros });
}

/** Returns the reservations for a run's turns that never happened. */
export async function releaseReservations(trx: Engine, { runId, orgId }: RunOfOrg): Promise<void> {
  for (const { step, micros } of await openReservations(trx, { runId })) {
    await enter(trx, { orgId, runId, step, kind: "release", micros: -micros });
    await addToBalance(trx, { orgId, micros: -micros });
  }
}

interface Entry {
  orgId: string;
  runId?: string;
  step?: number | null;
  kind: Schema["ledger"]["kind"];
  micros: number;
}

/** False when the step already has an entry with this kind: a repeated commit must not move credits twice. */
function enter(trx: Engine, { orgId, runId, step, kind, micros }: Entry): Promise<boolean> {
  return insertEntry(trx, {
    id: sortableId("led"),
    org_id: orgId,
    run_id: runId ?? null,
    step: step ?? null,
    kind,
    micros,
  });
}

/** The balance as a column of another query. */
export const balanceOf = (eb: ExpressionBuilder<Schema, keyof Schema>, orgId: string | Expression<string>) =>
  eb.fn.coalesce(eb.selectFrom("balances").select("balances.micros").where("balances.org_id", "=", orgId), eb.lit(0));

function whole(micros: number): number {
  if (!Number.isSafeInteger(micros)) throw new TypeError(`micro-USD must be a whole number, got ${micros}`);
  return micros;
}

/** Locks a running run. The no-op update takes the row lock in both databases, which `select for update` does not in SQLite. */
const lockRunning = statement((p: { runId: string }, { db }) =>
  db
    .updateTable("runs")
    .set((eb) => ({ status: eb.ref("status") }))
    .where(is({ id: p.runId, status: "running" }))
    .returning("id"),
);

const readBalance = statement((p: { orgId: string }, { db }) =>
  db.selectFrom("balances").select("micros").where("org_id", "=", p.orgId),
);

/** Locks the balance until the transaction ends and reads it. */
const lockBalance = statement((p: { orgId: string }, { db }) =>
  db
    .updateTable("balances")
    .set((eb) => ({ micros: eb.ref("micros") }))
    .where("org_id", "=", p.orgId)
    .returning("micros"),
);

/** False, with no change, when the balance would fall below 0. One statement, so two runs cannot both spend the last credit. */
const addToBalance = change((p: { orgId: string; micros: number }, { db }) =>
  db
    .updateTable("balances")
    .set((eb) => ({ micros: eb("micros", "+", p.micros) }))
    .where("org_id", "=", p.orgId)
    .where((eb) => eb(eb("micros", "+", p.micros), ">=", 0)),
);

/** Inserts the first grant's row. False for an organisation that does not exist, and for a negative grant. */
const openBalance = change((p: { orgId: string; micros: number }, { db }) =>
  db
    .insertInto("balances")
    .columns(["org_id", "micros"])
    .expression((eb) =>
      eb
        .selectFrom("orgs")
        .select(["id", sql<number>`cast(${p.micros} as bigint)`.as("micros")])
        .where("id", "=", p.orgId)
        .where(sql<number>`cast(${p.micros} as bigint)`, ">=", 0),
    )
    .onConflict((conflict) =>
      conflict
        .column("org_id")
        .doUpdateSet((eb) => ({ micros: eb("balances.micros", "+", eb.ref("excluded.micros")) })),
    ),
);

/** The unique key on run, step and kind prevents a second entry. */
const insertEntry = change((p: Omit<Schema["ledger"], "created_at">, { db, dialect }) =>
  db
    .insertInto("ledger")
    .values({ ...p, created_at: dialect.now })
    .onConflict((conflict) => conflict.columns(["run_id", "step", "kind"]).doNothing()),
);

const readReservation = statement((p: Step, { db }) =>
  db
    .selectFrom("ledger")
    .select("micros")
    .where(is({ run_id: p.runId, step: p.step, kind: "reserve" })),
);

/** A run's reservations that are neither settled nor released. */
const openOf = ({ db }: Engine, runId: string) =>
  db
    .selectFrom("ledger as reserved")
    .where((eb) => eb.and({ "reserved.run_id": runId, "reserved.kind": "reserve" }))
    .where(
      sql<SqlBool>`not exists (select 1 from ledger as done
        where done.run_id = ${runId} and done.step = reserved.step and done.kind in ('settle', 'release'))`,
    );

const openReservations = statement((p: { runId: string }, engine) =>
  openOf(engine, p.runId).select(["reserved.step", "reserved.micros"]),
);

/** False for a settled turn: no step would return what is added to its reservation. */
const raiseReservation = change((p: Step & { micros: number }, engine) =>
  engine.db
    .updateTable("ledger")
    .set({ micros: p.micros })
    .where("id", "in", openOf(engine, p.runId).select("reserved.id").where("reserved.step", "=", p.step)),
);
