import { writeSync } from "node:fs";
import { type LogLevel, logText, logTo } from "@patchbay/protocol";
import type { Log } from "../ports/log.ts";

const SECRET = new Set(["key", "apiKey", "secret", "token", "authorization"]);

/** A log of JSON lines on stderr, from `level` up (default `info`). Fields that may hold a secret are redacted. */
export const createLog = (level: LogLevel = "info"): Log =>
  logTo(
    (...line) => write(logText(...line, writable)),
    () => level,
  );

/** Never throws: a closed stderr must not stop the process. */
function write(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    // stderr is closed.
  }
}

function writable(name: string, value: unknown): unknown {
  if (SECRET.has(name)) return "[Redacted]";
  if (!(value instanceof Error)) return value;
  const { name: kind, message, stack, cause } = value;
  return Object.assign({ name: kind, message, stack }, cause === undefined ? {} : { cause }, value);
}
