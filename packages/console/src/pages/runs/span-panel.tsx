import type { LogEvent, RunTrace, Span } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { formatShare } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";
import { toFunction } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { Button, LinkButton, QuietLink } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Json } from "../../ui/text/json.tsx";
import { Markdown } from "../../ui/text/markdown.tsx";
import { ErrorState, type Fact, Facts, Section } from "../../ui/page.tsx";
import { type Tab, Tabs } from "../../ui/tabs.tsx";
import { Cost, Count, Status } from "../../ui/values.tsx";
import { endOf } from "../../parts/waterfall/rows.ts";
import { KIND_WORDS, stateOf } from "../../parts/waterfall/span-look.ts";
import { CallProgress } from "../../parts/conversation/exchange-view.tsx";
import type { Report } from "../../parts/conversation/exchange.ts";
import { isCall, modelName, wholeInput } from "../../parts/run/run-facts.ts";
import { SaveCase } from "../../parts/run/save-case.tsx";
import { EventRows, useRunLog } from "./event-log.tsx";
import { type CallFailure, OwnerError } from "../../parts/run/owner-error.tsx";
import { SentTurnView } from "./sent-turn.tsx";
import { SpanPayload } from "./span-payload.tsx";

const route = getRouteApi("/shell/agents/$agentId/runs/$runId");

interface SpanPanelProps {
  run: RunTrace;
  span: Span;
  nowMs: number;
  /** What the call reported while the page was open. */
  progress: readonly Report[];
}

/** One span's details, in tabs; omits empty tabs. */
export function SpanPanel(props: SpanPanelProps) {
  const { run, span } = props;
  const { tab } = route.useSearch();
  const change = useSearchChange(route);
  const tabs: Tab<string>[] = [{ value: "overview", label: "Overview", content: <SpanOverview {...props} /> }];
  const add = (value: string, label: string, content: ReactNode) => tabs.push({ value, label, content });
  const { step } = span.attributes;
  if (span.kind === "turn" && typeof step === "number" && !isCall(run.source))
    add("sent", "Sent to model", <SentTurnView run={run} step={step} />);
  if (span.input !== undefined) add("input", "Input", <SpanPayload run={run} span={span} side="input" />);
  if (span.output !== undefined) add("output", "Output", <Output run={run} span={span} />);
  if (span.errorMessage !== null || span.code !== null) add("error", "Error", <Failure span={span} />);
  add("attributes", "Attributes", <Json value={{ ...span.attributes, id: span.id }} name="Attributes" />);
  if (span.kind !== "queue") add("events", "Raw events", <SpanEvents {...props} />);
  const shown = tabs.find(({ value }) => value === tab)?.value ?? "overview";
  return <Tabs tabs={tabs} value={shown} onChange={(next) => change({ tab: next })} />;
}

