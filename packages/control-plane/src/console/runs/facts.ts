import type { RunStatus } from "@patchbay/protocol";
import type { RunSort, RunSummary, RunTotals, RunValues } from "@patchbay/protocol/console";
import { type Expression, sql } from "kysely";
import { fromJson, isoTime } from "../../store/columns.ts";
import type { Engine } from "../../store/engine.ts";
import { pageFrom, type PageAsked, type PageOf, parseCursor } from "../../store/page-cursor.ts";
import { type FactsRow, factsOf, FACTS_FROM, sum } from "../../store/run-facts.ts";
import { TEST_CALL } from "../../run/start/settings.ts";
import { hasWords } from "../../store/run-words.ts";
import { factConditions, type RunFilter, runConditions, wordsSearched } from "./filter.ts";
import { MICROS, summarised, toSummaries } from "./summary.ts";

/** Runs of an agent that are read for one answer, the newest of the time asked for: at most 40 ms. A list continues below them. */
const RUNS_READ = 100_000;
/** Runs that are read for suggestions, the newest of the time asked for. SQLite sorts the runs that it groups, which doubles their time. */
const SUGGESTED_FROM = 20_000;
/** Ended runs get their facts within a second, if queries leave the time. */
const UNRECORDED_MS = 10_000;
/** Open runs that are read for one answer, the newest first. */
const OPEN_READ = 1_000;
/** Runs that ended a moment ago. */
const UNRECORDED = 200;
/** Feedback with tags that is read for suggestions: that of the organisation's newest runs. */
const TAGGED_READ = 1_000;
/** Different values of a filter that are suggested. */
const SUGGESTED = 100;

const LAST_TIME = Number.MAX_SAFE_INTEGER;
const OPEN: ReadonlySet<RunStatus | undefined> = new Set(["queued", "running", "waiting"]);

/** The order of a list; newest first when absent. */
export interface Sorted {
  sort?: RunSort | undefined;
}

interface Scope {
  orgId: string;
  agentId: string;
}

/** The time of runs. */
type Range = Pick<RunFilter, "from" | "to">;

const SORTED_BY = {
  createdAt: sql<number>`run_facts.created_at`,
  durationMs: sql<number>`run_facts.duration_ms`,
  tokens: sql<number>`run_facts.input_tokens + run_facts.output_tokens`,
  costUsd: sql<number>`run_facts.cost_micros`,
};

export async function listByFacts(
  engine: Engine,
  scope: Scope,
  { limit, cursor, sort = "-createdAt", ...filter }: RunFilter & Sorted & PageAsked,
): Promise<PageOf<RunSummary>> {
  const direction = sort.startsWith("-") ? "desc" : "asc";
  const by = sort.replace("-", "") as keyof typeof SORTED_BY;
  const end = cursor === undefined ? undefined : parseCursor(cursor);
  const byTime = by === "createdAt" && direction === "desc";
  // Only a list in the order of time can continue below the runs that were read.
  const { runs, floor } = await matching(engine, scope, { ...filter, ...(byTime && { upTo: end?.at ?? LAST_TIME }) });
  const value = SORTED_BY[by];
  const rows = await runs
    .select(["run_facts.run_id as id", value.as("at")])
    .$if(end !== undefined, (page) => page.where(after(value, direction, end!)))
    .orderBy("at", direction)
    .orderBy("id", direction)
    .limit(limit + 1)
    .execute();
  const page = pageFrom(rows, { limit, floor: byTime ? floor : undefined, endOf: (row) => row });
  return {
    items: await summariesOf(
      engine,
      page.rows.map(({ id }) => id),
    ),
    nextCursor: page.nextCursor,
  };
}

const after = (value: Expression<number>, direction: "asc" | "desc", end: { at: number; id: string }) => {
  const than = sql.raw(direction === "desc" ? "<" : ">");
  const at = sql`cast(${end.at} as bigint)`;
  return sql<boolean>`(${value} ${than} ${at} or (${value} = ${at} and run_facts.run_id ${than} ${end.id}))`;
};

/** In the order of the ids. A run that was erased meanwhile is left out. */
async function summariesOf(engine: Engine, ids: readonly string[]): Promise<RunSummary[]> {
  if (ids.length === 0) return [];
  const rows = await summarised(engine).where("runs.id", "in", ids).execute();
  const place = new Map(ids.map((id, at) => [id, at]));
  return toSummaries(
    engine,
    rows.toSorted((a, b) => place.get(a.id)! - place.get(b.id)!),
  );
}

