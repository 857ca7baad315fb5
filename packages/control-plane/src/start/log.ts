import { writeSync } from "node:fs";
import { type LogFields, type LogLevel, logText, logTo } from "@patchbay/protocol";
import type { Log } from "../ports/log.ts";

/** Creates a log of JSON lines without secrets. Default: on standard error, from level `info`. */
export function createLog(options: { level?: LogLevel; fields?: LogFields; write?: (line: string) => void } = {}): Log {
  const { level = "info", fields, write = writeToStandardError } = options;
  return logTo(
    (...line) => write(logText(...line)),
    () => level,
    fields,
  );
}

/** Never throws: a closed stderr must not stop the process. */
function writeToStandardError(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    // stderr is closed.
  }
}
