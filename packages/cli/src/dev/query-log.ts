import type { QueryLine } from "@patchbay/control-plane";
import { clock } from "../log.ts";
import { paintLog, tell } from "../output.ts";
import { oneLine } from "../text.ts";

const WORDS = { query: "query ", call: "call  ", done: "done  ", failed: "failed" } as const;
const STYLES = { query: "cyan", call: "blue", done: "green", failed: "red" } as const;

/** Writes the live log of `dev`: one line on stderr per query, call and end. */
export function tellQueryLine(line: QueryLine): void {
  const parts = [clock(line.at), paintLog(STYLES[line.kind], WORDS[line.kind]), paintLog("dim", line.runId)];
  if (line.kind === "query" || line.kind === "call")
    parts.push(line.role === undefined ? "no role" : `as ${oneLine(line.role)}`);
  if (line.kind === "call")
    parts.push(oneLine(line.functionName), line.ok ? paintLog("green", "ok") : failed(line.code));
  if (line.kind === "failed") parts.push(failed(line.code));
  if (line.kind !== "query") parts.push(`${Math.round(line.ms)} ms`);
  if (line.kind === "done") parts.push(`${line.tokens} tokens`);
  tell(parts.join("  "));
}

const failed = (code = "failed") => paintLog("red", code);
