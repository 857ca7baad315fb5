import { writeSync } from "node:fs";
import { escapeControls } from "@patchbay/protocol";
import type { Log, LogFields } from "../ports/log.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

const SECRET = new Set(["key", "apiKey", "secret", "token", "authorization"]);

/** A log of JSON lines on stderr, from `level` up (default `info`). Fields that may hold a secret are redacted. */
export function createLog(level: Level = "info"): Log {
  return logOf(LEVELS.indexOf(level), {});
}

function logOf(least: number, bound: LogFields): Log {
  const line = (level: Level) => (message: string, fields?: LogFields) => {
    if (LEVELS.indexOf(level) >= least)
      write(textOf({ time: new Date().toISOString(), level, message, ...bound, ...fields }));
  };
  return {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: (fields) => logOf(least, { ...bound, ...fields }),
  };
}

/** Never throws: a closed stderr or a value that JSON cannot represent must not stop the process. */
function write(text: string): void {
  try {
    writeSync(2, `${escapeControls(text)}\n`);
  } catch {
    // stderr is closed.
  }
}

function textOf(record: LogFields): string {
  try {
    return JSON.stringify(record, writable);
  } catch {
    const { time, level, message } = record;
    return JSON.stringify({ time, level, message, fields: "unwritable" });
  }
}

function writable(name: string, value: unknown): unknown {
  if (SECRET.has(name)) return "[Redacted]";
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Error)) return value;
  const { name: kind, message, stack, cause } = value;
  return Object.assign({ name: kind, message, stack }, cause === undefined ? {} : { cause }, value);
}
