import { randomBytes } from "node:crypto";
import { type Log, type LogFields, type LogLevel, logText, logTo } from "@patchbay/protocol";

export { type Log, type LogFields, type LogLevel, silentLog } from "@patchbay/protocol";

/** Creates a log of JSON lines. Default: on standard error, from level `info`. Lines hold no secrets; errors are written with stack and cause. */
export function createLog(options: { level?: LogLevel; fields?: LogFields; write?: (line: string) => void } = {}): Log {
  const { level = "info", fields, write = writeToStandardError } = options;
  return logTo(
    (...line) => write(logText(...line)),
    () => level,
    fields,
  );
}

function writeToStandardError(line: string): void {
  process.stderr.write(line);
}

/** A random reference that connects the message of a failure with its log line. */
export function createReference(): string {
  return randomBytes(6).toString("hex");
}
