/** Fields of a log line. Must not contain keys, tokens, queries or function results. */
export type LogFields = Record<string, unknown>;

/** A log with one line per event: a fixed lower-case message and fields. Must not get keys, tokens, queries or results. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
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
