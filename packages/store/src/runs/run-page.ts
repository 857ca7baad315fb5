import { isoTime, isoTimeOrNull, present } from "@patchbay/kit";
import type { RunEntry, RunErrorCode } from "@patchbay/protocol";
import { sql } from "kysely";
import type { RunPages, RunsAsked } from "@patchbay/engine/ports/store/page";
import { fromJson } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { byNewest, newestFirst, type PageEnd, toCursor } from "../page-cursor.ts";
import { is } from "../statement.ts";
import type { RunRow } from "../tables/runs.ts";
import { afterWrites } from "./run-writes.ts";

/** Runs that one statement reads. */
const BATCH = 200;
/** Runs that one page reads. With a rarely matching filter, a page continues below them. */
const MOST_READ = 2_000;

type Asked = Parameters<RunPages["page"]>[1];
type Row = Awaited<ReturnType<typeof candidates>>[number];

/** Run lists for clients, read from the runs themselves: a list shows each run from its first to its last moment. */
export function runPages(engine: Engine): RunPages {
  return {
    async page(agentId, asked) {
      const found: { row: Row; entry: RunEntry }[] = [];
      let end = asked.cursor;
      for (let read = 0; read < MOST_READ; read += BATCH) {
        const rows = await candidates(engine, agentId, { ...asked, ...present({ cursor: end }) });
        found.push(...(await matching(engine, rows, asked)));
        const next = found[asked.limit - 1];
        if (next && (found.length > asked.limit || rows.length === BATCH))
          return { items: entriesOf(found, asked), nextCursor: endAt(next.row) };
        if (rows.length < BATCH) return { items: entriesOf(found, asked), nextCursor: null };
        end = endAt(rows.at(-1)!);
      }
      return { items: entriesOf(found, asked), nextCursor: end ?? null };
    },
  };
}

const entriesOf = (found: readonly { entry: RunEntry }[], { limit }: Asked): RunEntry[] =>
  found.slice(0, limit).map(({ entry }) => entry);

const endOf = ({ created_at: at, id }: { created_at: number; id: string }): PageEnd => ({ at, id });
const endAt = (row: Row): string => toCursor(endOf(row));

/** The next rows, newest first: one index range per caller id, merged. */
async function candidates(engine: Engine, agentId: string, asked: Asked) {
  const { callers } = asked;
  if (!callers) return await candidatesOf(engine, agentId, asked);
  const ofCaller = await Promise.all(callers.map((caller) => candidatesOf(engine, agentId, asked, caller)));
  return ofCaller
    .flat()
    .toSorted((a, b) => byNewest(endOf(a), endOf(b)))
    .slice(0, BATCH);
}

/** The conditions that an index answers. `isAsked` conditions are checked on the resulting rows. */
function candidatesOf({ reads: db }: Engine, agentId: string, asked: Asked, caller?: string) {
  const { cursor, threadId, sessionId } = asked;
  const isOpen = asked.status === "queued" || asked.status === "running" || asked.status === "waiting";
  // Not by an agent index: one thread, and all open runs, are fewer than the agent's runs.
  const ofAgent =
    threadId !== undefined || isOpen
      ? sql<boolean>`runs.agent_id || '' = ${agentId}`
      : sql<boolean>`runs.agent_id = ${agentId}`;
  const newest = newestFirst(db.selectFrom("runs"), cursor);
  return newest
    .select(["id", "agent_id", "thread_id", "session_id", "status", "role", "created_at", "started_at", "finished_at"])
    .select(["manifest_hash", "retry_of"])
    .select(sql<RunRow["ending"]>`case when ${isUnsuccessful} then ending end`.as("ending"))
    .where(ofAgent)
    .where(is(present({ caller_id: caller, thread_id: threadId, session_id: sessionId })))
    .$if(isOpen, (some) => some.where("finished_at", "is", null))
    .$if(mustBeUnsuccessful(asked), (some) => some.where(isUnsuccessful))
    .limit(BATCH)
    .execute();
}

/** Worded exactly as in the partial index. */
const isUnsuccessful = sql<boolean>`finished_at is not null and status in ('failed', 'cancelled')`;

const mustBeUnsuccessful = ({ status, code, endedAfterWrites }: RunsAsked): boolean =>
  status === "failed" || status === "cancelled" || code !== undefined || endedAfterWrites === true;

async function matching(engine: Engine, rows: readonly Row[], asked: Asked) {
  const matches = rows.filter((row) => isAsked(row, asked));
  const wrote = await afterWrites({ db: engine.reads }, matches);
  const all = matches.map((row) => ({ row, entry: entryOf(row, wrote.has(row.id)) }));
  const { endedAfterWrites } = asked;
  return endedAfterWrites === undefined ? all : all.filter(({ entry }) => entry.endedAfterWrites === endedAfterWrites);
}

function isAsked(row: Row, { status, code, roles }: Asked): boolean {
  if (status !== undefined && row.status !== status) return false;
  if (code !== undefined && codeOf(row) !== code) return false;
  return !roles || row.role === null || roles.includes(row.role);
}

const codeOf = ({ ending }: Row): RunErrorCode | undefined => (ending === null ? undefined : fromJson(ending).code);

function entryOf(row: Row, endedAfterWrites: boolean): RunEntry {
  const code = codeOf(row);
  return {
    runId: row.id,
    threadId: row.thread_id,
    ...(row.session_id !== null && { sessionId: row.session_id }),
    status: row.status,
    ...(code !== undefined && { code }),
    endedAfterWrites,
    startedAt: isoTimeOrNull(row.started_at),
    ...(row.finished_at !== null && { finishedAt: isoTime(row.finished_at) }),
  };
}
