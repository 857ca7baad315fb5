import type { LogEvent, RunTrace, Span } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { formatShare } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Json } from "../../ui/json.tsx";
import { Markdown } from "../../ui/markdown.tsx";
import { ErrorState, Facts } from "../../ui/page.tsx";
import { type Tab, Tabs } from "../../ui/tabs.tsx";
import { Cost, Count, Status } from "../../ui/values.tsx";
import { endOf } from "../../waterfall/rows.ts";
import { KIND_WORDS, stateOf } from "../../waterfall/span-look.ts";
import { CallProgress } from "../conversation/exchange-view.tsx";
import type { Report } from "../conversation/exchange.ts";
import { wholeInput } from "../functions/earlier-call.ts";
import { SaveCase } from "../functions/save-case.tsx";
import { EventRows, useRunLog } from "./event-log.tsx";
import { type CallFailure, OwnerError } from "./owner-error.tsx";
import { isCall, modelName } from "./run-columns.tsx";
import { SentTurnView } from "./sent-turn.tsx";
import { SpanPayload } from "./span-payload.tsx";

export type SpanTab = "overview" | "sent" | "input" | "output" | "error" | "attributes" | "events";

interface SpanPanelProps {
  run: RunTrace;
  span: Span;
  nowMs: number;
  /** What the call reported while the page was open. */
  progress: readonly Report[];
  tab: string | undefined;
  onTab: (tab: SpanTab) => void;
  onEvents: () => void;
}

/** The details of one span, in tabs; empty tabs are omitted. */
export function SpanPanel({ run, span, nowMs, progress, tab, onTab, onEvents }: SpanPanelProps) {
  const tabs: Tab<SpanTab>[] = [
    { value: "overview", label: "Overview", content: <SpanOverview {...{ run, span, nowMs, progress }} /> },
  ];
  const add = (value: SpanTab, label: string, content: ReactNode) => tabs.push({ value, label, content });
  const { step } = span.attributes;
  if (span.kind === "turn" && typeof step === "number" && !isCall(run.source))
    add("sent", "Sent to model", <SentTurnView run={run} step={step} />);
  if (span.input !== undefined) add("input", "Input", <SpanPayload run={run} span={span} side="input" />);
  if (span.output !== undefined) add("output", "Output", <Output run={run} span={span} />);
  if (span.errorMessage !== null || span.code !== null) add("error", "Error", <Failure span={span} />);
  add("attributes", "Attributes", <Json value={{ ...span.attributes, id: span.id }} name="Attributes" />);
  if (span.kind !== "queue")
    add("events", "Raw events", <SpanEvents run={run} span={span} nowMs={nowMs} onAll={onEvents} />);
  const shown = tabs.find(({ value }) => value === tab)?.value ?? "overview";
  return <Tabs tabs={tabs} value={shown} onChange={onTab} />;
}

function Output({ run, span }: { run: RunTrace; span: Span }) {
  const removed = span.attributes["withheld"];
  return (
    <div className="grid gap-3">
      {Array.isArray(removed) && (
        <p className="bg-warn-soft text-warn rounded-md px-3 py-2 text-sm">
          Fields removed for this role: <span className="font-mono text-xs">{removed.join(", ")}</span>
        </p>
      )}
      {span.kind === "query" && typeof span.output === "string" ? (
        <Markdown text={span.output} />
      ) : (
        <SpanPayload run={run} span={span} side="output" />
      )}
    </div>
  );
}

const Failure = ({ span }: { span: Span }) => (
  <div className="grid gap-3">
    <Facts
      items={[
        ["Code", <code className="font-mono text-xs">{span.code ?? "none"}</code>],
        ...(span.rule === null
          ? []
          : [["Rule", <code className="font-mono text-xs">{span.rule}</code>] as [string, ReactNode]]),
      ]}
    />
    {span.errorMessage !== null && <CodeBlock title="Error returned to the caller" text={span.errorMessage} wrap />}
    {span.why !== null && <CodeBlock title="Internal reason" text={span.why} wrap />}
    <OwnerError failure={failureOf(span)} />
  </div>
);

