import { clearTimer, setTimeout } from "@patchbay/kit/time";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { errorMonitor } from "node:events";
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import type { Socket } from "node:net";
import type { Log } from "@patchbay/kit";
import { isOutOfFiles } from "@patchbay/engine/ports/open-files";

/** Below this limit, a service with a few hundred streams and runtimes runs out of file descriptors. */
const FEW = 1_024;
const CHECK_MS = 5_000;
/** How often to check whether a shortage has ended. */
const RECHECK_MS = 1_000;
/** Descriptors that clients may not take: for the database, providers, webhooks and files. */
const RESERVE = { least: 64, most: 2_048 };

/** What {@link watchOpenFiles} reads about the process. */
export interface FileSource {
  /** The process's limit; undefined where the platform does not report it. */
  limit: number | undefined;
  /** Counts open descriptors; undefined where the platform does not report them. Rejects when none is free. */
  count(): Promise<number | undefined>;
}

/** Detects when this process has no free file descriptor. */
export interface OpenFiles extends Disposable {
  /** True from the first failed open until descriptors are free again. */
  readonly short: boolean;
  /**
   * The most connections that the server should accept, and what to call when it has them; undefined where the limit is
   * unknown.
   */
  readonly connections: { most: number; full(): void } | undefined;
  count(): Promise<number | undefined>;
}

/** Logs each shortage once, with the limit, and logs a low limit. */
export function watchOpenFiles({
  log,
  source = thisProcess(),
}: {
  log: Pick<Log, "error" | "warn" | "info">;
  source?: FileSource;
}): OpenFiles {
  const { limit } = source;
  let timer: NodeJS.Timeout | undefined;
  let short = false;

  if (limit !== undefined && limit < FEW)
    log.warn("the limit of open files is low; raise it to 65536, for example with LimitNOFILE of systemd", { limit });

  function begin(reason: string): void {
    if (short) return;
    short = true;
    log.error("out of file descriptors: close connections, or raise the limit of open files (ulimit -n)", {
      limit,
      reason,
    });
    schedule();
  }

  const full = (): void => begin("the server has as many connections as the limit allows");

  /** Adds no error handler, so that a socket without one still ends the process as before. */
  function watch(message: unknown): void {
    const { socket } = message as { socket: Socket };
    socket.once(errorMonitor, (error: NodeJS.ErrnoException) => isOutOfFiles(error) && begin(error.code ?? "EMFILE"));
  }

  async function check(): Promise<void> {
    const open = await count();
    if (open === undefined || limit === undefined) {
      // Without figures, a shortage ends after a second, and the next failure begins another one.
      if (open === undefined && limit === undefined) short = false;
      return;
    }
    if (open >= limit) return begin("EMFILE");
    // With fewer free ones, the next connections would cause the next shortage.
    if (!short || open > Math.max(connectionsWithin(limit), 0.75 * limit)) return;
    short = false;
    log.info("file descriptors are free again", { limit, open });
  }

  async function count(): Promise<number | undefined> {
    try {
      return await source.count();
    } catch (error) {
      if (!isOutOfFiles(error)) return undefined;
      begin("EMFILE");
      return limit;
    }
  }

  function schedule(): void {
    clearTimer(timer);
    timer = setTimeout(() => void check().finally(schedule), short ? RECHECK_MS : CHECK_MS).unref();
  }

  schedule();
  subscribe("net.client.socket", watch);
  return {
    get short() {
      return short;
    },
    connections: limit === undefined ? undefined : { most: connectionsWithin(limit), full },
    count,
    [Symbol.dispose]() {
      clearTimer(timer);
      timer = undefined;
      unsubscribe("net.client.socket", watch);
    },
  };
}

/** Usually three quarters of the limit. */
const connectionsWithin = (limit: number): number =>
  Math.max(16, limit - Math.max(RESERVE.least, Math.min(RESERVE.most, Math.ceil(limit / 4))));

/** Linux and macOS list a process's descriptors; only Linux has its limit in a file. */
function thisProcess(): FileSource {
  const folder = { linux: "/proc/self/fd", darwin: "/dev/fd" }[process.platform as string];
  return {
    limit: limitOfProcess(),
    // Excludes the descriptor that reads the folder.
    count: async () => (folder === undefined ? undefined : (await readdir(folder)).length - 1),
  };
}

/** Node raises the soft limit to the hard one at its start. */
function limitOfProcess(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
