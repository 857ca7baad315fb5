import { sql } from "kysely";
import type { RunIndex } from "../ports/run-index.ts";
import type { RunStore } from "../ports/run-store.ts";
import { fromJson } from "./columns.ts";
import type { Engine } from "./engine.ts";
import { factsOf, FACTS_FROM, type FactsRow } from "./run-facts.ts";
import { wordsOf } from "./run-words.ts";
import { insertion } from "./statement.ts";
import { BATCH, eachPage, newerThan } from "./sweep/batches.ts";

/** Runs per statement: the event loop is busy for some milliseconds. */
const AT_ONCE = 32;
/** Ids that are remembered. Runs beyond are found by `catchUp`. */
const REMEMBERED = 50_000;
/** A commit is visible this long after its time, at most. */
const COMMIT_MS = 60_000;

/** A replica under load stores runs later than others, at most by this time. */
const BEHIND_MS = 3_600_000;

interface Indexed {
  index: RunIndex;
  /** Remembers the runs that these methods end. */
  remembering<T extends Pick<RunStore, "refuse" | "commit">>(runs: T): T;
}

/**
 * Facts and words of ended runs, written after the commit that ended them: that commit, for which a client waits, pays nothing.
 * Both are written for whole batches.
 */
export function runIndex(engine: Engine): Indexed {
  const ended = new Set<string>();
  const wordless = new Set<string>();
  /** All runs that ended before are stored or remembered. */
  let checkedTo: number | undefined;

  const remember = (set: Set<string>, runId: string): void => {
    if (set.size < REMEMBERED) set.add(runId);
  };

  /** Takes batch after batch until the set is empty or the time is over. A batch that fails is taken again by the next call. */
  async function drain(set: Set<string>, until: number, store: (runIds: string[]) => Promise<void>): Promise<void> {
    while (set.size > 0 && performance.now() < until) {
      const runIds = [...set].slice(0, AT_ONCE);
      await store(runIds);
      for (const runId of runIds) set.delete(runId);
    }
  }

  return {
    index: {
      async record(budgetMs = Infinity) {
        const until = performance.now() + budgetMs;
        await drain(ended, until, async (runIds) => {
          await storeFacts(engine, runIds);
          for (const runId of runIds) remember(wordless, runId);
        });
        await drain(wordless, until, (runIds) => storeWords(engine, runIds));
      },

      async catchUp(signal) {
        let reached = await nowOf(engine);
        checkedTo ??= (await newestIndexed(engine)) - BEHIND_MS;
        const from = { at: checkedTo - COMMIT_MS, id: "" };
        await eachPage(signal, async (after = from) => {
          const page = await endedRuns(engine, after);
          for (const { id, facts, words } of page) {
            if (facts === null) remember(ended, id);
            else if (words === null) remember(wordless, id);
          }
          if (ended.size < REMEMBERED && wordless.size < REMEMBERED) return page;
          reached = after.at;
          return [];
        });
        if (!signal?.aborted) checkedTo = reached;
      },
    },

    remembering: (runs) => ({
      ...runs,
      async refuse(run, refusal) {
        await runs.refuse(run, refusal);
        remember(ended, run.runId);
      },
      async commit(lease, change) {
        const committed = await runs.commit(lease, change);
        if (change.finish) remember(ended, lease.runId);
        return committed;
      },
    }),
  };
}

const nowOf = async ({ db, dialect }: Engine): Promise<number> =>
  (await db.selectNoFrom(dialect.now.as("now")).executeTakeFirstOrThrow()).now;

/** The end of the newest run whose facts and words are stored; 0 without any. Runs are stored in the order of their ends. */
async function newestIndexed({ db }: Engine): Promise<number> {
  const newest = await db
    .selectFrom("run_facts")
    .innerJoin("runs", "runs.id", "run_facts.run_id")
    .select("runs.finished_at")
    .where("run_facts.id", "=", (eb) => eb.selectFrom("run_texts").select(({ fn }) => fn.max("run_texts.id").as("id")))
    .executeTakeFirst();
  return newest?.finished_at ?? 0;
}

/** A page of ended runs, oldest first, with what is stored of them. */
const endedRuns = ({ db }: Engine, after: { at: number; id: string }) =>
  db
    .selectFrom("runs")
    .leftJoin("run_facts", "run_facts.run_id", "runs.id")
    .leftJoin("run_texts", "run_texts.id", "run_facts.id")
    .select(["runs.id", "runs.finished_at as at", "run_facts.id as facts", "run_texts.id as words"])
    .where("runs.finished_at", "is not", null)
    .where(newerThan(after, { at: "runs.finished_at", id: "runs.id" }))
    .orderBy("runs.finished_at")
    .orderBy("runs.id")
    .limit(BATCH)
    .$narrowType<{ at: number }>()
    .execute();

/** Fails if one of the runs is erased between the two statements; the next attempt does not find it. */
async function storeFacts(engine: Engine, runIds: string[]): Promise<void> {
  const runs = await engine.db
    .selectFrom("runs")
    .select(FACTS_FROM)
    .where("id", "in", runIds)
    .where("finished_at", "is not", null)
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
 * The words of queries, answers and errors, as callers were sent them: restricted fields never were in them. What the owner's code
 * threw is left out, because no caller sees it.
 */
async function storeWords(engine: Engine, runIds: string[]): Promise<void> {
  const { db } = engine;
  const runs = await db
    .selectFrom("run_facts")
    .innerJoin("runs", "runs.id", "run_facts.run_id")
    .select(["run_facts.id", "run_facts.run_id", "run_facts.org_id", "runs.request", "runs.ending"])
    .where("run_facts.run_id", "in", runIds)
    .execute();
  const failures = await db
    .selectFrom("calls")
    .select(["run_id", "outcome"])
    .where("run_id", "in", runIds)
    // Literals: only then does the database use the partial index of these calls.
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
