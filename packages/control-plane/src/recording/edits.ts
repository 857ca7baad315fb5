import { escapeControls, type RunErrorCode } from "@patchbay/protocol";
import type { CallRecord, RunRecord } from "../ports/records.ts";

/** A run of an exported conversation. */
export interface RunToRepeat {
  run: RunRecord;
  calls: readonly CallRecord[];
  /** The agent's instructions, undefined when the system text of the run is not one that this version sends. */
  instructions: string | undefined;
}

/** Ends that come from outside of the conversation: a replay continues, to a model request that was not recorded. */
const FROM_OUTSIDE: ReadonlySet<string | undefined> = new Set<RunErrorCode>([
  "agent_session_not_found",
  "budget_exceeded",
  "cancelled",
  "crash_loop",
  "deadline_exceeded",
  "insufficient_credits",
  "internal",
  "model_not_allowed",
  "provider_error",
  "provider_not_configured",
]);

/** What the owner changes before a test of these runs can pass, as sentences. Empty: the test passes as it is. */
export function editsOf(runs: readonly RunToRepeat[]): string[] {
  const all = <T>(of: (one: RunToRepeat) => readonly T[]) => [...new Set(runs.flatMap(of))];
  const keys = all(({ run }) => Object.keys(run.request.context)).map(onOneLine);
  const approved = all(({ calls }) => calls.filter(({ approval }) => approval).map(({ functionName }) => functionName));
  const codes = all(({ run: { result } }) => (FROM_OUTSIDE.has(result?.code) ? [result!.code!] : []));
  const instructions = new Set(runs.map((one) => one.instructions));
  return [
    ...(keys.length > 0 ? [`Fill in the values of the context, which are not exported: ${keys.join(", ")}.`] : []),
    ...(approved.length > 0
      ? [`Give each query an approver: a person decided on calls of ${approved.join(", ")}.`]
      : []),
    ...codes.map((code) => `Write what the test expects: the run ended with ${code}, which a replay does not repeat.`),
    ...(instructions.has(undefined)
      ? ["Record the conversation again: its system text is that of an earlier version."]
      : instructions.size > 1
        ? ["Record the conversation again: the agent's instructions changed between its queries."]
        : []),
  ];
}

/** A key of a context is a client's text: a line break in it would end the comment of the test, and its rest would be code. */
const onOneLine = (key: string): string => escapeControls(JSON.stringify(key));
