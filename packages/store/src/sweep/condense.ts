import { type Engine, transact } from "../engine.ts";
import type { Pass } from "../pass.ts";
import type { Schema } from "../tables/schema.ts";
import { ago, BATCH, DAY_MS, eachPage, forEachAgent, forEachOrg, newerThan } from "./batches.ts";
import { is } from "../statement.ts";

/** `step` in a usage row that sums a day's turns. Real steps start at 0. */
const OF_A_DAY = -1;

const startOfDay = (at: number): number => at - (at % DAY_MS);

/**
 * Condenses usage from deleted runs that is older than `days`: one row per day (UTC), agent, role and model. Total
 * costs, tokens and turns stay exact. One transaction deletes and adds, so that no reader sees a turn twice or not at
 * all.
 */
export async function condenseUsage(engine: Engine, days: number, pass: Pass): Promise<void> {
  const cutoff = ago(engine, days * DAY_MS);
  await forEachAgent(engine, pass, (agent) =>
    eachPage(pass, async (after) => {
      const page = await engine.db
        .selectFrom("usage")
        .select(["created_at as at", "run_id as id"])
        .where(is({ org_id: agent.org_id, agent_id: agent.id }))
        .where("created_at", "<", cutoff)
        .where("step", "<>", OF_A_DAY)
        .$if(after !== undefined, (next) => next.where(newerThan(after!, { at: "created_at", id: "run_id" })))
        .orderBy("created_at")
        .orderBy("run_id")
        .limit(BATCH)
        .execute();
      const gone = await deletedOf(engine, new Set(page.map(({ id }) => id)));
      if (gone.length > 0)
        await transact(engine, async ({ db }) => {
          const turns = await db
            .deleteFrom("usage")
            .where("run_id", "in", gone)
            .where("created_at", "<", cutoff)
            .returningAll()
            .execute();
          const add = (sum: Usage, turn: Usage): void => {
            for (const amount of AMOUNTS) sum[amount] += turn[amount];
          };
          for (const sum of summed(turns.map(ofDay), ({ run_id }) => run_id, add)) await addToDay({ db }, sum);
        });
      return page;
    }),
  );
}

type Usage = Schema["usage"];
const AMOUNTS = [
  "turns",
  "input_tokens",
  "cached_input_tokens",
  "cache_write_input_tokens",
  "output_tokens",
  "cost_micros",
] as const;

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
  await forEachOrg(engine, pass, (orgId) =>
    eachPage(pass, async (after) => {
      const page = await engine.db
        .selectFrom("ledger")
        .select(["created_at as at", "id", "run_id"])
        .where("org_id", "=", orgId)
        .where("created_at", "<", cutoff)
        .where("run_id", "is not", null)
        .$if(after !== undefined, (next) => next.where(newerThan(after!, { at: "created_at", id: "id" })))
        .orderBy("created_at")
        .orderBy("id")
        .limit(BATCH)
        .execute();
      const gone = new Set(await deletedOf(engine, new Set(page.map(({ run_id }) => run_id!))));
      const ids = page.filter(({ run_id }) => gone.has(run_id!)).map(({ id }) => id);
      if (ids.length > 0)
        await transact(engine, async ({ db }) => {
          const entries = await db.deleteFrom("ledger").where("id", "in", ids).returningAll().execute();
          for (const sum of summed(
            entries.map(settledOnDay),
            ({ id }) => id,
            (all, { micros }) => (all.micros += micros),
          ))
            await db
              .insertInto("ledger")
              .values(sum)
              .onConflict((conflict) =>
                conflict
                  .column("id")
                  .doUpdateSet((eb) => ({ micros: eb("ledger.micros", "+", eb.ref("excluded.micros")) })),
              )
              .execute();
        });
      return page;
    }),
  );
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

/** Sums each key's rows into its first row. */
function summed<Row>(rows: readonly Row[], key: (row: Row) => string, add: (sum: Row, row: Row) => void): Row[] {
  const sums = new Map<string, Row>();
  for (const row of rows) {
    const sum = sums.get(key(row));
    if (sum) add(sum, row);
    else sums.set(key(row), row);
  }
  return [...sums.values()];
}
