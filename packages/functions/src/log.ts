import { randomBytes } from "node:crypto";
import { type Log, type LogFields, type LogLevel, logText, logTo } from "@patchbay/protocol";

export { type Log, type LogFields, type LogLevel, silentLog } from "@patchbay/protocol";

/** Creates a log of JSON lines. Default: on standard error, from level `info`. Writes errors in fields with stack and cause. */
export function createLog(options: { level?: LogLevel; fields?: LogFields; write?: (line: string) => void } = {}): Log {
  const { level = "info", fields, write = writeToStandardError } = options;
  return logTo(
    (...line) => write(logText(...line, writable)),
    () => level,
    fields,
  );
}

function writeToStandardError(line: string): void {
  process.stderr.write(line);
}

function writable(_name: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { name, message, stack, ...(cause === undefined ? {} : { cause }) };
}

/** A random reference that connects the message of a failure with its log line. */
export function createReference(): string {
  return randomBytes(6).toString("hex");
}
