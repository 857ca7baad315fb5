import type { Log, LogFields, LogLevel } from "../log.ts";

/** One line that the control plane or the runtime wrote. */
export interface LogLine {
  from: "control-plane" | "runtime";
  level: LogLevel;
  message: string;
  fields: LogFields;
}

/** A log that keeps what is written to it. */
export function keepLines(lines: LogLine[], from: LogLine["from"], common: LogFields = {}): Log {
  const write = (level: LogLevel) => (message: string, fields?: LogFields) =>
    void lines.push({ from, level, message, fields: { ...common, ...fields } });
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (fields) => keepLines(lines, from, { ...common, ...fields }),
  };
}
