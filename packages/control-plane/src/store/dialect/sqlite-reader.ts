/* oxlint-disable unicorn/require-post-message-target-origin -- threads have no origins */
import { Worker } from "node:worker_threads";
import { type Dialect, type Driver, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { StoreUnavailable } from "../../ports/run-store.ts";
import { translateSqliteError } from "./sqlite-database.ts";

/** Data that the thread starts with. */
export interface ReaderSetUp {
  file: string;
  /** True when statements call `now_ms()`. Its value comes with each request. */
  hasClock: boolean;
}
/** After `close` the thread answers the earlier requests and ends. */
export type ReaderRequest = { id: number; sql: string; parameters: readonly unknown[]; now?: number } | "close";
/** The rows of a read, or its error, with the id of the request. */
export type ReaderAnswer =
  | { id: number; rows: unknown[] }
  | { id: number; error: { message: string; errcode?: number } };

/** The thread's file: next to this one in the sources. The build puts this module into a chunk at the root of `dist`. */
const THREAD = import.meta.filename.endsWith(".ts")
  ? "./sqlite-reader-thread.ts"
  : "./store/dialect/sqlite-reader-thread.js";

/**
 * Reads an embedded database on a worker thread. SQLite works synchronously: a slow list on the main thread would stop
 * requests, lease renewals and heartbeats, and other replicas or runtimes would take this process for dead. A read sees every
 * transaction that was committed before the request. The thread starts with the first read, and again after a failure.
 */
export function sqliteReader(file: string, now: (() => number) | undefined): Dialect {
  const thread = readerThread({ file, hasClock: now !== undefined });
  const driver: Driver = {
    async init() {},
    async acquireConnection() {
      return {
        async executeQuery({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) {
          const rows = await thread.read({ sql, parameters, ...(now && { now: now() }) });
          return { rows: rows as never[] };
        },
        // oxlint-disable-next-line require-yield -- there is nothing to yield
        async *streamQuery() {
          throw new Error("the store reads pages, not streams");
        },
      };
    },
    beginTransaction: async () => {
      throw new Error("the reader has no transactions");
    },
    async commitTransaction() {},
    async rollbackTransaction() {},
    async releaseConnection() {},
    destroy: () => thread.close(),
  };
  return {
    createDriver: () => driver,
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Pending reads by id. When the thread ends unexpectedly, all of them fail, and the next read starts another thread. */
function readerThread(setUp: ReaderSetUp) {
  const waiting = new Map<number, PromiseWithResolvers<unknown[]>>();
  let worker: Worker | undefined;
  let lastId = 0;
  let closed = false;

  function start(): Worker {
    const started = new Worker(new URL(THREAD, import.meta.url), { workerData: setUp });
    started.on("message", settle);
    started.on("error", (error) => failAll(translateSqliteError(error)));
    started.on("exit", () => {
      if (worker === started) worker = undefined;
      failAll(new StoreUnavailable("The store is unavailable: its reader has ended."));
    });
    return started;
  }

  function settle(answer: ReaderAnswer): void {
    const pending = waiting.get(answer.id);
    waiting.delete(answer.id);
    // An idle reader must not keep the process alive.
    if (waiting.size === 0) worker?.unref();
    if ("rows" in answer) pending?.resolve(answer.rows);
    else pending?.reject(translateSqliteError(Object.assign(new Error(answer.error.message), answer.error)));
  }

  function failAll(error: unknown): void {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }

  return {
    read(statement: { sql: string; parameters: readonly unknown[]; now?: number }): Promise<unknown[]> {
      if (closed) return Promise.reject(new StoreUnavailable("The store is unavailable: it was closed."));
      const pending = Promise.withResolvers<unknown[]>();
      const id = ++lastId;
      waiting.set(id, pending);
      worker ??= start();
      worker.ref();
      worker.postMessage({ id, ...statement } satisfies ReaderRequest);
      return pending.promise;
    },

    async close(): Promise<void> {
      closed = true;
      if (!worker) return;
      const ended = Promise.withResolvers<unknown>();
      worker.once("exit", ended.resolve);
      worker.ref();
      worker.postMessage("close" satisfies ReaderRequest);
      await ended.promise;
    },
  };
}
