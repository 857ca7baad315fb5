import { randomBytes } from "@patchbay/kit/time";
import { type Log, type LogFields, type LogLevel, logText, logTo } from "@patchbay/kit";

export { type Log, type LogFields, type LogLevel, silentLog } from "@patchbay/kit";

/**
 * Creates a JSON lines log. Default: on standard error, from level `info`. Lines hold no secrets; errors are written
 * with stack and cause.
 */
export function createLog(options: { level?: LogLevel; fields?: LogFields; write?: (line: string) => void } = {}): Log {
  const { level = "info", fields, write = writeToStandardError } = options;
  return logTo(
    (...line) => write(logText(...line)),
    () => level,
    fields,
  );
}

/** Global, because a service and the command that loads it may have two copies of this package. */
const DEFAULT = Symbol.for("patchbay.log");
const shared = globalThis as { [DEFAULT]?: Log };

/** The log from the command that has loaded the service. In a program that loads its service itself: {@link createLog}. */
export const defaultLog = (): Log => shared[DEFAULT] ?? createLog();

/** Sets the log for code that gets none, such as a service file while it loads. */
export function setDefaultLog(log: Log | undefined): void {
  if (log) shared[DEFAULT] = log;
  else delete shared[DEFAULT];
}

function writeToStandardError(line: string): void {
  process.stderr.write(line);
}

/** A random reference that connects a failure message with its log line. */
export function createReference(): string {
  return randomBytes(6).toString("hex");
}
