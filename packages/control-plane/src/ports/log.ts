/** What a line says beside its message; never keys, tokens, queries or function results. */
export type LogFields = Record<string, unknown>;

/** One line per event: a fixed lower-case message plus fields. Never given keys, tokens, queries or function results. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
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
