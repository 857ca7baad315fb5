import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import type { ConsoleThreadDetail, RunSummary } from "@patchbay/protocol/console";
import { queryOptions } from "@tanstack/react-query";
import { api } from "../../api/api.ts";

/** One line in the event list. Consecutive tokens share one entry. */
export interface EventEntry {
  type: string;
  /** Number in the run's log; undefined for live events, which are not stored. */
  seq: number | undefined;
  /** Milliseconds since the query was accepted, by the service's clock; only in transcripts from the log. */
  afterMs: number | undefined;
  payloads: object[];
  /** The server-sent event blocks as received. */
  raw: string[];
}

/** What a handler reported during its call. */
export interface Report {
  data: unknown;
  /** By the page's clock, in milliseconds since 1970. */
  receivedAt: number | undefined;
}

/** A function call with its progress and outcome so far. */
export interface Call {
  id: string;
  name: string;
  parameters: unknown;
  progress: Report[];
  /** True while a person has to approve the call. */
  waits?: boolean;
  outcome: CallOutcome | undefined;
}

export type CallOutcome = { ok: true; result: unknown } | { ok: false; code: string | undefined; errorMessage: string };

export type Step = { kind: "thought"; text: string; live: boolean } | { kind: "call"; call: Call };

/** A run as its events describe it so far: steps in order, then the answer. */
export interface Transcript {
  entries: EventEntry[];
  steps: Step[];
  /** The answer received so far. */
  answer: string;
  warnings: string[];
  /** What keeps the model, until the next event. */
  status?: string | undefined;
  end: RunEnd | undefined;
}

/** How a run ended. */
export type RunEnd =
  | ({ ok: true } & Omit<Extract<RunEvent, { type: "finalResponse" }>, "type">)
  | { ok: false; code: string; errorMessage: string };

export const EMPTY_TRANSCRIPT: Transcript = { entries: [], steps: [], answer: "", warnings: [], end: undefined };

/** One received run event. */
export interface ReceivedEvent {
  event: RunEvent | LiveEvent;
  seq: number | undefined;
  raw: string;
  afterMs?: number;
  receivedAt?: number;
}

/** Returns the transcript with one more event. */
export function addEvent(transcript: Transcript, received: ReceivedEvent): Transcript {
  return {
    ...transcript,
    status: undefined,
    ...changesFrom(transcript, received),
    entries: addEntry(transcript.entries, received),
  };
}

function changesFrom(
  { steps, answer, warnings }: Transcript,
  { event, receivedAt }: ReceivedEvent,
): Partial<Transcript> {
  switch (event.type) {
    case "thoughtDelta":
      return { steps: withThought(steps, event.content) };
    case "responseDelta":
      return { answer: answer + event.content };
    case "deltaReset":
      return { steps: withoutLiveThought(steps), answer: "" };
    case "thought":
      return { steps: [...withoutLiveThought(steps), { kind: "thought", text: event.content, live: false }] };
    case "toolCall": {
      const { toolCallId: id, toolName: name, parameters } = event;
      const call: Call = { id, name, parameters, progress: [], outcome: undefined };
      return { steps: [...withoutLiveThought(steps), { kind: "call", call }], answer: "" };
    }
    case "toolProgress": {
      const report: Report = { data: event.data, receivedAt };
      return {
        steps: changeCall(steps, event.toolCallId, (call) => ({ ...call, progress: [...call.progress, report] })),
      };
    }
    case "toolResult":
      return {
        steps: changeCall(steps, event.toolCallId, (call) => ({
          ...call,
          parameters: event.parameters ?? call.parameters,
          outcome: outcomeOf(event),
        })),
      };
    case "approvalRequest":
    case "approvalDecision": {
      const waits = event.type === "approvalRequest";
      return { steps: changeCall(steps, event.toolCallId, (call) => ({ ...call, waits })) };
    }
    case "modelStatus":
      return event.state === "retrying" ? { status: "The model did not answer. Asking it again…" } : {};
    case "finalResponse": {
      const { type: _, ...ended } = event;
      const end: RunEnd = { ok: true, ...ended };
      return { steps: withoutLiveThought(steps), answer: ended.response, warnings: ended.warnings ?? warnings, end };
    }
    case "error":
      return {
        steps: withoutLiveThought(steps),
        warnings: event.warnings ?? warnings,
        end: { ok: false, code: event.code, errorMessage: event.errorMessage },
      };
  }
}

