import type { ConsoleThreadDetail } from "@patchbay/protocol/console";
import { sql } from "kysely";
import type { PageAsked } from "../../ports/console-runs.ts";
import { parseCursor } from "../page-cursor.ts";
import { ENDING } from "../run-record.ts";
import type { Engine } from "../schema.ts";
import { toMessages } from "../thread-messages.ts";
import { toSummary } from "../threads.ts";
import { pageFrom } from "./keyset.ts";
import { indexed } from "./run-filter.ts";
import { sum, summarised, toSummaries } from "./run-summary.ts";

interface Place {
  orgId: string;
  agentId: string;
  threadId: string;
}

/** Part of a thread, its newest queries first, each part in the thread's order. */
export async function threadPage(
  engine: Engine,
  place: Place,
  { limit, cursor }: PageAsked,
): Promise<ConsoleThreadDetail | undefined> {
  const { orgId, agentId, threadId } = place;
  const thread = await engine.db
    .selectFrom("threads")
    .selectAll()
    .where("id", "=", threadId)
    .where("org_id", "=", orgId)
    .where("agent_id", "=", agentId)
    .executeTakeFirst();
  if (!thread) return undefined;
  // A forged cursor may name a number that the column cannot have.
  const before = cursor === undefined ? undefined : sql<number>`cast(${parseCursor(cursor).at} as bigint)`;
  const rows = await summarised(engine)
    .select(ENDING.as("ending"))
    .where((eb) => indexed(eb, orgId, agentId, { threadId }))
    .$if(before !== undefined, (narrowed) => narrowed.where("runs.position", "<", before!))
    .orderBy("runs.position", "desc")
    .limit(limit + 1)
    .execute();
  const page = pageFrom(rows, { limit, floor: undefined, endOf: (row) => ({ at: row.position, id: row.id }) });
  const runs = page.rows.toReversed();
  return {
    ...toSummary(thread),
    messages: runs.flatMap(toMessages),
    runs: await toSummaries(engine, runs),
    figures: await figuresOf(engine, threadId),
    nextCursor: page.nextCursor,
  };
}

/** What all runs of a thread come to. */
async function figuresOf({ db }: Engine, threadId: string): Promise<ConsoleThreadDetail["figures"]> {
  const [counted, spent] = await Promise.all([
    db
      .selectFrom("runs")
      .select((eb) => eb.fn.countAll<number>().as("queries"))
      .where("thread_id", "=", threadId)
      .executeTakeFirstOrThrow(),
    db
      .selectFrom("runs")
      .innerJoin("usage", "usage.run_id", "runs.id")
      .select((eb) => [
        sum(eb.ref("usage.input_tokens")).as("input"),
        sum(eb.ref("usage.output_tokens")).as("output"),
        sum(eb.ref("usage.cost_micros")).as("micros"),
      ])
      .where("runs.thread_id", "=", threadId)
      .executeTakeFirstOrThrow(),
  ]);
  return {
    queries: counted.queries,
    inputTokens: spent.input,
    outputTokens: spent.output,
    costUsd: spent.micros / 1_000_000,
  };
}
