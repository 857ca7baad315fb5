/* oxlint-disable unicorn/require-post-message-target-origin -- threads have no origins */
import { Worker } from "node:worker_threads";
import { type Dialect, type Driver, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { StoreUnavailable } from "../../ports/run-store.ts";
import { translateSqliteError } from "./sqlite-errors.ts";

/** What the thread is started with. */
export interface ReaderSetUp {
  file: string;
  /** True where statements call `now_ms()`, whose value comes with each request. */
  hasClock: boolean;
}
/** `close` comes last: the thread answers what was asked before it and ends. */
export type ReaderRequest = { id: number; sql: string; parameters: readonly unknown[]; now?: number } | "close";
export type ReaderAnswer =
  | { id: number; rows: unknown[] }
  | { id: number; error: { message: string; errcode?: number } };

/** The sources have the thread two folders above this file; the published package is flat. */
const THREAD = import.meta.filename.endsWith(".ts") ? "../../sqlite-reader-thread.ts" : "./sqlite-reader-thread.js";

/**
 * Reads an embedded database on a worker thread: SQLite answers in the thread that asks, and the main one serves requests,
 * leases and heartbeats. A read sees every transaction that was committed before it was asked for. The thread starts with the
 * first read, and again after it failed.
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
          throw new Error("the store reads in pages, never in streams");
        },
      };
    },
    beginTransaction: async () => {
      throw new Error("the reader begins no transactions");
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
    const asked = waiting.get(answer.id);
    waiting.delete(answer.id);
    // The process may end while nothing is being read.
    if (waiting.size === 0) worker?.unref();
    if ("rows" in answer) asked?.resolve(answer.rows);
    else asked?.reject(translateSqliteError(Object.assign(new Error(answer.error.message), answer.error)));
  }

  function failAll(error: unknown): void {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }

  return {
    read(statement: { sql: string; parameters: readonly unknown[]; now?: number }): Promise<unknown[]> {
      if (closed) return Promise.reject(new StoreUnavailable("The store is unavailable: it was closed."));
      const asked = Promise.withResolvers<unknown[]>();
      const id = ++lastId;
      waiting.set(id, asked);
      worker ??= start();
      worker.ref();
      worker.postMessage({ id, ...statement } satisfies ReaderRequest);
      return asked.promise;
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
