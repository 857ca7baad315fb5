/* oxlint-disable unicorn/require-post-message-target-origin -- threads have no origins */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Dialect } from "kysely";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { sqliteWith, translateSqliteError } from "./sqlite-database.ts";

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

/** The thread's file: next to this one in the sources. The build puts both at the root of the control plane's `dist`. */
const THREAD = `./sqlite-reader-thread${extname(import.meta.filename)}`;

/** Threads that read at the same time. Each takes 10 MB, and starts when all others are busy. */
const THREADS = 2;

/**
 * Reads an embedded database on worker threads. SQLite works synchronously: a slow list on the main thread would stop
 * requests, lease renewals and heartbeats, and other replicas or runtimes would consider this process dead. A read sees
 * every transaction committed before the request. A thread starts with the first read, and again after a failure. One
 * slow sum does not delay other lists: the second thread reads them.
 */
export function sqliteReader(file: string, now: (() => number) | undefined): Dialect {
  const threads = Array.from({ length: THREADS }, () => readerThread({ file, hasClock: now !== undefined }));
  /** The first one if it is idle: then the others need not start. */
  const leastBusy = () => threads.reduce((best, one) => (one.pending < best.pending ? one : best));
  return sqliteWith(() => ({
    async init() {},
    async acquireConnection() {
      return {
        async executeQuery({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) {
          const rows = await leastBusy().read({ sql, parameters, ...(now && { now: now() }) });
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
    destroy: async () => void (await Promise.all(threads.map((thread) => thread.close()))),
  }));
}

/** Pending reads by id. When the thread ends unexpectedly, all fail, and the next read starts another thread. */
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
    /** Reads that have no answer yet. */
    get pending() {
      return waiting.size;
    },

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