/** Sums over all runs that match. */
export async function totalsOf(engine: Engine, scope: Scope, filter: RunFilter): Promise<RunTotals> {
  const { runs, floor } = await matching(engine, scope, filter);
  const row = await runs
    .select(({ fn, ref }) => [
      fn.countAll<number>().as("runs"),
      sum(sql<number>`case when run_facts.status = 'failed' then 1 else 0 end`).as("failed"),
      sum(ref("run_facts.duration_ms")).as("durationMs"),
      sum(ref("run_facts.input_tokens")).as("inputTokens"),
      sum(ref("run_facts.output_tokens")).as("outputTokens"),
      sum(ref("run_facts.cost_micros")).as("micros"),
    ])
    .executeTakeFirstOrThrow();
  const { micros, ...sums } = row;
  return { ...sums, costUsd: micros / MICROS, since: floor === undefined ? null : isoTime(floor) };
}

/** The values that filters of the newest runs can have, the most frequent first. */
export async function valuesOf(engine: Engine, scope: Scope, range: Range): Promise<RunValues> {
  const { runs } = await matching(engine, scope, { ...range, most: SUGGESTED_FROM });
  const rows = await runs
    .select(["run_facts.model", "run_facts.code", "run_facts.key_id", "run_facts.role"])
    .select(({ fn }) => fn.countAll<number>().as("runs"))
    .groupBy(["run_facts.model", "run_facts.code", "run_facts.key_id", "run_facts.role"])
    .execute();
  const counted = (column: "model" | "code" | "key_id" | "role") =>
    mostFrequent(rows.map((row) => ({ value: row[column], runs: row.runs })));
  const models = counted("model").filter(({ value }) => value !== TEST_CALL);
  return {
    models,
    codes: counted("code"),
    keyIds: counted("key_id"),
    roles: counted("role"),
    tags: mostFrequent(await tagsOf(engine, scope, range)),
  };
}

/** The tags of an agent's runs, once for each run. Few runs have any: the runs are found by their feedback, not the other way round. */
async function tagsOf({ db }: Engine, { orgId, agentId }: Scope, { from = 0, to = LAST_TIME }: Range) {
  const tagged = await db
    .selectFrom("feedback")
    .where("org_id", "=", orgId)
    .where("tags", "is not", null)
    .select(["run_id", "tags"])
    .orderBy("run_id", "desc")
    .limit(TAGGED_READ)
    .execute();
  if (tagged.length === 0) return [];
  const byRun = Map.groupBy(tagged, (row) => row.run_id);
  const found = await db
    .selectFrom("runs")
    .where("id", "in", [...byRun.keys()])
    .select(["id", "agent_id", "created_at"])
    .execute();
  return (
    found
      // Not in the statement: with these conditions, SQLite reads all runs of the agent.
      .filter((run) => run.agent_id === agentId && run.created_at >= from && run.created_at < to)
      .flatMap(({ id }) => [...new Set(byRun.get(id)!.flatMap(({ tags }) => fromJson(tags!)))])
      .map((value) => ({ value, runs: 1 }))
  );
}

function mostFrequent(rows: readonly { value: string | null; runs: number }[]): RunValues["tags"] {
  const counts = new Map<string, number>();
  for (const { value, runs } of rows) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + runs);
  const all = [...counts].map(([value, runs]) => ({ value, runs }));
  return all.toSorted((a, b) => b.runs - a.runs).slice(0, SUGGESTED);
}

/**
 * The facts of the runs that match: those that are stored, and of runs without them the facts of this moment. `floor`: the start of
 * the time that was read, when older runs were left out. With `upTo` the caller reads on below it.
 */
