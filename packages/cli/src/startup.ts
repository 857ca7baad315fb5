import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Keeps compiled code for the next start. Measured with Node 26: `patchbay orgs list` takes 0.49 s instead of 0.81 s, and a
 * server keeps 25 MB less. The folder is the user's own: another user could put code into a shared one.
 */
export function cacheCompiledCode(): void {
  enableCompileCache(join(homedir(), ".cache", "patchbay"));
}

/**
 * Keeps V8's young generation at its smallest while modules are loaded. Their objects live on, so a larger one gains nothing
 * and would never shrink: a server keeps 22 MB less (111 MB instead of 133 MB).
 */
export function startSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** The first queries of a process load further modules. */
const LOADED_MS = 500;

/** Lets the young generation grow with the work again, as by default, and frees what the start has left behind. */
export function growWithWork(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
  setTimeout(freeUnused, LOADED_MS).unref();
}

/**
 * Collects garbage once, and gives the freed pages back. V8 by itself keeps both until the heap grows, which an idle process does
 * not: a server and a function process keep 8 MB less together. Only new contexts see the collector.
 */
function freeUnused(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  setFlagsFromString("--no-expose-gc");
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
