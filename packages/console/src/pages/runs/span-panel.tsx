import type { LogEvent, RunTrace, Span } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { Facts } from "../../ui/card.tsx";
import { CodeBlock, Json } from "../../ui/code.tsx";
import { Markdown } from "../../ui/markdown.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { Tabs, type Tab } from "../../ui/tabs.tsx";
import { EventRows, useRunLog } from "./event-log.tsx";
import { SpanOverview } from "./span-overview.tsx";

export type SpanTab = "overview" | "input" | "output" | "error" | "attributes" | "events";

interface SpanPanelProps {
  run: RunTrace;
  span: Span;
  nowMs: number;
  tab: string | undefined;
  onTab: (tab: SpanTab) => void;
  onEvents: () => void;
}

/** All that is known of one span. Tabs that would be empty are left out. */
export function SpanPanel({ run, span, nowMs, tab, onTab, onEvents }: SpanPanelProps) {
  const tabs: Tab<SpanTab>[] = [
    { value: "overview", label: "Overview", content: <SpanOverview run={run} span={span} nowMs={nowMs} /> },
  ];
  const add = (value: SpanTab, label: string, content: ReactNode) => tabs.push({ value, label, content });
  if (span.input !== undefined) add("input", "Input", <Payload value={span.input} name="Input" />);
  if (span.output !== undefined) add("output", "Output", <Output span={span} />);
  if (span.errorMessage !== null || span.code !== null) add("error", "Error", <Failure span={span} />);
  add("attributes", "Attributes", <Json value={{ ...span.attributes, id: span.id }} name="Attributes" />);
  if (span.kind !== "queue")
    add("events", "Raw events", <SpanEvents run={run} span={span} nowMs={nowMs} onAll={onEvents} />);
  const shown = tabs.find(({ value }) => value === tab)?.value ?? "overview";
  return <Tabs tabs={tabs} value={shown} onChange={onTab} />;
}

/** JSON that was cut is text. */
function Payload({ value, name }: { value: unknown; name: string }) {
  if (typeof value === "string") return <CodeBlock text={value} wrap />;
  return <Json value={value} name={name} />;
}

function Output({ span }: { span: Span }) {
  const withheld = span.attributes["withheld"];
  return (
    <div className="grid gap-3">
      {Array.isArray(withheld) && (
        <p className="bg-warn-soft text-warn rounded-md px-3 py-2 text-sm">
          Kept from this role, and from the model: <span className="font-mono text-xs">{withheld.join(", ")}</span>
        </p>
      )}
      {span.kind === "query" && typeof span.output === "string" ? (
        <Markdown text={span.output} />
      ) : (
        <Payload value={span.output} name="Output" />
      )}
      {span.attributes["truncated"] === true && (
        <p className="text-muted text-sm">Only its beginning is shown. The raw events hold all of it.</p>
      )}
    </div>
  );
}

function Failure({ span }: { span: Span }) {
  return (
    <div className="grid gap-3">
      <Facts
        items={[
          ["Code", <code className="font-mono text-xs">{span.code ?? "none"}</code>],
          ...(span.rule === null
            ? []
            : [["Rule", <code className="font-mono text-xs">{span.rule}</code>] as [string, ReactNode]]),
        ]}
      />
      {span.errorMessage !== null && <CodeBlock title="What the caller was told" text={span.errorMessage} wrap />}
      {span.why !== null && <CodeBlock title="Why, for whoever owns the functions" text={span.why} wrap />}
    </div>
  );
}

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
        <EventRows events={events} createdAt={run.createdAt} />
      </div>
      <Button size="small" className="justify-self-start" onClick={onAll}>
        All events of the run
      </Button>
    </div>
  );
}

/** A call's events name it; what a turn said is told by the calls that it asked for, and by when it was stored. */
function belongsTo({ at, body }: LogEvent, run: RunTrace, span: Span, nowMs: number): boolean {
  if (span.kind === "query") return true;
  const event = JSON.parse(body) as { type: string; toolCallId?: string };
  if (span.kind !== "turn") return event.toolCallId === span.id || event.toolCallId === span.parentId;
  if (event.type === "toolCall")
    return run.spans.some(({ id, parentId }) => id === event.toolCallId && parentId === span.id);
  if (event.type === "toolResult") return false;
  const atMs = Date.parse(at) - Date.parse(run.createdAt);
  const turns = run.spans.filter(({ kind }) => kind === "turn");
  const next = turns[turns.indexOf(span) + 1];
  return atMs >= span.startMs && atMs <= (next ? next.startMs : nowMs + SAME_MOMENT_MS);
}

/** A run's last event may be stored a little after its end. */
const SAME_MOMENT_MS = 1_000;
