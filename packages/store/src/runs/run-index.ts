import { sql, type SqlBool } from "kysely";
import { type RunIndex, unlimited, type Upkeep } from "@patchbay/engine/ports/store/upkeep";
import type { RunStore } from "@patchbay/engine/ports/store/run-store";
import { fromJson } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { type Pass, passOf } from "../pass.ts";
import { factsOf, FACTS_FROM } from "./run-facts.ts";
import type { FactsRow } from "../tables/runs.ts";
import { wordsOf } from "./run-words.ts";
import { insertion } from "../statement.ts";
import { ago, nowOf } from "../moments.ts";
import { oldestFirst, type PageEnd } from "../page-cursor.ts";
import { BATCH, eachPage } from "../sweep/batches.ts";

/** Runs per batch: the event loop is busy for some milliseconds. */
const AT_ONCE = 32;
/** Maximum remembered ids. `catchUp` finds further runs. */
const REMEMBERED = 50_000;
/** A commit is visible at most this long after its time. */
const COMMIT_MS = 60_000;
/** Runs that have just ended are still on their way into the index. */
const MOMENT_MS = 10_000;
/** Before the first `catchUp`, this much time is searched for runs without stored facts or words. */
const UNKNOWN_MS = 3_600_000;

interface Indexed {
  index: RunIndex;
  /** Remembers the runs that these methods end. */
  remembering<T extends Pick<RunStore, "refuse" | "commit">>(runs: T): T;
}

/**
 * Facts and words for ended runs, written after the commit that ended them: a client waits for that commit, so it does
 * no extra work. Both are written for whole batches, a batch's words right after its facts, so that neither delays the
 * other.
 */
export function runIndex(engine: Engine, { exclusively }: Pick<Upkeep, "exclusively">): Indexed {
  const ended = new Set<string>();
  let atOnce = AT_ONCE;

  const remember = (runId: string): void => {
    if (ended.size < REMEMBERED) ended.add(runId);
  };

  /** Stores some runs. If that fails they wait behind the others, and the next batches are small. */
  async function storeSome(): Promise<number> {
    const runIds = ended.values().take(atOnce).toArray();
    for (const runId of runIds) ended.delete(runId);
    try {
      await storeFacts(engine, runIds);
      await storeWords(engine, runIds);
    } catch (error) {
      for (const runId of runIds) remember(runId);
      atOnce = 1;
      throw error;
    }
    atOnce = Math.min(AT_ONCE, 2 * atOnce);
    return runIds.length;
  }

  /** Remembers ended runs that lack facts or words. Returns the time up to which none is missing, as far as it came. */
  async function findMissing(from: number, pass: Pass): Promise<number> {
    let reached = await nowOf(engine);
    let missing = Infinity;
    await eachPage(pass, async (after = { at: from - COMMIT_MS, id: "" }) => {
      const page = await endedRuns(engine, after);
      for (const { id, at, words } of page)
        if (words === null) {
          missing = Math.min(missing, at);
          remember(id);
        }
      if (ended.size < REMEMBERED) return page;
      reached = after.at;
      return [];
    });
    return Math.min(reached, missing);
  }

  return {
    index: {
      async record({ budget = unlimited, signal } = {}) {
        const isOver = () => ended.size === 0 || signal?.aborted === true;
        while (!isOver()) await budget.spend("runs", storeSome, { waiting: ended.size, signal });
      },

      catchUp: ({ budget = unlimited, signal } = {}) =>
        exclusively("index", async () => {
          const reached = await findMissing(await markOf(engine), passOf("ended runs", budget, signal));
          if (!signal?.aborted)
            await engine.db.updateTable("upkeep").set({ reached }).where("name", "=", "index").execute();
        }),

      backlog: () => ended.size,
    },

    remembering: (runs) => ({
      ...runs,
      async refuse(run, refusal) {
        await runs.refuse(run, refusal);
        remember(run.runId);
      },
      async commit(lease, change) {
        const committed = await runs.commit(lease, change);
        if (change.finish) remember(lease.runId);
        return committed;
      },
    }),
  };
}

/**
 * The time until which fact lists and searches in an organisation have all ended runs: the end of the oldest run that
 * lacks facts or words. Undefined while they are at most 10 seconds behind.
 */