function Output({ run, span }: { run: RunTrace; span: Span }) {
  const { withheld: removed, untrusted, secret } = span.attributes;
  const labels = [
    { says: "Strangers can write", paths: untrusted },
    { says: "Must not leave your systems", paths: secret },
    { says: "Fields removed for this role", paths: removed },
  ];
  return (
    <div className="grid gap-3">
      {labels.map(
        ({ says, paths }) =>
          Array.isArray(paths) && (
            <Notice key={says} tone={paths === removed ? "warn" : "info"}>
              {says}: <span className="font-mono text-xs">{paths.join(", ")}</span>
            </Notice>
          ),
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
        span.rule !== null && ["Rule", <code className="font-mono text-xs">{span.rule}</code>],
      ]}
    />
    {span.errorMessage !== null && <CodeBlock title="Error returned to the caller" text={span.errorMessage} wrap />}
    {span.why !== null && <CodeBlock title="Internal reason" text={span.why} wrap />}
    <OwnerError failure={failureOf(span)} />
  </div>
);

function SpanEvents({ run, span, nowMs }: SpanPanelProps) {
  const navigate = route.useNavigate();
  const log = useRunLog(run, "hosted");
  if (log.error && !log.data) return <ErrorState error={log.error} onRetry={() => void log.refetch()} />;
  const events = log.data?.filter((event) => belongsTo(event, run, span, nowMs));
  return (
    <div className="grid gap-3">
      <div className="border-line overflow-hidden rounded-lg border">
        <EventRows events={events} />
      </div>
      <Button size="small" className="justify-self-start" onClick={() => void navigate({ search: { view: "events" } })}>
        Show all events
      </Button>
    </div>
  );
}

/** Whether an event belongs to a span: by its call's id, or for a turn by its requested calls and by time. */
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

/** A run's last event may be stored shortly after its end. */
const END_TOLERANCE_MS = 1_000;

/** A span's facts; why it failed, and what a turn wrote and requested. */
function SpanOverview({ run, span, nowMs, progress }: SpanPanelProps) {
  const lengthMs = endOf(span, nowMs) - span.startMs;
  const facts: (Fact | false)[] = [
    ["State", <Status state={stateOf(span, run.status === "waiting")} />],
    ["Kind", KIND_WORDS[span.kind]],
    ["Start", `+${formatDuration(span.startMs)}`],
    ["Duration", `${formatDuration(lengthMs)} (${formatShare(lengthMs, Math.max(nowMs, run.durationMs))})`],
    span.waitMs !== null && ["Waited", formatDuration(span.waitMs)],
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
  const input = wholeInput(span);
  const search = { again: runId, call: span.id, role: role ?? undefined };
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap gap-2">
        <LinkButton {...toFunction(agentId, span.name)} search={search} size="small" icon="retry">
          Try with these arguments
        </LinkButton>
        <QuietLink {...toFunction(agentId, span.name)} icon="function">
          Open {span.name}
        </QuietLink>
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
    <Notice tone={denied ? "warn" : "bad"} icon={denied ? "denied" : "failed"}>
      <p className="font-medium">{denied ? deniedBy(rule) : (code ?? state)}</p>
      <p>{text}</p>
    </Notice>
  );
}

/** A call's failure, for the owner; undefined for other spans. */
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

/** The attributes worth their own line; their tab has them all. */
function attributeFacts({ attributes }: Span): (Fact | false)[] {
  const { role, provider, model, inputTokens, outputTokens, costUsd, firstTokenMs } = attributes;
  const { runtime, runtimeName, attempts, withheld: removed } = attributes;
  const tokens = Number(inputTokens ?? 0) + Number(outputTokens ?? 0);
  return [
    typeof role === "string" && ["Role", role],
    typeof attributes["dataFlow"] === "string" && ["Data-flow rule", attributes["dataFlow"]],
    typeof model === "string" && ["Model", modelName({ provider: String(provider), model })],
    typeof inputTokens === "number" &&
      typeof outputTokens === "number" && [
        "Tokens",
        <>
          <Count value={inputTokens} /> in
          <PartOfInput tokens={attributes["cachedInputTokens"]} what="from cache" />
          <PartOfInput tokens={attributes["cacheWriteInputTokens"]} what="to cache" />, <Count value={outputTokens} />{" "}
          out
        </>,
      ],
    typeof firstTokenMs === "number" && ["First token", `after ${formatDuration(firstTokenMs)}`],
    typeof costUsd === "number" && ["Cost", <Cost usd={costUsd} provider={String(provider)} tokens={tokens} />],
    typeof runtime === "string" && [
      "Runtime",
      <>
        {typeof runtimeName === "string" && <span className="block">{runtimeName}</span>}
        <span className="text-muted font-mono text-xs">{runtime}</span>
      </>,
    ],
    typeof attempts === "number" && ["Attempts", attempts],
    Array.isArray(removed) && ["Removed fields", <span className="font-mono text-xs">{removed.join(", ")}</span>],
  ];
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

/** A turn's text and function calls. */
function TurnOutput({ span: { output } }: { span: Span }) {
  if (typeof output !== "object" || output === null) return null;
  const { text, calls } = output as { text?: string; calls?: unknown[] };
  return (
    <>
      {text !== undefined && (
        <Section small title="Text">
          <div className="text-sm">
            <Markdown text={text} />
          </div>
        </Section>
      )}
      {calls !== undefined && (
        <Section small title="Function calls">
          <Json value={calls} name="Function calls" />
        </Section>
      )}
    </>
  );
}
