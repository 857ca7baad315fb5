import { type Engine, transact } from "../engine.ts";
import { ago, DAY_MS, startOfDay } from "../moments.ts";
import { oldestFirst, type PageEnd } from "../page-cursor.ts";
import type { Pass } from "../pass.ts";
import type { Schema } from "../tables/schema.ts";
import { amountColumns } from "../tables/turns.ts";
import { BATCH, eachPage, forEachAgent, forEachOrg } from "./batches.ts";
import { is } from "../statement.ts";

/**
 * Visits old rows of runs page by page. `add` condenses the rows of deleted runs. One transaction deletes and adds, so
 * that no reader sees an amount twice or not at all.
 */
function condense(
  engine: Engine,
  pass: Pass,
  pageAfter: (end?: PageEnd) => Promise<(PageEnd & { run_id: string | null })[]>,
  add: (trx: Engine, runIds: string[]) => Promise<void>,
): Promise<void> {
  return eachPage(pass, async (end) => {
    const page = await pageAfter(end);
    const deleted = await deletedOf(engine, new Set(page.map(({ run_id }) => run_id!)));
    if (deleted.length > 0) await transact(engine, (trx) => add(trx, deleted));
    return page;
  });
}

/** `step` in a usage row that sums a day's turns. Real steps start at 0. */
const OF_A_DAY = -1;

/**
 * Condenses usage from deleted runs that is older than `days`: one row per day (UTC), agent, role and model. Total
 * costs, tokens and turns stay exact.
 */
export async function condenseUsage(engine: Engine, days: number, pass: Pass): Promise<void> {
  const cutoff = ago(engine, days * DAY_MS);
  await forEachAgent(engine, pass, (agent) => {
    const turns = engine.db
      .selectFrom("usage")
      .select(["created_at as at", "run_id as id", "run_id"])
      .where(is({ org_id: agent.org_id, agent_id: agent.id }))
      .where("created_at", "<", cutoff)
      .where("step", "<>", OF_A_DAY)
      .limit(BATCH);
    return condense(
      engine,
      pass,
      (end) => oldestFirst(turns, end, { at: "created_at", id: "run_id" }).execute(),
      async ({ db }, runIds) => {
        const old = db.deleteFrom("usage").where("run_id", "in", runIds).where("created_at", "<", cutoff);
        const rows = await old.returningAll().execute();
        for (const sum of summed(rows.map(ofDay), ({ run_id }) => run_id, AMOUNTS)) await addToDay({ db }, sum);
      },
    );
  });
}

type Usage = Schema["usage"];
const AMOUNTS = ["turns" as const, ...amountColumns.names];

/** With this id, all turns with one day, role and model share one row. */
function ofDay(turn: Usage): Usage {
  const at = startOfDay(turn.created_at);
  const { agent_id, role, provider, model } = turn;
  return {
    ...turn,
    run_id: JSON.stringify([at, agent_id, role, provider, model]),
    step: OF_A_DAY,
    first_token_ms: null,
    created_at: at,
  };
}

/** Adds to the day's row if an earlier sweep has created one. */
async function addToDay({ db }: Pick<Engine, "db">, sum: Usage): Promise<void> {
  await db
    .insertInto("usage")
    .values(sum)
    .onConflict((conflict) =>
      conflict
        .columns(["run_id", "step"])
        .doUpdateSet((eb) =>
          Object.fromEntries(AMOUNTS.map((name) => [name, eb(`usage.${name}`, "+", eb.ref(`excluded.${name}`))])),
        ),
    )
    .execute();
}

/**
 * Condenses credit movements from deleted runs that are older than `days` to one per day (UTC) and organisation. Grants
 * stay as they are. The ledger sum equals the balance at every moment.
 */
export async function condenseLedger(engine: Engine, days: number, pass: Pass): Promise<void> {
  const cutoff = ago(engine, days * DAY_MS);
  await forEachOrg(engine, pass, (orgId) => {
    const movements = engine.db
      .selectFrom("ledger")
      .select(["created_at as at", "id", "run_id"])
      .where("org_id", "=", orgId)
      .where("created_at", "<", cutoff)
      .where("run_id", "is not", null)
      .limit(BATCH);
    return condense(
      engine,
      pass,
      (end) => oldestFirst(movements, end).execute(),
      async ({ db }, runIds) => {
        const old = db.deleteFrom("ledger").where("run_id", "in", runIds).where("created_at", "<", cutoff);
        const rows = await old.returningAll().execute();
        for (const sum of summed(rows.map(settledOnDay), ({ id }) => id, ["micros"]))
          await db
            .insertInto("ledger")
            .values(sum)
            .onConflict((conflict) =>
              conflict
                .column("id")
                .doUpdateSet((eb) => ({ micros: eb("ledger.micros", "+", eb.ref("excluded.micros")) })),
            )
            .execute();
      },
    );
  });
}

/** With this id, all movements with one organisation and day share one row. */
function settledOnDay(entry: Schema["ledger"]): Schema["ledger"] {
  const at = startOfDay(entry.created_at);
  return { ...entry, id: `led_${entry.org_id}_${at}`, run_id: null, step: null, kind: "settle", created_at: at };
}

/** Those of these run ids that are deleted. */
async function deletedOf({ db }: Engine, runIds: ReadonlySet<string>): Promise<string[]> {
  if (runIds.size === 0) return [];
  const kept = await db
    .selectFrom("runs")
    .select("id")
    .where("id", "in", [...runIds])
    .execute();
  return [...runIds.difference(new Set(kept.map(({ id }) => id)))];
}

/** Adds the amounts of each key's rows up in its first row. */
function summed<Amount extends string, Row extends Record<Amount, number>>(
  rows: readonly Row[],
  key: (row: Row) => string,
  amounts: readonly Amount[],
): Row[] {
  return [...Map.groupBy(rows, key).values()].map((ofKey) => {
    const sums = amounts.map((amount) => [amount, ofKey.reduce((sum, row) => sum + row[amount], 0)]);
    return { ...ofKey[0]!, ...Object.fromEntries(sums) };
  });
}