export async function indexedTo(engine: Engine, orgId: string): Promise<number | undefined> {
  const { db, dialect } = engine;
  const mark = sql<number>`(select coalesce(
    (select reached - ${sql.lit(COMMIT_MS)} from upkeep where name = 'index'), ${dialect.now} - ${sql.lit(UNKNOWN_MS)}))`;
  const oldest = await db
    .selectFrom("runs")
    .select("finished_at")
    .where("finished_at", ">=", mark)
    .where("finished_at", "<", ago(engine, MOMENT_MS))
    // By the time, not by an organisation index, which has 100,000 runs.
    .where(sql<boolean>`runs.org_id || '' = ${orgId}`)
    .where(
      sql<SqlBool>`not exists (select 1 from run_facts join run_texts on run_texts.id = run_facts.id
        where run_facts.run_id = runs.id)`,
    )
    .orderBy("finished_at")
    .limit(1)
    .executeTakeFirst();
  return oldest?.finished_at ?? undefined;
}

/** The time before which no ended run lacks anything; 0 before the first `catchUp`. */
async function markOf({ db }: Engine): Promise<number> {
  const row = await db.selectFrom("upkeep").select("reached").where("name", "=", "index").executeTakeFirst();
  return row?.reached ?? 0;
}

/** A page of ended runs, oldest first, with their stored facts and words. */
const endedRuns = ({ db }: Engine, after: PageEnd) =>
  oldestFirst(
    db
      .selectFrom("runs")
      .leftJoin("run_facts", "run_facts.run_id", "runs.id")
      .leftJoin("run_texts", "run_texts.id", "run_facts.id")
      .select(["runs.id", "runs.finished_at as at", "run_texts.id as words"])
      .where("runs.finished_at", "is not", null)
      .$narrowType<{ at: number }>(),
    after,
    { at: "runs.finished_at", id: "runs.id" },
  )
    .limit(BATCH)
    .execute();

/**
 * Only for runs without facts: another replica may have stored them. Fails if one of the runs is erased between the two
 * statements; the next attempt does not find it.
 */
async function storeFacts(engine: Engine, runIds: string[]): Promise<void> {
  const runs = await engine.db
    .selectFrom("runs")
    .select(FACTS_FROM)
    .where("id", "in", runIds)
    .where("finished_at", "is not", null)
    .where(sql<SqlBool>`not exists (select 1 from run_facts where run_facts.run_id = runs.id)`)
    .execute();
  await insertFacts(engine, await factsOf(engine, runs, 0));
}

const insertFacts = insertion<FactsRow>((rows, { db }) =>
  db
    .insertInto("run_facts")
    .values(rows)
    .onConflict((conflict) => conflict.column("run_id").doNothing()),
);

/**
 * The words in queries, answers and errors, as callers received them: they never contained restricted fields. Errors
 * thrown by the owner's code are omitted, because callers do not see them.
 */
async function storeWords(engine: Engine, runIds: string[]): Promise<void> {
  const { db } = engine;
  const runs = await db
    .selectFrom("run_facts")
    .innerJoin("runs", "runs.id", "run_facts.run_id")
    .select(["run_facts.id", "run_facts.run_id", "run_facts.org_id", "runs.request", "runs.ending"])
    .where("run_facts.run_id", "in", runIds)
    .where(sql<SqlBool>`not exists (select 1 from run_texts where run_texts.id = run_facts.id)`)
    .execute();
  if (runs.length === 0) return;
  const failures = await db
    .selectFrom("calls")
    .select(["run_id", "outcome"])
    .where("run_id", "in", runIds)
    // Literals: only then does the database use the partial index on these calls.
    .where((eb) => eb.or([eb("state", "=", sql.lit("failed")), eb("state", "=", sql.lit("denied"))]))
    .execute();
  const texts = new Map(
    runs.map(({ run_id, request, ending }) => {
      const { response = "", errorMessage = "", code = "" } = ending === null ? {} : fromJson(ending);
      return [run_id, [fromJson(request).query, errorMessage, code, response]];
    }),
  );
  for (const { run_id, outcome } of failures) {
    const failure = outcome && fromJson(outcome);
    if (failure && !failure.ok) texts.get(run_id)?.push(failure.code, failure.message);
  }
  await insertWords(
    engine,
    runs.map(({ id, run_id, org_id }) => ({ id, org_id, words: wordsOf(texts.get(run_id)!).join(" ") })),
  );
}

const insertWords = insertion<{ id: number; org_id: string; words: string }>((rows, { db, dialect }) =>
  db
    .insertInto("run_texts")
    .values(rows.map(({ words, ...row }) => ({ ...row, words: dialect.storedWords(words) })))
    .onConflict((conflict) => conflict.column("id").doNothing()),
);
