import { setTimeout as sleep } from "node:timers/promises";
import type { Manifest } from "@patchbay/protocol";
import type { Link } from "./messages.ts";
import type { RuntimeChild } from "../runtime-child.ts";

export interface SupervisorOptions {
  launch: () => RuntimeChild;
  /** Where the children connect; may become known while the first one loads. */
  link: Promise<Link>;
  /** A new process serves; called also for the first one. */
  onServing: (manifest: Manifest) => void;
  /** A new process could not take over; `serving` says whether an older one still does. */
  onFailure: (reason: string, serving: boolean) => void;
  /** The serving process ended by itself; it is started again in a moment. */
  onCrash: (how: string) => void;
  /** First pause before a crashed process is started again; doubles with each crash in a row, up to 5 s. */
  retryMs?: number;
}

/** A process that served this long was no part of a row of crashes. */
const CALM_MS = 10_000;

/** Keeps one process of functions serving: replaces it without a gap, and starts it again when it crashes. */
export interface Supervisor {
  /** Starts the first process; rejects when its functions cannot be loaded or connected. */
  start(): Promise<Manifest>;
  /** Starts a fresh process; the old one goes on until the new one is connected, and then finishes what it holds. */
  reload(): Promise<void>;
  /** Tells the processes that the control plane is about to go. */
  expectLoss(): void;
  /** Lets every process finish what it holds, at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { launch, link, onServing, onFailure, onCrash, retryMs = 250 } = options;
  const children = new Set<RuntimeChild>();
  const stopping = new AbortController();
  let serving: RuntimeChild | undefined;
  let coming: RuntimeChild | undefined;
  /** Name of the service that the serving process has. */
  let service: string | undefined;
  let servingSince = 0;
  let failures = 0;
  let told: string | undefined;

  /** Brings a fresh process to serve. Undefined when a newer one overtook it. */
  async function replace(): Promise<Manifest | undefined> {
    coming?.kill();
    const child = launch();
    coming = child;
    children.add(child);
    void child.ended.then((how) => {
      children.delete(child);
      if (serving === child) crashed(how);
    });
    try {
      const manifest = await child.loaded;
      if (coming === child) leaveTo(manifest);
      await child.connect(await link);
      if (coming !== child) return undefined;
      const old = serving;
      service = manifest.name;
      [serving, coming, servingSince] = [child, undefined, performance.now()];
      told = undefined;
      onServing(manifest);
      old?.stop();
      return manifest;
    } catch (error) {
      child.kill();
      if (coming !== child) return undefined;
      coming = undefined;
      throw error;
    }
  }

  /** Two services with a function of the same name refuse each other: under another name the old process leaves first. */
  function leaveTo(next: Manifest): void {
    if (!serving || service === next.name) return;
    const old = serving;
    serving = undefined;
    old.stop();
  }

  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => {});

  async function reload(): Promise<void> {
    if (stopping.signal.aborted) return;
    try {
      await replace();
    } catch (error) {
      if (stopping.signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      // What is tried again by itself says the same thing once.
      if (serving || reason !== told) onFailure(reason, serving !== undefined);
      told = reason;
      if (!serving) void retry();
    }
  }

  function crashed(how: string): void {
    serving = undefined;
    if (performance.now() - servingSince > CALM_MS) failures = 0;
    if (stopping.signal.aborted) return;
    onCrash(how);
    void retry();
  }

  /** Tries again after a pause, unless a changed file brought a process to serve meanwhile. */
  async function retry(): Promise<void> {
    await pause(Math.min(retryMs * 2 ** failures, 5000));
    failures += 1;
    if (!serving && !coming) await reload();
  }

  return {
    async start() {
      const manifest = await replace();
      if (!manifest) throw new Error("The functions were replaced before they were connected.");
      return manifest;
    },
    reload,
    expectLoss() {
      for (const child of children) child.expectLoss();
    },
    async stop(graceMs) {
      stopping.abort();
      coming?.kill();
      for (const child of children) child.stop();
      const gone = Promise.all([...children].map((child) => child.ended));
      await Promise.race([gone, sleep(graceMs, undefined, { ref: false })]);
      for (const child of children) child.kill();
      await gone;
    },
  };
}