function outcomeOf(event: Extract<RunEvent, { type: "toolResult" }>): CallOutcome {
  if (event.success) return { ok: true, result: event.result };
  return { ok: false, code: event.code, errorMessage: event.errorMessage ?? "The call failed." };
}

function withThought(steps: Step[], content: string): Step[] {
  const last = steps.at(-1);
  const streamed = last?.kind === "thought" && last.live ? last.text : undefined;
  const before = streamed === undefined ? steps : steps.slice(0, -1);
  return [...before, { kind: "thought", text: (streamed ?? "") + content, live: true }];
}

/** Removes the streamed thought: a `thought` event with its whole text follows. */
const withoutLiveThought = (steps: Step[]): Step[] => steps.filter((step) => step.kind !== "thought" || !step.live);

const changeCall = (steps: Step[], id: string, change: (call: Call) => Call): Step[] =>
  steps.map((step) => (step.kind === "call" && step.call.id === id ? { kind: "call", call: change(step.call) } : step));

const TOKENS = new Set(["responseDelta", "thoughtDelta"]);

function addEntry(entries: EventEntry[], { event, seq, raw, afterMs }: ReceivedEvent): EventEntry[] {
  const { type, ...payload } = event;
  const last = entries.at(-1);
  if (last?.type === type && TOKENS.has(type))
    return [...entries.slice(0, -1), { ...last, payloads: [...last.payloads, payload], raw: [...last.raw, raw] }];
  return [...entries, { type, seq, afterMs, payloads: [payload], raw: [raw] }];
}

/** A transcript's calls, in order. */
export const callsOf = ({ steps }: Transcript): Call[] =>
  steps.flatMap((step) => (step.kind === "call" ? [step.call] : []));

/** True while a call has to be approved. */
export const awaitsApproval = (transcript: Transcript): boolean =>
  callsOf(transcript).some(({ waits, outcome }) => waits && !outcome);

/** A thread's stored query with its answer. */
export interface PastExchange {
  run: RunSummary;
  query: string;
  /** Undefined if the run did not succeed. */
  answer: string | undefined;
  askedAt: string;
}

/** A thread's exchanges, oldest first. */
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

/** The API cuts titles to this many UTF-16 units from the first query. */
const TITLE_UNITS = 80;

/** A thread's title, with an ellipsis where the API cut it. */
export const shownTitle = (title: string): string => (title.length >= TITLE_UNITS - 1 ? `${title}…` : title);

/** Maximum number of fetched log pages; run logs are far shorter. */
const MAX_PARTS = 50;

/** Builds a transcript from the stored log. Only for ended runs: the log is fetched once. */
export function recordedTranscript({ agentId, runId }: Pick<RunSummary, "agentId" | "runId">) {
  return queryOptions({
    queryKey: ["transcript", agentId, runId],
    staleTime: Infinity,
    async queryFn({ signal }): Promise<Transcript> {
      const params = { agentId, runId };
      let transcript = EMPTY_TRANSCRIPT;
      let cursor: string | undefined;
      for (let part = 0; part < MAX_PARTS; part += 1) {
        const query = { limit: 100, cursor };
        const page = await api.get("/agents/:agent_id/runs/:run_id/log", { params, query, signal });
        for (const { seq, afterMs, body } of page.items) {
          const event = JSON.parse(body) as RunEvent;
          transcript = addEvent(transcript, { event, seq, raw: `id: ${seq}\ndata: ${body}`, afterMs });
        }
        if (page.nextCursor === null) break;
        cursor = page.nextCursor;
      }
      return transcript;
    },
  });
}
