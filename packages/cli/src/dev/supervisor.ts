import { setTimeout as sleep } from "node:timers/promises";
import { dirname, resolve, sep } from "node:path";
import type { Manifest } from "@patchbay/protocol";
import type { ConnectionTarget, RuntimeChild } from "../runtime-child.ts";

export interface SupervisorOptions {
  launch: () => RuntimeChild;
  /** Where the processes connect; may resolve while the first one loads. */
  target: Promise<ConnectionTarget>;
  /** A new process serves; called for the first one too. */
  onServing: (manifest: Manifest) => void;
  /** A new process could not take over; `serving` is true when an older one still serves. */
  onFailure: (reason: string, serving: boolean) => void;
  /** The serving process ended by itself; it is started again after a pause. */
  onCrash: (how: string) => void;
  /** First pause before a crashed process is started again; doubles with each crash in a row, up to 5 s. */
  retryMs?: number;
}

/** A process that served this long resets the pause: its next crash starts a new row. */
const CALM_MS = 10_000;

/** Keeps one functions process serving: replaces it without a gap, and restarts it after a crash. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #children = new Set<RuntimeChild>();
  readonly #stopping = new AbortController();
  readonly #loaded = Promise.withResolvers<Manifest>();
  #serving: { child: RuntimeChild; service: string; since: number } | undefined;
  /** The process that will take over; undefined when none is starting. */
  #next: RuntimeChild | undefined;
  #hasServed = false;
  readonly #first = Promise.withResolvers<Manifest>();
  #failures = 0;
  #lastReason: string | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#first.promise.catch(this.#loaded.reject);
    // It may reject before it is awaited, which would end this process.
    this.#loaded.promise.catch(() => {});
  }

  /** The first function set that was loaded. Rejects as `start` does when none was. */
  get loaded(): Promise<Manifest> {
    return this.#loaded.promise;
  }

  /** Starts the first process. Resolves when it, or one that a change put in its place, serves; rejects when that one fails. */
  start(): Promise<Manifest> {
    this.#replace().catch(this.#first.reject);
    return this.#first.promise;
  }

  /** Starts a new process; the old one serves until the new one is connected, and then finishes its calls. */
  async reload(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    try {
      await this.#replace();
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (!this.#hasServed) return this.#first.reject(error);
      const reason = error instanceof Error ? error.message : String(error);
      // Automatic retries report the same reason only once.
      if (this.#serving || reason !== this.#lastReason) this.#options.onFailure(reason, this.#serving !== undefined);
      this.#lastReason = reason;
      if (!this.#serving) void this.#retry();
    }
  }

  /** The access lock has changed: the serving process reports it, and keeps the memory of its functions. */
  relock(): void {
    this.#serving?.child.relock();
  }

  /** The control plane is about to close. */
  expectClose(): void {
    for (const child of this.#children) child.expectClose();
  }

  /** Lets every process finish its calls for at most `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    this.#next?.kill();
    for (const child of this.#children) child.stop();
    const ended = Promise.all(Array.from(this.#children, (child) => child.ended));
    await Promise.race([ended, sleep(graceMs, undefined, { ref: false })]);
    for (const child of this.#children) child.kill();
    await ended;
  }

  /** Starts a process and lets it take over, unless a newer one was started meanwhile. */
  async #replace(): Promise<void> {
    this.#next?.kill();
    const child = this.#launch();
    this.#next = child;
    try {
      const manifest = await child.loaded;
      this.#loaded.resolve(manifest);
      if (this.#next === child) this.#makeWayFor(manifest);
      await child.connect(await this.#options.target);
      if (this.#next !== child) return;
      const old = this.#serving;
      this.#serving = { child, service: manifest.name, since: performance.now() };
      this.#next = undefined;
      this.#lastReason = undefined;
      this.#hasServed = true;
      this.#options.onServing(manifest);
      this.#first.resolve(manifest);
      old?.child.stop();
    } catch (error) {
      child.kill();
      if (this.#next !== child) return;
      this.#next = undefined;
      throw error;
    }
  }

  #launch(): RuntimeChild {
    const child = this.#options.launch();
    this.#children.add(child);
    void child.ended.then((how) => {
      this.#children.delete(child);
      if (this.#serving?.child === child) this.#crashed(how);
    });
    return child;
  }

  /** Two services with the same function name refuse each other, so a renamed service needs the old process gone first. */
  #makeWayFor(next: Manifest): void {
    if (!this.#serving || this.#serving.service === next.name) return;
    const { child } = this.#serving;
    this.#serving = undefined;
    child.stop();
  }

  #crashed(how: string): void {
    const servedMs = performance.now() - (this.#serving?.since ?? 0);
    this.#serving = undefined;
    if (servedMs > CALM_MS) this.#failures = 0;
    if (this.#stopping.signal.aborted) return;
    this.#options.onCrash(how);
    void this.#retry();
  }

  /** Starts again after a pause, unless a changed file started a process meanwhile. */
  async #retry(): Promise<void> {
    const pauseMs = Math.min((this.#options.retryMs ?? 250) * 2 ** this.#failures, 5000);
    await sleep(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
    this.#failures += 1;
    if (!this.#serving && !this.#next) await this.reload();
  }
}

/**
 * Source files with functions. Other files are watched if they are imported: functions may write them, and a reload
 * would lose their memory.
 */
const SOURCE = /\.[cm]?[jt]sx?$/;
/** Tests: no functions are in them, unless the service imports one. */
const TESTS = /\.(?:test|spec)\.[^.]+$/;
const SKIPPED = new Set(["node_modules", "dist"]);
const QUIET_MS = 50;

export interface Watching {
  /** Watches a lock file: its changes lead to `onLock`. */
  addLock(path: string): void;
  /** Watches one more file, wherever it is. Has no effect after `close`: a process that loads files reports them until it ends. */
  add(path: string): void;
  close(): Promise<void>;
}

/**
 * Calls `onChange` once after each burst of changes to sources in the folder of `file`, to the working folder's `.env`
 * and to added files. Resolves when it watches.
 */
export async function watchSources(
  file: string,
  { dataDir, onChange, onLock }: { dataDir: string; onChange: () => void; onLock: () => void },
): Promise<Watching> {
  const folder = dirname(file);
  const data = resolve(dataDir);
  const settings = resolve(".env");
  const named = new Set([folder, file, settings]);
  const ignored = (path: string, stats?: { isFile(): boolean }) => {
    if (named.has(path)) return false;
    const name = path.slice(path.lastIndexOf(sep) + 1);
    return (
      name.startsWith(".") ||
      SKIPPED.has(name) ||
      path === data ||
      (stats?.isFile() === true && (!SOURCE.test(name) || TESTS.test(name)))
    );
  };

  const locks = new Set<string>();
  let hasSource = false;
  let quiet: NodeJS.Timeout | undefined;
  const { watch } = await import("chokidar");
  const watcher = watch([folder, settings], { ignored, ignoreInitial: true });
  const ready = Promise.withResolvers<void>();
  watcher.on("ready", ready.resolve);
  // Too few inotify watches must not end the service; the folders watched so far stay watched.
  watcher.on("error", () => ready.resolve());
  watcher.on("all", (_event, path) => {
    clearTimeout(quiet);
    hasSource ||= !locks.has(path);
    quiet = setTimeout(() => {
      (hasSource ? onChange : onLock)();
      hasSource = false;
    }, QUIET_MS);
  });
  await ready.promise;
  function add(path: string): void {
    if (watcher.closed || named.has(path)) return;
    named.add(path);
    watcher.add(path);
  }
  return {
    add,
    addLock(path) {
      locks.add(path);
      add(path);
    },
    async close() {
      clearTimeout(quiet);
      await watcher.close();
    },
  };
}
