import { isoTimeOrNull, present } from "@patchbay/kit";
import { type RunStatus } from "@patchbay/protocol";
import type { RunSort, RunSummary, RunTotals, RunValues } from "@patchbay/protocol/console";
import { type Expression, sql } from "kysely";
import { fromJson } from "@patchbay/store/columns";
import type { Engine } from "@patchbay/store/engine";
import { pageFrom, type PageAsked, type PageOf, parseCursor } from "@patchbay/store/page-cursor";
import { factsOf, FACTS_FROM, sum } from "@patchbay/store/runs/run-facts";
import { type FactsRow, recordedColumns } from "@patchbay/store/tables/runs";
import { TEST_CALL } from "@patchbay/engine/run/start/settings";
import { hasWords } from "@patchbay/store/runs/run-words";
import { type AgentScope, completeness } from "../lists.ts";
import { factConditions, type RunFilter, runConditions, wordsSearched } from "./filter.ts";
import { MICROS, summarised, toSummaries } from "./summary.ts";

/** Runs read for one answer, newest first within the filter's time: at most 40 ms. A list continues below them. */
const RUNS_READ = 100_000;
/** Runs read for suggestions, newest first. SQLite sorts the runs that it groups, which doubles their time. */
const SUGGESTED_FROM = 20_000;
/** Ended runs get their facts within a second, unless the index is behind. */
const UNRECORDED_MS = 10_000;
/** Open runs read for one answer, newest first. */
const OPEN_READ = 1_000;
/** Runs that have just ended. */
const UNRECORDED = 200;
/** Tagged feedback read for suggestions: that on the organisation's newest runs. */
const TAGGED_READ = 1_000;
/** Distinct suggestions per filter. */
const SUGGESTED = 100;

const LAST_TIME = Number.MAX_SAFE_INTEGER;
const OPEN: ReadonlySet<RunStatus | undefined> = new Set(["queued", "running", "waiting"]);

/** A list's order; newest first when absent. */
export interface Sorted {
  sort?: RunSort | undefined;
}

/** When the runs were created. */
type Range = Pick<RunFilter, "from" | "to">;

const SORTED_BY = {
  createdAt: sql<number>`run_facts.created_at`,
  durationMs: sql<number>`run_facts.duration_ms`,
  tokens: sql<number>`run_facts.input_tokens + run_facts.output_tokens`,
  costUsd: sql<number>`run_facts.cost_micros`,
};

export async function listByFacts(
  engine: Engine,
  scope: AgentScope,
  { limit, cursor, sort = "-createdAt", ...filter }: RunFilter & Sorted & PageAsked,
): Promise<PageOf<RunSummary> & { indexedTo?: string }> {
  const direction = sort.startsWith("-") ? "desc" : "asc";
  const by = sort.replace("-", "") as keyof typeof SORTED_BY;
  const end = cursor === undefined ? undefined : parseCursor(cursor);
  const byTime = by === "createdAt" && direction === "desc";
  // Only a list in time order can continue below the runs that were read.
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
  const ids = page.rows.map(({ id }) => id);
  return {
    items: await summariesOf(engine, ids),
    nextCursor: page.nextCursor,
    ...(await completeness(engine, scope.orgId)),
  };
}

const after = (value: Expression<number>, direction: "asc" | "desc", end: { at: number; id: string }) => {
  const than = sql.raw(direction === "desc" ? "<" : ">");
  const at = sql`cast(${end.at} as bigint)`;
  return sql<boolean>`(${value} ${than} ${at} or (${value} = ${at} and run_facts.run_id ${than} ${end.id}))`;
};

/** In id order, without runs erased meanwhile. */
async function summariesOf(engine: Engine, ids: readonly string[]): Promise<RunSummary[]> {
  if (ids.length === 0) return [];
  const rows = await summarised(engine).where("runs.id", "in", ids).execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return toSummaries(
    engine,
    ids.map((id) => byId.get(id)).filter((row) => row !== undefined),
  );
}

