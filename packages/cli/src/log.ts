import type { Log, LogFields } from "@patchbay/control-plane";
import type { Environment } from "./config.ts";
import { paintLog, tell } from "./output.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

const STYLES = { debug: "dim", info: "cyan", warn: "yellow", error: "red" } as const;

/** The least level to log, as PATCHBAY_LOG has it. */
export function logLevel(env: Environment, otherwise: Level = "info"): Level {
  return LEVELS.find((level) => level === env["PATCHBAY_LOG"]) ?? otherwise;
}

/** A log for people: one line per event on stderr, `12:03:11 warn  message  field=value`. */
export function createHumanLog(least: () => Level, bound: LogFields = {}): Log {
  const write = (level: Level) => (message: string, fields?: LogFields) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(least())) return;
    const rest = Object.entries({ ...bound, ...fields }).map(([name, value]) => `${name}=${show(value)}`);
    tell(
      `${clock()} ${paintLog(STYLES[level], level.padEnd(5))} ${message}  ${paintLog("dim", rest.join(" "))}`.trimEnd(),
    );
  };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (fields) => createHumanLog(least, { ...bound, ...fields }),
  };
}

/** The time of day of a log line. */
export function clock(at = Date.now()): string {
  return paintLog("dim", new Date(at).toTimeString().slice(0, 8));
}

function show(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.stack ?? value.message);
  return typeof value === "string" && !/[\s"=]/.test(value) ? value : JSON.stringify(value);
}
