import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import type { ConsoleThreadDetail, RunSummary } from "@patchbay/protocol/console";

/** One event as the event list shows it. Tokens in a row are one entry. */
export interface Entry {
  type: string;
  /** Number in the run's log; undefined for live events, which are not kept. */
  seq: number | undefined;
  /** Since the query was asked. */
  atMs: number;
  payloads: object[];
  /** Blocks as they were sent; of a stored log their events alone. */
  raw: string[];
}

/** A function call as it is known so far. */
export interface Call {
  id: string;
  name: string;
  parameters: unknown;
  progress: unknown[];
  outcome: CallOutcome | undefined;
}

export type CallOutcome = { ok: true; result: unknown } | { ok: false; code: string | undefined; errorMessage: string };

export type Step = { kind: "thought"; text: string; live: boolean } | { kind: "call"; call: Call };

/** What the events of a run come to: the steps in their order, then the answer. */
export interface Told {
  entries: Entry[];
  steps: Step[];
  /** The answer, as far as it was written. */
  answer: string;
  warnings: string[];
  end: End | undefined;
}

export type End =
  | { ok: true; executionTimeMs: number; inputTokens: number; outputTokens: number; costUsd: number }
  | { ok: false; code: string; errorMessage: string };

export const NOTHING_TOLD: Told = { entries: [], steps: [], answer: "", warnings: [], end: undefined };

export interface Arrived {
  event: RunEvent | LiveEvent;
  seq: number | undefined;
  raw: string;
  atMs: number;
}

/** What is known after one more event. */
export function tell(told: Told, arrived: Arrived): Told {
  return { ...told, ...changedBy(told, arrived.event), entries: withEntry(told.entries, arrived) };
}

function changedBy({ steps, answer, warnings }: Told, event: RunEvent | LiveEvent): Partial<Told> {
  switch (event.type) {
    case "thoughtDelta":
      return { steps: withThought(steps, event.content) };
    case "responseDelta":
      return { answer: answer + event.content };
    case "deltaReset":
      return { steps: settled(steps), answer: "" };
    case "thought":
      return { steps: [...settled(steps), { kind: "thought", text: event.content, live: false }] };
    case "toolCall": {
      const { toolCallId: id, toolName: name, parameters } = event;
      const call: Call = { id, name, parameters, progress: [], outcome: undefined };
      return { steps: [...settled(steps), { kind: "call", call }], answer: "" };
    }
    case "toolProgress":
      return {
        steps: changeCall(steps, event.toolCallId, (call) => ({ ...call, progress: [...call.progress, event.data] })),
      };
    case "toolResult":
      return {
        steps: changeCall(steps, event.toolCallId, (call) => ({
          ...call,
          parameters: event.parameters ?? call.parameters,
          outcome: outcomeOf(event),
        })),
      };
    case "finalResponse": {
      const { executionTimeMs, usage, response } = event;
      const { inputTokens, outputTokens, costUsd } = usage;
      const end: End = { ok: true, executionTimeMs, inputTokens, outputTokens, costUsd };
      return { steps: settled(steps), answer: response, warnings: event.warnings ?? warnings, end };
    }
    case "error":
      return { steps: settled(steps), end: { ok: false, code: event.code, errorMessage: event.errorMessage } };
  }
}

function outcomeOf(event: Extract<RunEvent, { type: "toolResult" }>): CallOutcome {
  if (event.success) return { ok: true, result: event.result };
  return { ok: false, code: event.code, errorMessage: event.errorMessage ?? "It failed." };
}

function withThought(steps: Step[], content: string): Step[] {
  const last = steps.at(-1);
  const said = last?.kind === "thought" && last.live ? last.text : undefined;
  const before = said === undefined ? steps : steps.slice(0, -1);
  return [...before, { kind: "thought", text: (said ?? "") + content, live: true }];
}

/** Without the thought under way: its whole text follows as an event of its own. */
const settled = (steps: Step[]): Step[] => steps.filter((step) => step.kind !== "thought" || !step.live);

const changeCall = (steps: Step[], id: string, change: (call: Call) => Call): Step[] =>
  steps.map((step) => (step.kind === "call" && step.call.id === id ? { kind: "call", call: change(step.call) } : step));

const TOKENS = new Set(["responseDelta", "thoughtDelta"]);

function withEntry(entries: Entry[], { event, seq, raw, atMs }: Arrived): Entry[] {
  const { type, ...payload } = event;
  const last = entries.at(-1);
  if (last?.type === type && TOKENS.has(type))
    return [...entries.slice(0, -1), { ...last, payloads: [...last.payloads, payload], raw: [...last.raw, raw] }];
  return [...entries, { type, seq, atMs, payloads: [payload], raw: [raw] }];
}

export const callsOf = ({ steps }: Told): Call[] => steps.flatMap((step) => (step.kind === "call" ? [step.call] : []));

/** A query of a thread with what was answered. */
export interface PastExchange {
  run: RunSummary;
  query: string;
  /** Undefined where the run did not succeed. */
  answer: string | undefined;
  askedAt: string;
}

/** The exchanges of a thread, oldest first. */
export function exchangesOf({ messages, runs }: Pick<ConsoleThreadDetail, "messages" | "runs">): PastExchange[] {
  const byId = new Map(runs.map((run) => [run.runId, run]));
  const answers = new Map(
    messages.flatMap(({ role, runId, content }) => (role === "assistant" ? [[runId, content]] : [])),
  );
  return messages.flatMap(({ role, runId, content, createdAt }) => {
    const run = byId.get(runId);
    return role === "user" && run ? [{ run, query: content, answer: answers.get(runId), askedAt: createdAt }] : [];
  });
}

/** Titles are the beginnings of queries, cut to this many units. */
const TITLE_UNITS = 80;

export const shownTitle = (title: string): string => (title.length >= TITLE_UNITS - 1 ? `${title}…` : title);
