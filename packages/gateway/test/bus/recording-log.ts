import type { Log, LogFields } from "@patchbay/kit";

/** Keeps each line above debug as one string. */
export function recordingLog(): Log & { lines: string[] } {
  const lines: string[] = [];
  const keep =
    (level: string) =>
    (message: string, fields?: LogFields): void =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
  const log = { debug() {}, info: keep("info"), warn: keep("warn"), error: keep("error"), child: () => log, lines };
  return log;
}
