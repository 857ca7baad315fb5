import { LeaseLost, type RunStore } from "../ports/run-store.ts";
import type { AccountStore } from "../ports/stores.ts";
import { sortableId } from "./sortable-id.ts";
import type { Engine, Schema } from "./schema.ts";
import { change, statement } from "./statement.ts";
import { transact } from "./transact.ts";

interface RunOfOrg {
  runId: string;
  orgId: string;
}
interface Step extends RunOfOrg {
  step: number;
}

/** Credits: each movement is a ledger entry and a change of the balance in one transaction; a balance is never below 0. */
export function credits(engine: Engine): Pick<RunStore, "hold"> & Pick<AccountStore, "grant" | "balance"> {
  return {
    hold: (orgId, runId, step, micros) =>
      transact(engine, async (trx) => {
        // A hold of a run that has ended would never go back.
        const [running] = await lockRunning(trx, { runId });
        if (!running) throw new LeaseLost(`run ${runId} has ended`);
        return hold(trx, { orgId, runId, step }, micros);
      }),

    grant: (orgId, micros) =>
      transact(engine, async (trx) => {
        if (!(await move(trx, { orgId, micros: whole(micros) })))
          throw new Error(`organisation ${orgId} does not exist or would owe credits`);
        await enter(trx, { orgId, kind: "grant", micros });
        return (await readBalance(trx, { orgId }))[0]!.balance_micros;
      }),

    async balance(orgId) {
      const [org] = await readBalance(engine, { orgId });
      return org?.balance_micros ?? 0;
    },
  };
}

/**
 * Takes `micros` for one turn of a run whose row is locked, less what is held for it already. Returns what is held then, undefined
 * where the balance is lower.
 */
export async function hold(trx: Engine, step: Step, micros: number): Promise<number | undefined> {
  if (whole(micros) === 0) return 0;
  const taken = await move(trx, { orgId: step.orgId, micros: -micros });
  if (taken && (await enter(trx, { ...step, kind: "hold", micros: -micros }))) return micros;
  if (taken) await move(trx, { orgId: step.orgId, micros });
  const [entry] = await readHold(trx, step);
  const held = entry && -entry.micros;
  if (held === undefined || held >= micros) return held;
  const missing = micros - held;
  if (!(await move(trx, { orgId: step.orgId, micros: -missing }))) return undefined;
  if (await raiseHold(trx, { ...step, micros: -micros })) return micros;
  await move(trx, { orgId: step.orgId, micros: missing });
  return held;
}

/** Gives the hold of one turn back less what the turn cost. What a turn cost beyond the balance is not charged. */
export async function settleHold(
  trx: Engine,
  { heldMicros, costMicros, ...turn }: Step & { heldMicros: number; costMicros: number },
): Promise<void> {
  let micros = heldMicros - whole(costMicros);
  const { orgId } = turn;
  if (!(await move(trx, { orgId, micros }))) {
    micros = -(await lockBalance(trx, { orgId }))[0]!.balance_micros;
    await move(trx, { orgId, micros });
  }
  await enter(trx, { ...turn, kind: "settle", micros });
}

/** Gives back what a run holds for turns that never came. */
export async function releaseHolds(trx: Engine, { runId, orgId }: RunOfOrg): Promise<void> {
  for (const { step, micros } of await openHolds(trx, { runId })) {
    await enter(trx, { orgId, runId, step, kind: "release", micros: -micros });
    await move(trx, { orgId, micros: -micros });
  }
}

interface Entry {
  orgId: string;
  runId?: string;
  step?: number | null;
  kind: Schema["ledger"]["kind"];
  micros: number;
}

/** False when the run's step has an entry of this kind already. */
function enter(trx: Engine, { orgId, runId, step, kind, micros }: Entry): Promise<boolean> {
  const ofStep = { run_id: runId ?? null, step: step ?? null };
  return insertEntry(trx, { id: sortableId("led"), org_id: orgId, ...ofStep, kind, micros });
}

function whole(micros: number): number {
  if (!Number.isSafeInteger(micros)) throw new TypeError(`${micros} is no whole number of micro-USD`);
  return micros;
}

const lockRunning = statement((p: { runId: string }, { db }) =>
  db
    .updateTable("runs")
    .set((eb) => ({ status: eb.ref("status") }))
    .where("id", "=", p.runId)
    .where("status", "=", "running")
    .returning("id"),
);

const readBalance = statement((p: { orgId: string }, { db }) =>
  db.selectFrom("orgs").select("balance_micros").where("id", "=", p.orgId),
);

/** The balance, which nobody else can change until the transaction ends. */
const lockBalance = statement((p: { orgId: string }, { db }) =>
  db
    .updateTable("orgs")
    .set((eb) => ({ balance_micros: eb.ref("balance_micros") }))
    .where("id", "=", p.orgId)
    .returning("balance_micros"),
);

/** Adds to the balance; false, and nothing done, when it would fall below 0. */
const move = change((p: { orgId: string; micros: number }, { db }) =>
  db
    .updateTable("orgs")
    .set((eb) => ({ balance_micros: eb("balance_micros", "+", p.micros) }))
    .where("id", "=", p.orgId)
    .where((eb) => eb(eb("balance_micros", "+", p.micros), ">=", 0)),
);

const insertEntry = change((p: Omit<Schema["ledger"], "created_at">, { db, dialect }) =>
  db
    .insertInto("ledger")
    .values({ ...p, created_at: dialect.now })
    .onConflict((conflict) => conflict.columns(["run_id", "step", "kind"]).doNothing()),
);

const readHold = statement((p: Step, { db }) =>
  db
    .selectFrom("ledger")
    .select("micros")
    .where("run_id", "=", p.runId)
    .where("step", "=", p.step)
    .where("kind", "=", "hold"),
);

/** False for a turn that is settled: what its hold took more would never go back. */
const raiseHold = change((p: Step & { micros: number }, { db }) =>
  db
    .updateTable("ledger")
    .set({ micros: p.micros })
    .where("run_id", "=", p.runId)
    .where("step", "=", p.step)
    .where("kind", "=", "hold")
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("ledger as end")
            .select("end.id")
            .where("end.run_id", "=", p.runId)
            .where("end.step", "=", p.step)
            .where("end.kind", "in", ["settle", "release"]),
        ),
      ),
    ),
);

const openHolds = statement((p: { runId: string }, { db }) =>
  db
    .selectFrom("ledger as hold")
    .select(["hold.step", "hold.micros"])
    .where("hold.run_id", "=", p.runId)
    .where("hold.kind", "=", "hold")
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("ledger as end")
            .select("end.id")
            .where("end.run_id", "=", p.runId)
            .whereRef("end.step", "=", "hold.step")
            .where("end.kind", "in", ["settle", "release"]),
        ),
      ),
    ),
);
