import { setTimeout } from "@patchbay/kit/time";
import { writeSync } from "node:fs";
import { type Log, type LogFields, type LogLevel, logText, logTo } from "@patchbay/kit";

/** Creates a log of JSON lines without secrets. Default: on standard error, from level `info`. */
export function createLog(options: { level?: LogLevel; fields?: LogFields; write?: (line: string) => void } = {}): Log {
  const { level: lowest = "info", fields, write } = options;
  return logTo(
    (level, message, of) => {
      const line = logText(level, message, of);
      if (write) write(line);
      else if (level === "warn" || level === "error") flush(line);
      else gather(line);
    },
    () => lowest,
    fields,
  );
}

/** How long a `debug` or `info` line waits for others. A separate write costs as much as the line itself. */
const GATHER_MS = 20;
const MOST_CHARS = 65_536;

/**
 * Lines that are not written yet. All logs in the process share them, as they share standard error, which keeps lines
 * in order.
 */
let gathered = "";
let timer: NodeJS.Timeout | undefined;

function gather(line: string): void {
  if (gathered === "" && timer) timer.refresh();
  if (!timer) {
    timer = setTimeout(() => flush(), GATHER_MS).unref();
    process.once("exit", () => flush());
  }
  gathered += line;
  if (gathered.length >= MOST_CHARS) flush();
}

/** Writes the gathered lines, and `line`. Never throws: a closed stderr must not stop the process. */
function flush(line = ""): void {
  const bytes = Buffer.from(gathered + line);
  gathered = "";
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(2, bytes, at);
  } catch {
    // stderr is closed.
  }
}
