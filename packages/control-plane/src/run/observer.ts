/** One line of what happens, for people who watch: never a query's text, arguments or results. */
export type QueryLine = { at: number; runId: string; agentId: string; role?: string } & (
  | { kind: "query" }
  | { kind: "call"; functionName: string; ok: boolean; code?: string; ms: number }
  | { kind: "done"; ms: number; tokens: number }
  | { kind: "failed"; code: string; ms: number }
);

/** Takes the lines as they happen. The run waits for it: return soon and do not throw. */
export type Observer = (line: QueryLine) => void;
