import { type NotNull, sql } from "kysely";
import type { History, HistoryEntry, RunStore } from "@patchbay/engine/ports/store/run-store";
import { fromJson, inBatches } from "../columns.ts";
import type { Engine } from "../engine.ts";

/** Runs whose sizes one statement reads. */
const PAGE_ROWS = 256;
/** Text that one statement reads. SQLite works on the main thread, which does nothing else meanwhile. */
const PAGE_BYTES = 262_144;

export type HistoryScope = { threadId: string } & Parameters<RunStore["history"]>[1];

/** A run whose history fits; its text is read later. */
interface Sized {
  id: string;
  position: number;
  bytes: number;
  total: number | null;
}

/** Reads sizes first and then only the texts that fit: a thread may have gigabytes of history. */
export async function readHistory(engine: Engine, scope: HistoryScope): Promise<History> {
  const { newestFirst, hasOlder } = await fitting(engine, scope);
  const entries: HistoryEntry[] = [];
  for (const page of pagesOf(newestFirst.toReversed())) entries.push(...(await textsOf(engine, page)));
  return { entries, hasOlder, totalBytes: newestFirst[0]?.total ?? 0 };
}

/** The newest runs whose histories fit into `maxBytes`, and whether older ones were left out. */
async function fitting(engine: Engine, scope: HistoryScope): Promise<{ newestFirst: Sized[]; hasOlder: boolean }> {
  const newestFirst: Sized[] = [];
  let roomBytes = scope.maxBytes;
  for (;;) {
    const page = await sizesOf(engine, scope, newestFirst.at(-1)?.position);
    for (const one of page) {
      roomBytes -= one.bytes;
      if (roomBytes < 0) return { newestFirst, hasOlder: true };
      newestFirst.push(one);
    }
    if (page.length < PAGE_ROWS) return { newestFirst, hasOlder: false };
  }
}

function sizesOf({ db }: Engine, scope: HistoryScope, below: number | undefined): Promise<Sized[]> {
  const { threadId, role, subject, before } = scope;
  return db
    .selectFrom("runs")
    .select(["id", "position", "history_total as total", sql<number>`octet_length(history)`.as("bytes")])
    .where("thread_id", "=", threadId)
    .where("history", "is not", null)
    .where(role === undefined ? (eb) => eb("role", "is", null) : (eb) => eb("role", "=", role))
    .where(subject === undefined ? (eb) => eb("subject", "is", null) : (eb) => eb("subject", "=", subject))
    .where(countsAsHistory("runs"))
    .$if(below !== undefined, (query) => query.where("position", "<", below!))
    .$if(before !== undefined, (query) =>
      query.where("position", "<", (eb) =>
        eb.selectFrom("runs as this").select("this.position").where("this.id", "=", before!),
      ),
    )
    .orderBy("position", "desc")
    .limit(PAGE_ROWS)
    .execute();
}

/** True for a run with an answer, or with a call outcome: the model must know what was done, even if the run failed. */
export const countsAsHistory = (table: string) =>
  sql<boolean>`(${sql.ref(`${table}.status`)} = 'succeeded' or exists (
    select 1 from calls where calls.run_id = ${sql.ref(`${table}.id`)} and calls.outcome is not null))`;

/** Groups runs so that one statement reads at most `PAGE_BYTES`, or a single larger run. */
function* pagesOf(sized: readonly Sized[]): Generator<Sized[]> {
  let page: Sized[] = [];
  let bytes = 0;
  for (const one of sized) {
    if (page.length > 0 && bytes + one.bytes > PAGE_BYTES) {
      yield page;
      page = [];
      bytes = 0;
    }
    page.push(one);
    bytes += one.bytes;
  }
  if (page.length > 0) yield page;
}

/** The texts in page order, without runs erased meanwhile. */
async function textsOf({ db }: Engine, page: readonly Sized[]): Promise<HistoryEntry[]> {
  const runs = db.selectFrom("runs").select(["id", "history"]).$narrowType<{ history: NotNull }>();
  const rows = await inBatches(
    page.map(({ id }) => id),
    (ids) => runs.where("id", "in", ids).where("history", "is not", null).execute(),
  );
  const texts = new Map(rows.map(({ id, history }) => [id, fromJson(history)]));
  return page.flatMap(({ id, bytes }) => {
    const messages = texts.get(id);
    return messages ? [{ runId: id, messages, bytes }] : [];
  });
}
