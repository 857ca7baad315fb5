import type { Transaction } from "kysely";
import { LeaseLost, type RunStore } from "../ports/run-store.ts";
import type { AccountStore } from "../ports/stores.ts";
import { sortableId } from "./sortable-id.ts";
import type { Engine, Schema } from "./schema.ts";

type Trx = Transaction<Schema>;
interface RunOfOrg {
  runId: string;
  orgId: string;
}

/** Credits: each movement is a ledger entry and a change of the balance in one transaction; a balance is never below 0. */
export function credits(engine: Engine): Pick<RunStore, "hold"> & Pick<AccountStore, "grant" | "balance"> {
  const { db } = engine;
  return {
    hold: (orgId, runId, step, micros) => hold(engine, { orgId, runId }, step, whole(micros)),

    grant: (orgId, micros) =>
      db.transaction().execute(async (trx) => {
        const balance = await move(trx, orgId, whole(micros));
        if (balance === undefined) throw new Error(`organisation ${orgId} does not exist or would owe credits`);
        await enter(engine, trx, { orgId, kind: "grant", micros });
        return balance;
      }),

    async balance(orgId) {
      const org = await db.selectFrom("orgs").select("balance_micros").where("id", "=", orgId).executeTakeFirst();
      return org?.balance_micros ?? 0;
    },
  };
}

class TooLittle extends Error {}

async function hold(engine: Engine, run: RunOfOrg, step: number, micros: number): Promise<boolean> {
  try {
    return await engine.db.transaction().execute(async (trx) => {
      await lockRunning(trx, run.runId);
      if (micros === 0) return true;
      const entered = await enter(engine, trx, { ...run, step, kind: "hold", micros: -micros });
      if (entered && (await move(trx, run.orgId, -micros)) === undefined) throw new TooLittle();
      return true;
    });
  } catch (error) {
    if (error instanceof TooLittle) return false;
    throw error;
  }
}

/** A hold of a run that has ended would never go back. */
async function lockRunning(trx: Trx, runId: string): Promise<void> {
  const row = await trx
    .updateTable("runs")
    .set((eb) => ({ status: eb.ref("status") }))
    .where("id", "=", runId)
    .where("status", "=", "running")
    .returning("id")
    .executeTakeFirst();
  if (!row) throw new LeaseLost(`run ${runId} has ended`);
}

/** Gives the hold of one turn back less what the turn cost. What a turn cost beyond the balance is not charged. */
export async function settleHold(
  engine: Engine,
  trx: Trx,
  turn: RunOfOrg & { step: number; costMicros: number },
): Promise<void> {
  const held = await trx
    .selectFrom("ledger")
    .select("micros")
    .where("run_id", "=", turn.runId)
    .where("step", "=", turn.step)
    .where("kind", "=", "hold")
    .executeTakeFirst();
  let micros = -(held?.micros ?? 0) - whole(turn.costMicros);
  if ((await move(trx, turn.orgId, micros)) === undefined) {
    micros = -(await lockBalance(trx, turn.orgId));
    await move(trx, turn.orgId, micros);
  }
  await enter(engine, trx, { orgId: turn.orgId, runId: turn.runId, step: turn.step, kind: "settle", micros });
}

/** Gives back what a run holds for turns that never came. */
export async function releaseHolds(engine: Engine, trx: Trx, { runId, orgId }: RunOfOrg): Promise<void> {
  const open = await trx
    .selectFrom("ledger as hold")
    .select(["hold.step", "hold.micros"])
    .where("hold.run_id", "=", runId)
    .where("hold.kind", "=", "hold")
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("ledger as end")
            .select("end.id")
            .where("end.run_id", "=", runId)
            .whereRef("end.step", "=", "hold.step")
            .where("end.kind", "in", ["settle", "release"]),
        ),
      ),
    )
    .execute();
  for (const { step, micros } of open) {
    await enter(engine, trx, { orgId, runId, step, kind: "release", micros: -micros });
    await move(trx, orgId, -micros);
  }
}

/** Adds to the balance; undefined, and nothing done, when it would fall below 0. */
async function move(trx: Trx, orgId: string, micros: number): Promise<number | undefined> {
  const org = await trx
    .updateTable("orgs")
    .set((eb) => ({ balance_micros: eb("balance_micros", "+", micros) }))
    .where("id", "=", orgId)
    .where((eb) => eb(eb("balance_micros", "+", micros), ">=", 0))
    .returning("balance_micros")
    .executeTakeFirst();
  return org?.balance_micros;
}

/** The balance, which nobody else can change until the transaction ends. */
async function lockBalance(trx: Trx, orgId: string): Promise<number> {
  const org = await trx
    .updateTable("orgs")
    .set((eb) => ({ balance_micros: eb.ref("balance_micros") }))
    .where("id", "=", orgId)
    .returning("balance_micros")
    .executeTakeFirstOrThrow();
  return org.balance_micros;
}

interface Entry {
  orgId: string;
  runId?: string;
  step?: number | null;
  kind: Schema["ledger"]["kind"];
  micros: number;
}

/** False when the run's step has an entry of this kind already. */
async function enter({ dialect }: Engine, trx: Trx, entry: Entry): Promise<boolean> {
  const row = await trx
    .insertInto("ledger")
    .values({
      id: sortableId("led"),
      org_id: entry.orgId,
      run_id: entry.runId ?? null,
      step: entry.step ?? null,
      kind: entry.kind,
      micros: entry.micros,
      created_at: dialect.now,
    })
    .onConflict((conflict) => conflict.columns(["run_id", "step", "kind"]).doNothing())
    .returning("id")
    .executeTakeFirst();
  return row !== undefined;
}

function whole(micros: number): number {
  if (!Number.isSafeInteger(micros)) throw new TypeError(`${micros} is no whole number of micro-USD`);
  return micros;
}