function SpanEvents({
  run,
  span,
  nowMs,
  onAll,
}: Pick<SpanPanelProps, "run" | "span" | "nowMs"> & { onAll: () => void }) {
  const log = useRunLog(run, "hosted");
  if (log.error && !log.data) return <ErrorState error={log.error} onRetry={() => void log.refetch()} />;
  const events = log.data?.filter((event) => belongsTo(event, run, span, nowMs));
  return (
    <div className="grid gap-3">
      <div className="border-line overflow-hidden rounded-lg border">
        <EventRows events={events} />
      </div>
      <Button size="small" className="justify-self-start" onClick={onAll}>
        Show all events
      </Button>
    </div>
  );
}

/** Whether an event belongs to a span: by the id of its call, or for a turn by the calls that it requested and by time. */
function belongsTo({ afterMs, body }: LogEvent, run: RunTrace, span: Span, nowMs: number): boolean {
  if (span.kind === "query") return true;
  const event = JSON.parse(body) as { type: string; toolCallId?: string };
  if (span.kind !== "turn") return event.toolCallId === span.id || event.toolCallId === span.parentId;
  if (event.type === "toolCall")
    return run.spans.some(({ id, parentId }) => id === event.toolCallId && parentId === span.id);
  if (event.type === "toolResult") return false;
  const turns = run.spans.filter(({ kind }) => kind === "turn");
  const next = turns[turns.indexOf(span) + 1];
  return afterMs >= span.startMs && afterMs <= (next ? next.startMs : nowMs + END_TOLERANCE_MS);
}

/** The last event of a run may be stored shortly after its end. */
const END_TOLERANCE_MS = 1_000;

type Fact = [name: string, value: ReactNode];

/** The facts of a span; why it failed, and what a turn wrote and requested. */
function SpanOverview({ run, span, nowMs, progress }: Pick<SpanPanelProps, "run" | "span" | "nowMs" | "progress">) {
  const lengthMs = endOf(span, nowMs) - span.startMs;
  const facts: Fact[] = [
    ["State", <Status state={stateOf(span, run.status === "waiting")} />],
    ["Kind", KIND_WORDS[span.kind]],
    ["Start", `+${formatDuration(span.startMs)}`],
    ["Duration", `${formatDuration(lengthMs)} (${formatShare(lengthMs, Math.max(nowMs, run.durationMs))})`],
    ...(span.waitMs === null ? [] : [["Waited", formatDuration(span.waitMs)] as Fact]),
    ...attributeFacts(span),
  ];
  return (
    <div className="grid gap-4">
      <FailureNote span={span} />
      <OwnerError failure={failureOf(span)} />
      <Facts items={facts} />
      {progress.length > 0 && <CallProgress progress={progress} />}
      {span.kind === "call" && <CallActions run={run} span={span} />}
      {span.kind === "turn" && <TurnOutput span={span} />}
    </div>
  );
}

/** What a member may do with a call: open its function, call it again by hand, or keep it as a case. */
function CallActions({ run: { agentId, runId, role, context }, span }: { run: RunTrace; span: Span }) {
  const params = { agentId, functionName: span.name };
  const input = wholeInput(span);
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap gap-2">
        <LinkButton
          to="/agents/$agentId/functions/$functionName"
          params={params}
          search={{ again: runId, call: span.id, role: role ?? undefined }}
          size="small"
          icon="retry"
        >
          Try with these arguments
        </LinkButton>
        <LinkButton
          to="/agents/$agentId/functions/$functionName"
          params={params}
          look="ghost"
          size="small"
          icon="function"
        >
          Open {span.name}
        </LinkButton>
      </div>
      {input && <SaveCase functionName={span.name} input={input} context={context} role={role ?? undefined} />}
    </div>
  );
}

