/* oxlint-disable unicorn/require-post-message-target-origin -- threads have no origins */
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { adaptSqlite } from "./sqlite-database.ts";
import type { ReaderAnswer, ReaderRequest, ReaderSetUp } from "./sqlite-reader.ts";

/** A worker thread that executes reads, one after another, on a read-only connection. */

const { file, hasClock } = workerData as ReaderSetUp;
/** Readers wait only while a writer recovers the log of a crashed process. */
const BUSY_TIMEOUT_MS = 5000;

let now = 0;
const connection = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
if (hasClock) connection.function("now_ms", () => now);
const database = adaptSqlite(connection);

function answer(request: Exclude<ReaderRequest, "close">): ReaderAnswer {
  const { id, sql, parameters } = request;
  now = request.now ?? 0;
  try {
    return { id, rows: database.prepare(sql).all(parameters) };
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number };
    return { id, error: { message, ...(errcode !== undefined && { errcode }) } };
  }
}

parentPort?.on("message", (request: ReaderRequest) => {
  if (request !== "close") return parentPort?.postMessage(answer(request));
  connection.close();
  parentPort?.close();
});
