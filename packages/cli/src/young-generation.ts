import { setFlagsFromString } from "node:v8";

/**
 * Holds V8's young generation at its smallest while modules are loaded. What they make stays, so that room for short-lived
 * objects gains nothing, and a process would keep twenty megabytes of it that it never needs again.
 */
export function startSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** Lets it grow with the work from here on, as V8 does by default. */
export function growWithWork(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
}
