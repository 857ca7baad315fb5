import type { CallInProgress, Log } from "@patchbay/functions";

/**
 * Ends the process after an error that no code awaits, as Node does, but only once its calls have ended: another
 * function left the error behind.
 */
export function drainOnStrayError(
  log: Log,
  callInProgress: () => CallInProgress | undefined,
  stop: () => Promise<unknown>,
): void {
  let ending: Promise<unknown> | undefined;
  const end = (error: unknown): void => {
    log.error("an error that a function left behind ends the process once its calls have ended", {
      ...callInProgress(),
      error,
      fix: "await every promise that the handler starts, or catch its error",
    });
    ending ??= stop().finally(() => process.exit(1));
  };
  process.on("unhandledRejection", end);
  process.on("uncaughtException", end);
}