async function matching(
  engine: Engine,
  scope: Scope,
  { upTo, most = RUNS_READ, ...filter }: RunFilter & { upTo?: number; most?: number },
) {
  const { db, dialect } = engine;
  const { from, to } = filter;
  const words = wordsSearched(filter);
  const stored = db
    .selectFrom("run_facts")
    .where("run_facts.org_id", "=", scope.orgId)
    .where("run_facts.agent_id", "=", scope.agentId)
    .$if(from !== undefined, (some) => some.where("run_facts.created_at", ">=", from!))
    .$if(to !== undefined, (some) => some.where("run_facts.created_at", "<", to!))
    // The number of a forged cursor may exceed the column's type.
    .$if(upTo !== undefined, (some) => some.where("run_facts.created_at", "<=", sql<number>`cast(${upTo} as bigint)`));
  const oldest = await stored
    .select("run_facts.created_at as at")
    .orderBy("run_facts.created_at", "desc")
    .limit(1)
    .offset(most)
    .executeTakeFirst();
  const others = await unrecorded(engine, scope, { ...filter, ...(upTo !== undefined && { upTo }) });
  const floors = [];
  if (!OPEN.has(filter.status)) floors.push(oldest?.at ?? 0);
  // Sums and sorted lists of all states would lose ended runs for the sake of open ones.
  if (OPEN.has(filter.status) || upTo !== undefined) floors.push(others.floor ?? 0);
  const floor = Math.max(...floors) || undefined;
  const read = stored
    .$if(oldest !== undefined, (some) => some.where("run_facts.created_at", ">=", oldest!.at))
    .$if(words !== undefined, (some) =>
      some.where(words!.length === 0 ? sql<boolean>`1 = 0` : dialect.hasWords(words!)),
    )
    .select(COLUMNS.map((column) => `run_facts.${column}` as const));
  const unstored = db
    .selectFrom(dialect.rowsOf(JSON.stringify(others.facts), TYPES).$castTo<FactsRow>().as("others"))
    // The facts of a run may have been stored since it was read.
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("run_facts").select("run_facts.id").whereRef("run_facts.run_id", "=", "others.run_id"))),
    )
    .select(COLUMNS.map((column) => `others.${column}` as const));
  const runs = db
    .selectFrom((others.facts.length === 0 ? read : read.unionAll(unstored as never)).as("run_facts"))
    .$if(floor !== undefined, (some) => some.where("run_facts.created_at", ">=", floor!))
    .where((eb) => eb.and(factConditions(eb as never, scope.orgId, filter)));
  return { runs, floor };
}

/**
 * Facts of runs that have none yet. They are found by the words of their query only. `floor`: the time of the oldest open run that
 * was read, when older ones were left out.
 */
async function unrecorded(
  engine: Engine,
  scope: Scope,
  filter: RunFilter & { upTo?: number },
): Promise<{ facts: FactsRow[]; floor: number | undefined }> {
  const { db, dialect } = engine;
  const { from = 0, to = LAST_TIME, upTo = LAST_TIME } = filter;
  const createdAt = sql`(runs.created_at + 0)`;
  const some = db
    .selectFrom("runs")
    // Not by an index of the agent, which has 100,000 runs: few runs are open, and few ended in the last seconds.
    .where(sql<boolean>`runs.org_id || '' = ${scope.orgId}`)
    .where(sql<boolean>`runs.agent_id || '' = ${scope.agentId}`)
    .where(sql<boolean>`${createdAt} >= ${from}`)
    .where(sql<boolean>`${createdAt} < ${to}`)
    .where(sql<boolean>`${createdAt} <= cast(${upTo} as bigint)`);
  const open = some.where("runs.finished_at", "is", null).where((eb) => eb.and(runConditions(eb, filter)));
  const oldest = await open
    .select("runs.created_at as at")
    .orderBy("runs.created_at", "desc")
    .limit(1)
    .offset(OPEN_READ)
    .executeTakeFirst();
  const read = await open
    .$if(oldest !== undefined, (some) => some.where("runs.created_at", ">=", oldest!.at))
    .select(FACTS_FROM)
    .select(dialect.now.as("now"))
    .execute();
  // After the open ones: a run that ends between the two is in both, not in neither.
  const ended = await some
    .where("runs.finished_at", ">=", sql<number>`(select ${dialect.now} - ${sql.lit(UNRECORDED_MS)})`)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("run_facts").select("run_facts.id").whereRef("run_facts.run_id", "=", "runs.id"))),
    )
    .select(FACTS_FROM)
    .select(dialect.now.as("now"))
    .orderBy("runs.finished_at", "desc")
    .limit(UNRECORDED)
    .execute();
  const words = wordsSearched(filter);
  const rows = [...new Map([...read, ...ended].map((row) => [row.id, row])).values()].filter(
    ({ request }) => words === undefined || hasWords(fromJson(request).query, words),
  );
  return { facts: await factsOf(engine, rows, rows[0]?.now ?? 0), floor: oldest?.at };
}

/** The columns of facts that conditions, orders and sums use. */
const TYPES = {
  run_id: "text",
  thread_id: "text",
  session_id: "text",
  key_id: "text",
  request_id: "text",
  role: "text",
  source: "text",
  status: "text",
  code: "text",
  model: "text",
  functions: "text",
  created_at: "bigint",
  duration_ms: "bigint",
  input_tokens: "bigint",
  output_tokens: "bigint",
  cost_micros: "bigint",
  failed_calls: "bigint",
  denied_calls: "bigint",
} as const;
const COLUMNS = Object.keys(TYPES) as (keyof typeof TYPES)[];