/** Sums over all matching runs. */
export async function totalsOf(engine: Engine, scope: AgentScope, filter: RunFilter): Promise<RunTotals> {
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
  return {
    ...sums,
    costUsd: micros / MICROS,
    since: isoTimeOrNull(floor),
    ...(await completeness(engine, scope.orgId)),
  };
}

/** Filter values of the newest runs, most frequent first. */
export async function valuesOf(engine: Engine, scope: AgentScope, range: Range): Promise<RunValues> {
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

/** The tags on an agent's runs, once per run. Few runs have any, so the runs are found by their feedback. */
async function tagsOf({ db }: Engine, { orgId, agentId }: AgentScope, { from = 0, to = LAST_TIME }: Range) {
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
      // Not in the statement: with these conditions, SQLite reads all the agent's runs.
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
 * Facts of the matching runs: stored ones, or current ones where none are stored. `floor`: the start of the time range
 * read, when older runs were left out. With `upTo` the caller continues below it.
 */
async function matching(
  engine: Engine,
  scope: AgentScope,
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
    // A forged cursor's number may exceed the column's type.
    .$if(upTo !== undefined, (some) => some.where("run_facts.created_at", "<=", sql<number>`cast(${upTo} as bigint)`));
  const oldest = await stored
    .select("run_facts.created_at as at")
    .orderBy("run_facts.created_at", "desc")
    .limit(1)
    .offset(most)
    .executeTakeFirst();
  const others = await unrecorded(engine, scope, { ...filter, ...present({ upTo }) });
  const floors = [];
  if (!OPEN.has(filter.status)) floors.push(oldest?.at ?? 0);
  // Sums and sorted lists over all states would lose ended runs in favour of open ones.
  if (OPEN.has(filter.status) || upTo !== undefined) floors.push(others.floor ?? 0);
  const floor = Math.max(...floors) || undefined;
  const read = stored
    .$if(oldest !== undefined, (some) => some.where("run_facts.created_at", ">=", oldest!.at))
    .$if(words !== undefined, (some) =>
      some.where(words!.length === 0 ? sql<boolean>`1 = 0` : dialect.hasWords(words!)),
    )
    .select(recordedColumns.names.map((column) => `run_facts.${column}` as const));
  const unstored = db
    .selectFrom(dialect.rowsOf(JSON.stringify(others.facts), recordedColumns).$castTo<FactsRow>().as("others"))
    // A run's facts may have been stored since it was read.
    .where(lacksFacts("others.run_id"))
    .select(recordedColumns.names.map((column) => `others.${column}` as const));
  const runs = db
    .selectFrom((others.facts.length === 0 ? read : read.unionAll(unstored as never)).as("run_facts"))
    .$if(floor !== undefined, (some) => some.where("run_facts.created_at", ">=", floor!))
    .where((eb) => eb.and(factConditions(eb as never, scope.orgId, filter)));
  return { runs, floor };
}

const lacksFacts = (runId: string) =>
  sql<boolean>`not exists (select 1 from run_facts where run_facts.run_id = ${sql.ref(runId)})`;

/**
 * Facts for runs without stored facts. A search finds them only by their query's words. `floor`: the creation time of
 * the oldest open run read, when older ones were left out.
 */
async function unrecorded(
  engine: Engine,
  scope: AgentScope,
  filter: RunFilter & { upTo?: number },
): Promise<{ facts: FactsRow[]; floor: number | undefined }> {
  const { db, dialect } = engine;
  const { from = 0, to = LAST_TIME, upTo = LAST_TIME } = filter;
  const createdAt = sql`(runs.created_at + 0)`;
  const some = db
    .selectFrom("runs")
    // Not by an agent index, which has 100,000 runs: few runs are open, and few ended in the last seconds.
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
    .where(lacksFacts("runs.id"))
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
