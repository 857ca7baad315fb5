import { randomBytes } from "node:crypto";
import { escapeControls } from "@patchbay/protocol";

/** What a line says beside its message; never keys, queries, arguments or results. */
export type LogFields = Record<string, unknown>;

/** Where the owner's side writes what happened: one call per event, a fixed lower-case message plus fields. Never given keys, queries, arguments or results. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log that adds `fields` to every line. */
  child(fields: LogFields): Log;
}

/** Drops every line. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
};

const LEVELS = ["debug", "info", "warn", "error"] as const;
/** From the least to the most urgent. */
export type LogLevel = (typeof LEVELS)[number];

/** A log of JSON lines, on standard error unless `write` is given. Errors among the fields are written with stack and cause. */
export function createLog(options: { level?: LogLevel; fields?: LogFields; write?: (line: string) => void } = {}): Log {
  const { level: lowest = "info", fields: common = {}, write = writeToStandardError } = options;
  const line = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(lowest)) return;
    write(`${escapeControls(toText({ time: new Date().toISOString(), level, message, ...common, ...fields }))}\n`);
  };
  return {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: (fields) => createLog({ level: lowest, write, fields: { ...common, ...fields } }),
  };
}

function writeToStandardError(line: string): void {
  process.stderr.write(line);
}

/** A log must not be the thing that throws: what JSON cannot carry is named instead of written. */
function toText(record: LogFields): string {
  try {
    return JSON.stringify(record, (_, value: unknown) => (typeof value === "bigint" ? String(value) : plain(value)));
  } catch {
    return JSON.stringify({
      time: record["time"],
      level: record["level"],
      message: record["message"],
      fields: "unwritable",
    });
  }
}

function plain(value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { name, message, stack, ...(cause === undefined ? {} : { cause }) };
}

/** A short name for one failure: the caller is told it, the log line carries it. */
export function createReference(): string {
  return randomBytes(6).toString("hex");
}
