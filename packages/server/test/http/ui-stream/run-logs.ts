import type { JsonValue } from "@patchbay/kit";
import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import * as fc from "fast-check";
import type { Followed } from "@patchbay/engine/run/api";
import { sampleAnswer } from "../../../../control-plane/test/sample-answer.ts";

export const RUN = { runId: "run_1", threadId: "thr_1" };

/** An event, or the place at which the run waits for approvals. */
type Step = RunEvent | LiveEvent;

const word = fc.constantFrom("a", "late", " order", "\n", "é", "💡");
const text = fc.array(word, { maxLength: 4 }).map((words) => words.join(""));
const value = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>;

const thought = (content: string): RunEvent => ({ type: "thought", content });
const live = (type: "responseDelta" | "thoughtDelta", content: string): Step[] =>
  [...content.matchAll(/.{1,2}/gsu)].map(([part]) => ({ type, content: part }));

const status = fc.record({ state: fc.constantFrom("retrying", "silent"), attempt: fc.nat({ max: 9 }) });

/** Attempts that failed: what they showed was withdrawn. */
const failedAttempts = fc
  .array(fc.tuple(text, text, status), { maxLength: 2 })
  .map((attempts) =>
    attempts.flatMap(([answer, thought, attempt]): Step[] => [
      ...live("thoughtDelta", thought),
      ...live("responseDelta", answer),
      { type: "deltaReset" },
      { type: "modelStatus", ...attempt },
    ]),
  );

/** How a call ends: without an approval, or after one. */
const fate = fc.record({
  approval: fc.option(fc.constantFrom("approved", "rejected", "expired", "cancelled"), { nil: undefined }),
  edited: fc.boolean(),
  ok: fc.boolean(),
  progress: fc.nat({ max: 2 }),
  result: value,
});
type Fate = typeof fate extends fc.Arbitrary<infer F> ? F : never;

function callEvents(fates: Fate[], turn: number): Step[] {
  const calls = fates.map((one, i) => ({ ...one, toolCallId: `call_${turn}_${i}`, toolName: `f${i}` }));
  const result = ({ toolCallId, toolName, ok, result, approval }: (typeof calls)[number]): RunEvent => {
    const refused = { rejected: "rejected", expired: "approval_expired", cancelled: "cancelled" } as const;
    const code = approval && approval !== "approved" ? refused[approval] : "function_failed";
    if (ok && (!approval || approval === "approved"))
      return { type: "toolResult", toolCallId, toolName, success: true, result };
    return { type: "toolResult", toolCallId, toolName, success: false, errorMessage: "It failed.", code };
  };
  const [asked, others] = [calls.filter((one) => one.approval), calls.filter((one) => !one.approval)];
  return [
    ...calls.map(({ toolCallId, toolName, result: parameters }): Step => ({
      type: "toolCall",
      toolCallId,
      toolName,
      parameters,
    })),
    ...asked.map(({ toolCallId, toolName, result: parameters }): Step => ({
      type: "approvalRequest",
      approvalId: `apr_${toolCallId}`,
      toolCallId,
      toolName,
      parameters,
      by: ["caller"],
      expiresAt: "2026-11-24T00:00:00.000Z",
    })),
    ...others.flatMap((one): Step[] => [
      ...Array.from({ length: one.progress }, (): Step => ({
        type: "toolProgress",
        toolCallId: one.toolCallId,
        data: one.result,
      })),
      result(one),
    ]),
    ...asked.flatMap((one): Step[] => [
      {
        type: "approvalDecision",
        approvalId: `apr_${one.toolCallId}`,
        toolCallId: one.toolCallId,
        decision: one.approval!,
        ...(one.edited && { parameters: { edited: true } }),
      },
      result(one),
    ]),
  ];
}

/** A turn with calls, as `runCalls` of the loop writes it. */
const callTurn = fc
  .record({ failed: failedAttempts, reasoned: fc.array(text, { maxLength: 2 }), said: text, shown: fc.boolean() })
  .chain((turn) => fc.array(fate, { minLength: 1, maxLength: 3 }).map((fates) => ({ ...turn, fates })))
  .map(({ failed, reasoned, said, shown, fates }) => (turn: number): Step[] => [
    ...failed,
    ...(shown ? live("thoughtDelta", reasoned.join("")) : []),
    ...(shown ? live("responseDelta", said) : []),
    ...(said === "" ? [] : [{ type: "deltaReset" as const }]),
    ...reasoned.map(thought),
    ...(said === "" ? [] : [thought(said)]),
    ...callEvents(fates, turn),
  ]);

/** The last turn: an answer, or a failure at any place. */
const ending = fc
  .record({
    failed: failedAttempts,
    reasoned: text,
    stores: fc.boolean(),
    response: text,
    shown: fc.boolean(),
    cut: fc.boolean(),
    end: fc.constantFrom("answer", "provider_error", "cancelled"),
  })
  .map(({ failed, reasoned, stores, response, shown, cut, end }): Step[] => [
    ...failed,
    ...(shown ? live("thoughtDelta", reasoned) : []),
    ...(shown ? live("responseDelta", cut ? response.slice(0, 1) : response) : []),
    ...(stores && reasoned !== "" ? [thought(reasoned)] : []),
    end === "answer"
      ? { type: "finalResponse", ...sampleAnswer({ response, ...RUN }) }
      : {
          type: "error",
          errorMessage: "It ended.",
          code: end as "cancelled",
          ...RUN,
          ...(cut && { warnings: ["Late"] }),
        },
  ]);

/** The log of any run with the live events between its stored ones. Live events may be lost. */
export const anyRun: fc.Arbitrary<Followed[]> = fc
  .record({
    turns: fc.array(callTurn, { maxLength: 3 }),
    ending,
    lost: fc.array(fc.nat({ max: 40 }), { maxLength: 6 }),
  })
  .map(({ turns, ending: last, lost }) => {
    let id = 0;
    const events = [...turns.flatMap((events, i) => events(i)), ...last];
    return events.flatMap((event, i): Followed[] => {
      const body = JSON.stringify(event);
      if (!LIVE.has(event.type)) return [{ id: ++id, body }];
      return lost.includes(i) ? [] : [{ body }];
    });
  });

const LIVE = new Set(["responseDelta", "thoughtDelta", "deltaReset", "modelStatus", "toolProgress"]);

export const typeOf = ({ body }: Followed): string => (JSON.parse(body) as { type: string }).type;