function FailureNote({ span: { state, rule, why, code, errorMessage } }: { span: Span }) {
  const text = why ?? errorMessage;
  if (text === null) return null;
  const denied = state === "denied";
  return (
    <div
      className={`flex items-start gap-2 rounded-md px-3 py-2 text-sm ${denied ? "bg-warn-soft text-warn" : "bg-bad-soft text-bad"}`}
    >
      <Icon name={denied ? "denied" : "failed"} className="mt-0.5 size-4" />
      <div className="min-w-0">
        <p className="font-medium">{denied ? deniedBy(rule) : (code ?? state)}</p>
        <p>{text}</p>
      </div>
    </div>
  );
}

/** The failure of a call, for the owner; undefined for other spans. */
function failureOf({ kind, id, code, errorMessage, error, attributes }: Span): CallFailure | undefined {
  if (kind !== "call") return undefined;
  const { runtime, runtimeName } = attributes;
  return {
    callId: id,
    runtime: typeof runtime === "string" ? runtime : null,
    runtimeName: typeof runtimeName === "string" ? runtimeName : undefined,
    code,
    errorMessage,
    error,
  };
}

function deniedBy(rule: string | null): string {
  if (rule === "authorize") return "Denied by authorize()";
  return rule === "roles" ? "Denied by the role list" : `Denied by rule ${rule ?? "unknown"}`;
}

/** The attributes worth a line of their own; all of them are in their tab. */
function attributeFacts({ attributes }: Span): Fact[] {
  const {
    role,
    provider,
    model,
    inputTokens,
    outputTokens,
    costUsd,
    firstTokenMs,
    runtime,
    runtimeName,
    attempts,
    withheld: removed,
  } = attributes;
  const facts: Fact[] = [];
  const add = (name: string, known: boolean, value: ReactNode) => known && facts.push([name, value]);
  add("Role", typeof role === "string", role);
  add("Model", typeof model === "string", modelName({ provider: String(provider), model: String(model) }));
  if (typeof inputTokens === "number" && typeof outputTokens === "number")
    facts.push([
      "Tokens",
      <>
        <Count value={inputTokens} /> in
        <PartOfInput tokens={attributes["cachedInputTokens"]} what="from cache" />
        <PartOfInput tokens={attributes["cacheWriteInputTokens"]} what="to cache" />, <Count value={outputTokens} /> out
      </>,
    ]);
  if (typeof firstTokenMs === "number") facts.push(["First token", `after ${formatDuration(firstTokenMs)}`]);
  const tokens = Number(inputTokens ?? 0) + Number(outputTokens ?? 0);
  if (typeof costUsd === "number")
    facts.push(["Cost", <Cost usd={costUsd} provider={String(provider)} tokens={tokens} />]);
  add(
    "Runtime",
    typeof runtime === "string",
    <>
      {typeof runtimeName === "string" && <span className="block">{runtimeName}</span>}
      <span className="text-muted font-mono text-xs">{runtime}</span>
    </>,
  );
  add("Attempts", typeof attempts === "number", attempts);
  add(
    "Removed fields",
    Array.isArray(removed),
    <span className="font-mono text-xs">{[removed].flat().join(", ")}</span>,
  );
  return facts;
}

function PartOfInput({ tokens, what }: { tokens: unknown; what: string }) {
  if (typeof tokens !== "number" || tokens === 0) return null;
  return (
    <>
      {" "}
      (<Count value={tokens} /> {what})
    </>
  );
}

/** The text and the function calls of a turn. */
function TurnOutput({ span: { output } }: { span: Span }) {
  if (typeof output !== "object" || output === null) return null;
  const { text, calls } = output as { text?: string; calls?: unknown[] };
  return (
    <>
      {text !== undefined && (
        <section className="min-w-0 text-sm">
          <h3 className="text-muted mb-1 text-xs font-medium">Text</h3>
          <Markdown text={text} />
        </section>
      )}
      {calls !== undefined && (
        <section className="min-w-0">
          <h3 className="text-muted mb-1 text-xs font-medium">Function calls</h3>
          <Json value={calls} name="Function calls" />
        </section>
      )}
    </>
  );
}
