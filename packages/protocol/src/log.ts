import { escapeControls } from "./text.ts";

/** Fields of a log line. Must not contain keys, tokens, queries, arguments or results. */
export type LogFields = Record<string, unknown>;

/** A log with one line per event: a fixed lower-case message and fields. It never receives keys, tokens, queries, arguments or results. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log that adds `fields` to every line. */
  child(fields: LogFields): Log;
}

/** A log that discards all lines. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
};

/** Log levels, from the least to the most urgent. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** How urgent a line of a log is. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A log that passes its lines from the level `lowest()` up to `write`, with the fields `bound` and those of the line. Default: all lines. */
export function logTo(
  write: (level: LogLevel, message: string, fields: LogFields) => unknown,
  lowest: () => LogLevel = () => "debug",
  bound: LogFields = {},
): Log {
  const line = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(lowest())) write(level, message, { ...bound, ...fields });
  };
  return {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: (fields) => logTo(write, lowest, { ...bound, ...fields }),
  };
}

/**
 * A log line as JSON on one line, without control characters. `replacer` is the one of `JSON.stringify`.
 * Never throws: fields that JSON cannot represent are replaced with a note.
 */
export function logText(
  level: LogLevel,
  message: string,
  fields: LogFields,
  replacer: (name: string, value: unknown) => unknown,
): string {
  const begin = { time: new Date().toISOString(), level, message };
  const writable = (name: string, value: unknown) =>
    typeof value === "bigint" ? String(value) : replacer(name, value);
  try {
    return `${escapeControls(JSON.stringify({ ...begin, ...fields }, writable))}\n`;
  } catch {
    return `${escapeControls(JSON.stringify({ ...begin, fields: "unwritable" }))}\n`;
  }
}
