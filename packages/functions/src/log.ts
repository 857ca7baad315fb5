import { randomBytes } from "node:crypto";
import { escapeControls } from "@patchbay/protocol";

/** Fields of a log line. Never keys, queries, arguments or results. */
export type LogFields = Record<string, unknown>;

/** The log of the owner's side: one line per event, with a fixed lower-case message and fields. It never receives keys, queries, arguments or results. */
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
/** Log levels, from the least to the most urgent. */
export type LogLevel = (typeof LEVELS)[number];

/** Creates a log of JSON lines. Default: on standard error, from level `info`. Writes errors in fields with stack and cause. */
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

/** Never throws: fields that are not JSON are replaced with a note. */
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

/** A random reference that connects the message of a failure with its log line. */
export function createReference(): string {
  return randomBytes(6).toString("hex");
}
