import { clock } from "../log.ts";
import { paintLog, tell } from "../output.ts";

/** One step of a query as the control plane tells of it; never its text. */
export interface QueryLine {
  at: number;
  kind: "query" | "call" | "done" | "failed";
  runId: string;
  agentId: string;
  role?: string;
  functionName?: string;
  ok?: boolean;
  code?: string;
  ms?: number;
  tokens?: number;
}

const WORDS = { query: "query ", call: "call  ", done: "done  ", failed: "failed" } as const;
const STYLES = { query: "cyan", call: "blue", done: "green", failed: "red" } as const;

/** Writes the live log of `dev`: one line on stderr per query, call and end. */
export function tellQueryLine(line: QueryLine): void {
  const parts = [clock(line.at), paintLog(STYLES[line.kind], WORDS[line.kind]), paintLog("dim", line.runId)];
  if (line.functionName !== undefined) parts.push(line.functionName);
  if (line.kind === "query" || line.kind === "call")
    parts.push(line.role === undefined ? "no role" : `as ${line.role}`);
  if (line.kind === "call")
    parts.push(line.ok === true ? paintLog("green", "ok") : paintLog("red", line.code ?? "failed"));
  else if (line.code !== undefined) parts.push(paintLog("red", line.code));
  if (line.ms !== undefined) parts.push(`${Math.round(line.ms)} ms`);
  if (line.tokens !== undefined) parts.push(`${line.tokens} tokens`);
  tell(parts.join("  "));
}
