import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import * as fc from "@patchbay/test-support/properties";
import { sampleAnswer } from "../../../../control-plane/test/sample-answer.ts";

type Event = RunEvent | LiveEvent;

/** A run as a stream's translator sees it: its events, and what the model wrote. */
export interface WrittenRun {
  events: Event[];
  /** The answer's text; undefined for a run that has not ended, or has failed. */
  answer?: string;
  thoughts: string[];
  calls: string[];
  /** Texts that the model wrote next to calls. */
  spoken: string[];
  /** True if every delta arrives and none is taken back. */
  isPlain: boolean;
}

const ids = { threadId: "thr_1", runId: "run_1" };
const text = fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom("a", "b", " ", "\n", "é", '"') });
/** A text in parts, as a model writes it. */
const parts = fc.array(text, { minLength: 1, maxLength: 4 });
const deltas = (type: "responseDelta" | "thoughtDelta", written: readonly string[]): LiveEvent[] =>
  written.map((content) => ({ type, content }));

interface Turn {
  failed: string[][];
  thoughts: string[][];
  said: string[];
  calls: { name: string; approval: boolean; success: boolean }[];
}

const turn = (calls: { minLength: number; maxLength: number }): fc.Arbitrary<Turn> =>
  fc.record({
    failed: fc.array(parts, { maxLength: 2 }),
    thoughts: fc.array(parts, { maxLength: 2 }),
    said: parts,
    calls: fc.array(
      fc.record({ name: fc.constantFrom("look_up", "refund"), approval: fc.boolean(), success: fc.boolean() }),
      calls,
    ),
  });

const ENDINGS = ["answer", "none", "provider_error", "output_limit", "refused", "cancelled"] as const;

/** Any sequence of events that a run can make, without some of its deltas, which a slow reader does not get. */
export const writtenRun: fc.Arbitrary<WrittenRun> = fc
  .record({
    turns: fc.array(fc.record({ turn: turn({ minLength: 1, maxLength: 2 }), silent: fc.boolean() }), { maxLength: 3 }),
    last: turn({ minLength: 0, maxLength: 0 }),
    ending: fc.constantFrom(...ENDINGS),
    lost: fc.infiniteStream(fc.nat(5)),
    loses: fc.boolean(),
  })
  .map(({ turns, last, ending, lost, loses }) => {
    const run: WrittenRun = { events: [], thoughts: [], calls: [], spoken: [], isPlain: true };
    for (const { turn, silent } of turns) callingTurn(run, silent ? { ...turn, said: [] } : turn);
    begin(run, last);
    for (const thought of last.thoughts) store(run, thought.join(""));
    run.events.push(...deltas("responseDelta", last.said));
    if (ending === "answer") {
      run.answer = last.said.join("");
      run.events.push(finalResponse(run.answer));
    } else if (ending !== "none") run.events.push({ type: "error", errorMessage: "It failed.", code: ending, ...ids });
    if (loses) run.events = run.events.filter(({ type }) => !type.endsWith("Delta") || lost.next().value !== 0);
    run.isPlain &&= !loses;
    return run;
  });

export const finalResponse = (response: string): RunEvent => ({
  type: "finalResponse",
  ...sampleAnswer({ response, ...ids }),
});

function begin(run: WrittenRun, { failed, thoughts }: Turn): void {
  for (const attempt of failed) {
    run.isPlain = false;
    run.events.push(...deltas("responseDelta", attempt), { type: "deltaReset" });
    run.events.push({ type: "modelStatus", state: "retrying", attempt: 2, waitMs: 500 });
  }
  for (const thought of thoughts) run.events.push(...deltas("thoughtDelta", thought));
}

function store(run: WrittenRun, content: string): void {
  run.thoughts.push(content);
  run.events.push({ type: "thought", content });
}

function callingTurn(run: WrittenRun, turn: Turn): void {
  begin(run, turn);
  const spoken = turn.said.join("");
  if (spoken !== "") {
    run.isPlain = false;
    run.spoken.push(spoken);
    run.events.push(...deltas("responseDelta", turn.said), { type: "deltaReset" });
  }
  for (const thought of turn.thoughts) store(run, thought.join(""));
  if (spoken !== "") run.events.push({ type: "thought", content: spoken });
  const calls = turn.calls.map((call) => ({ ...call, id: `call_${run.calls.push(call.name)}` }));
  for (const { name, id } of calls)
    run.events.push({ type: "toolCall", toolName: name, toolCallId: id, parameters: { n: 1 } });
  for (const { name, id, approval, success } of calls) {
    const about = { toolName: name, toolCallId: id, approvalId: `apr_${id}` };
    if (approval)
      run.events.push(
        { type: "approvalRequest", ...about, parameters: {}, by: ["lead"], expiresAt: "2026-01-01T00:00:00Z" },
        { type: "approvalDecision", approvalId: about.approvalId, toolCallId: id, decision: "approved" },
      );
    run.events.push(
      { type: "toolProgress", toolCallId: id, data: 1 },
      { type: "toolResult", toolName: name, toolCallId: id, success, ...(success && { result: 1 }) },
    );
  }
}
