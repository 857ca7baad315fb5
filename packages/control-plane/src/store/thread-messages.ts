import type { ThreadDetail } from "@patchbay/protocol";
import { fromJson, isoTime } from "./columns.ts";
import { parseCursor, toCursor } from "./page-cursor.ts";
import { ENDING } from "./run-record.ts";
import type { RunRow } from "./run-tables.ts";
import type { Engine } from "./schema.ts";
import { ofRoles } from "./thread-roles.ts";

type Messages = Pick<ThreadDetail, "messages" | "nextCursor">;
type Message = ThreadDetail["messages"][number];
type Exchange = Pick<RunRow, "id" | "status" | "request" | "ending" | "created_at" | "finished_at">;

/** A page of a thread's messages, oldest first. A cursor names the message that comes next: the place of its run, and its role. */
export async function messagesOf(
  { reads: db }: Engine,
  threadId: string,
  { limit, cursor, roles }: { limit: number; cursor?: string; roles?: readonly string[] },
): Promise<Messages> {
  const next = cursor === undefined ? { at: 0, id: "user" } : parseCursor(cursor);
  // Each run has a message at least, and the first may have only its second one left.
  const runs = await db
    .selectFrom("runs")
    .select(["id", "position", "status", "request", ENDING.as("ending"), "created_at", "finished_at"])
    .where("thread_id", "=", threadId)
    .where("position", ">=", Math.min(next.at, LAST_POSITION))
    .$if(roles !== undefined, (pinned) => pinned.where((eb) => ofRoles(eb, roles!)))
    .orderBy("position")
    .limit(limit + 2)
    .execute();
  const found = runs.flatMap((run) => toMessages(run).map((message) => ({ message, at: run.position })));
  const first = found.findIndex(({ at, message }) => at > next.at || message.role === next.id);
  const page = first < 0 ? [] : found.slice(first, first + limit);
  const following = first < 0 ? undefined : found[first + limit];
  return {
    messages: page.map(({ message }) => message),
    nextCursor: following ? toCursor({ at: following.at, id: following.message.role }) : null,
  };
}

/** The largest that the column holds; a cursor of another list may name more. */
const LAST_POSITION = 2 ** 31 - 1;

export function toMessages(run: Exchange): Message[] {
  const { query } = fromJson(run.request);
  const asked: Message = { role: "user", content: query, runId: run.id, createdAt: isoTime(run.created_at) };
  if (run.status !== "succeeded" || run.ending === null || run.finished_at === null) return [asked];
  const { response } = fromJson(run.ending);
  return [asked, { role: "assistant", content: response, runId: run.id, createdAt: isoTime(run.finished_at) }];
}
