import { useQuery } from "@tanstack/react-query";
import { countOf } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Json } from "../../ui/text/json.tsx";
import { EmptyState, ErrorState, Loading } from "../../ui/page.tsx";
import { Snippets } from "../../ui/text/snippet.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { type EventEntry, recordedTranscript } from "../../parts/conversation/exchange.ts";
import type { LiveExchange, ShownExchange } from "./lane.ts";
import { SettingsForm } from "./settings-form.tsx";
import type { PlaygroundState } from "./use-playground.ts";
import { bodyOf } from "../../parts/playground/settings.ts";

/** Tabs next to the conversation: query settings, run events, and the query as code. */
export const SidePanel = ({ playground }: { playground: PlaygroundState }) => (
  <Tabs
    value={playground.tab}
    onChange={playground.openTab}
    tabs={[
      { value: "settings", label: "Settings", content: <SettingsForm playground={playground} /> },
      { value: "events", label: "Events", content: <Events playground={playground} /> },
      { value: "code", label: "Code", content: <Code playground={playground} /> },
    ]}
  />
);

function Events({ playground: { agentId, shown } }: { playground: PlaygroundState }) {
  if (!shown)
    return (
      <EmptyState icon="thread" title="No events yet">
        Events appear here as the run sends them.
      </EmptyState>
    );
  return (
    <div className="grid min-w-0 gap-2">
      <p className="line-clamp-2 text-sm">
        <span className="font-medium">{shown.query}</span>
        <span className="text-muted"> {shown.role === "" ? "without a role" : `as ${shown.role}`}</span>
      </p>
      {shown.past ? <PastEvents past={shown.past} /> : <LiveEvents agentId={agentId} live={shown.live} />}
    </div>
  );
}

function PastEvents({ past }: { past: NonNullable<ShownExchange["past"]> }) {
  const log = useQuery(recordedTranscript(past.run));
  if (log.error) return <ErrorState error={log.error} onRetry={() => void log.refetch()} />;
  if (!log.data) return <Loading label="Loading events" block="h-6" blocks={3} />;
  return <EventList entries={log.data.entries} />;
}

/** The events as they arrived. Their times come from the log once the run has ended: the browser's clock differs from the service's. */
function LiveEvents({ agentId, live }: { agentId: string; live: LiveExchange }) {
  const { runId = "", transcript } = live;
  const isEnded = runId !== "" && transcript.end !== undefined;
  const log = useQuery({ ...recordedTranscript({ agentId, runId }), enabled: isEnded });
  const times = new Map(log.data?.entries.map(({ seq, afterMs }) => [seq, afterMs]));
  const timed = (entry: EventEntry) => (entry.seq === undefined ? entry : { ...entry, afterMs: times.get(entry.seq) });
  return <EventList entries={transcript.entries.map(timed)} />;
}

function Code({ playground }: { playground: PlaygroundState }) {
  const { agentId, settings, errors, draft, shown, threadId } = playground;
  if (Object.keys(errors).length > 0)
    return (
      <EmptyState icon="alert" title="Invalid settings">
        Fix the settings to see the code.
      </EmptyState>
    );
  const query = (draft || shown?.query || "").trim() || "What can you do?";
  const body = bodyOf(settings, { query, role: settings.role, threadId });
  return (
    <div className="grid gap-3">
      <Snippets agentId={agentId} body={body} />
      <p className="text-muted text-xs">
        {settings.instructions.trim() !== "" && "API keys cannot replace instructions: the code uses the agent's. "}
        The API key is read from the environment. Set proxy timeouts to 300 s, and add{" "}
        <code className="font-mono">"includeDeltas": true</code> to stream the answer.
      </p>
    </div>
  );
}

const TONES: Record<string, string> = {
  toolCall: "text-accent",
  toolResult: "text-accent",
  toolProgress: "text-info",
  finalResponse: "text-ok",
  error: "text-bad",
};

/** A run's events, each with the time since the query was accepted. */
function EventList({ entries }: { entries: readonly EventEntry[] }) {
  const events = entries.reduce((sum, { payloads }) => sum + payloads.length, 0);
  return (
    <section aria-label="Events" className="min-w-0">
      <div className="text-muted mb-1 flex items-center justify-between gap-2 text-xs">
        <span>{countOf(events, "event")}</span>
        <CopyButton look="ghost" text={() => entries.flatMap(({ raw }) => raw).join("\n\n") + "\n\n"}>
          Copy as .sse
        </CopyButton>
      </div>
      <ol className="border-line divide-line divide-y border-y">
        {entries.map((entry, index) => (
          // The index is a stable key: events are only appended.
          <Event key={index} entry={entry} />
        ))}
      </ol>
    </section>
  );
}

const Event = ({ entry: { type, seq, afterMs, payloads } }: { entry: EventEntry }) => (
  <li className="min-w-0">
    <details className="group/event min-w-0">
      <summary className="hover:bg-hover/60 flex min-w-0 items-baseline gap-2 py-1.5 pr-1 text-xs">
        <Icon name="right" className="text-faint size-3 self-center transition-transform group-open/event:rotate-90" />
        <span className="text-muted w-14 shrink-0 text-right">{afterMs !== undefined && formatDuration(afterMs)}</span>
        <code className={`shrink-0 font-mono font-medium ${TONES[type] ?? "text-text"}`}>{type}</code>
        {payloads.length > 1 && <span className="text-muted shrink-0">×{payloads.length}</span>}
        <span className="text-muted min-w-0 flex-1 truncate group-open/event:invisible">{summarize(payloads)}</span>
        {seq === undefined ? (
          <span className="text-faint shrink-0" title="Live only, not logged">
            live
          </span>
        ) : (
          <span className="text-faint shrink-0">#{seq}</span>
        )}
      </summary>
      <div className="pt-0.5 pb-2 pl-5">
        <Json name={type} value={payloads.length === 1 ? payloads[0] : payloads} />
      </div>
    </details>
  </li>
);

/** The beginning of the event's text. */
function summarize(payloads: readonly object[]): string {
  const texts = payloads.slice(0, 40).map((payload) => {
    const { content, toolName, errorMessage, response, data } = payload as Record<string, unknown>;
    const text = content ?? errorMessage ?? toolName ?? response ?? data;
    return typeof text === "string" ? text : JSON.stringify(text ?? payload);
  });
  return texts.join("").slice(0, 200);
}
