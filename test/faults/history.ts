import { createWriteStream, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What a load client received and did. */
export type Noted = { at: number; query: string } & (
  | { kind: "asked"; tenant: string; mode: "stream" | "json" }
  | { kind: "status"; status: number; replica: number }
  | { kind: "broken"; replica: number; cause: string }
  | { kind: "run"; runId: string }
  | { kind: "event"; runId: string; seq: number; data: string }
  | { kind: "answer"; runId: string; body: string }
  | { kind: "gaveUp" }
);

type Unstamped<T> = T extends unknown ? Omit<T, "at"> : never;

/** The records of the clients, in memory for the checker, and on disk for the analysis of failures. */
export interface History {
  note(noted: Unstamped<Noted>): void;
  readonly noted: readonly Noted[];
}

export function createHistory(file: string): History {
  const out = createWriteStream(file, { flags: "a" });
  const noted: Noted[] = [];
  return {
    note(one) {
      const stamped: Noted = { at: Date.now(), ...one };
      noted.push(stamped);
      out.write(`${JSON.stringify(stamped)}\n`);
    },
    noted,
  };
}

/** The longest time without data of a streamed query, from its request on. An open silence does not count. */
export function longestSilence(noted: readonly Noted[]): number {
  const last = new Map<string, number>();
  let longest = 0;
  for (const { kind, query, at } of noted) {
    if (kind === "event") longest = Math.max(longest, at - (last.get(query) ?? at));
    if (kind === "event" || kind === "asked") last.set(query, at);
  }
  return longest;
}

/** A record that a counting function wrote before or after its work. */
export interface FunctionNote {
  /** `reconcile`: the owner's code was asked about an earlier attempt. */
  phase: "begin" | "end" | "reconcile";
  tenant: string;
  name: string;
  id: string;
  callId: string;
  attempt: number;
  pid: number;
  at: number;
}

export function readFunctionNotes(folder: string): FunctionNote[] {
  const files = readdirSync(folder).filter((name) => name.startsWith("functions-") && existsSync(join(folder, name)));
  return files.flatMap((name) => {
    const lines = readFileSync(join(folder, name), "utf8").split("\n");
    return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as FunctionNote);
  });
}
