import type { QueryLine } from "@patchbay/control-plane";
import { LOG_LEVELS, type Log, type LogLevel, logTo, prettyText } from "@patchbay/kit";
import type { Environment } from "./config.ts";
import { oneLine, paintStatus, printStatus } from "./output.ts";

/** The lowest level to log, from PATCHBAY_LOG. */
export function logLevel(env: Environment, preset: LogLevel = "info"): LogLevel {
  return LOG_LEVELS.find((level) => level === env["PATCHBAY_LOG"]) ?? preset;
}

/** A log for people: one line per event on stderr, `12:03:11 warn  message  field=value`, with error stacks below it. */
export const createHumanLog = (lowest: () => LogLevel): Log =>
  logTo((...line) => printStatus(`${clock()} ${prettyText(...line, paintStatus)}`), lowest);

/** A log line's time. */
export const clock = (at = Date.now()): string => paintStatus("dim", new Date(at).toTimeString().slice(0, 8));

const QUERY_STYLES = { query: "cyan", call: "blue", done: "green", failed: "red" } as const;

/** Writes the `dev` live log: one line on stderr per query, call and end. Query texts appear only in a terminal. */
export function logQueryLine(line: QueryLine): void {
  const cancelled = line.kind === "failed" && line.code === "cancelled";
  const kind = cancelled ? paintStatus("dim", "cancelled") : paintStatus(QUERY_STYLES[line.kind], line.kind.padEnd(6));
  const parts = [clock(line.at), kind, paintStatus("dim", line.runId)];
  if (line.kind === "query" || line.kind === "call")
    parts.push(line.role === undefined ? "no role" : `as ${oneLine(line.role)}`);
  if (line.kind === "query" && process.stderr.isTTY) parts.push(paintStatus("dim", excerpt(oneLine(line.text))));
  if (line.kind === "call")
    parts.push(oneLine(line.functionName), line.ok ? paintStatus("green", "ok") : failed(line.code));
  if (line.kind === "failed" && !cancelled) parts.push(failed(line.code));
  if (line.kind !== "query") parts.push(`${Math.round(line.ms)} ms`);
  if (line.kind === "done") parts.push(`${line.tokens} tokens`);
  printStatus(parts.join("  "));
}

const MAX_TEXT = 120;

const excerpt = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text);

const failed = (code = "failed") => paintStatus(code === "cancelled" ? "dim" : "red", code);
