import type { LogEvent, RunTrace } from "@patchbay/protocol/console";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { countOf, formatBytes } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { download } from "../../ui/download.ts";
import { Icon } from "../../ui/icon.tsx";
import { Card, EmptyState, ErrorState, Loading } from "../../ui/page.tsx";
import { Segmented } from "../../ui/form/toggle.tsx";
import { Badge, type Tone } from "../../ui/values.tsx";
import { type Dialect, logOf } from "./use-run-trace.ts";

/** Pages that are fetched automatically. */
const PAGES_AT_ONCE = 5;

/** A run's stored events. The first pages load automatically, and further ones while the events `need` them. */
export function useRunLog({ agentId, runId }: RunTrace, dialect: Dialect, need?: (events: LogEvent[]) => boolean) {
  const log = useInfiniteQuery({ ...logOf(agentId, runId, dialect), staleTime: 60_000 });
  const { hasNextPage, isFetchingNextPage, fetchNextPage, data = [] } = log;
  const isNeeded = data.length < PAGES_AT_ONCE * 100 || need?.(data) === true;
  useEffect(() => {
    if (isNeeded && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [isNeeded, hasNextPage, isFetchingNextPage, fetchNextPage]);
  return log;
}

/** An event as the block that clients receive. */
export const blockOf = ({ seq, body }: LogEvent): string => `id: ${seq}\ndata: ${body}\n\n`;

const FORMATS: { value: Dialect; label: string }[] = [
  { value: "hosted", label: "Query API" },
  { value: "local", label: "Local API" },
];

/** Every stored run event, byte for byte as the query API or the local API sends it. */
export function EventLog({ run }: { run: RunTrace }) {
  const [dialect, setDialect] = useState<Dialect>(run.source === "local" ? "local" : "hosted");
  const log = useRunLog(run, dialect);
  const events = log.data ?? [];
  const text = () => events.map(blockOf).join("");
  const save = () => download(`${run.runId}.${dialect}.sse`, "text/event-stream", text());
  return (
    <Card flush>
      <div className="border-line flex flex-wrap items-center justify-between gap-2 border-b px-4 py-2">
        <Segmented label="Event format" options={FORMATS} value={dialect} onChange={setDialect} />
        <div className="flex flex-wrap items-center gap-2">
          <span className="text-muted text-xs">
            {countOf(events.length, "event")}
            {log.hasNextPage && " so far"}
          </span>
          <CopyButton text={text}>Copy as .sse</CopyButton>
          <Button size="small" icon="download" onClick={save}>
            Download
          </Button>
        </div>
      </div>
      {log.error && !log.data ? (
        <ErrorState error={log.error} onRetry={() => void log.refetch()} />
      ) : (
        <EventRows key={dialect} events={log.data} />
      )}
      {log.hasNextPage && (
        <div className="border-line flex justify-center border-t p-3">
          <Button busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
    </Card>
  );
}

/** An event list; each event expands to its block. */
export function EventRows({ events }: { events: readonly LogEvent[] | undefined }) {
  if (events === undefined)
    return (
      <div className="p-4">
        <Loading block="h-5" blocks={4} />
      </div>
    );
  if (events.length === 0)
    return (
      <EmptyState icon="run" title="No events yet">
        Thoughts, calls, results and the run's end appear here.
      </EmptyState>
    );
  return (
    <ol className="divide-line @container divide-y">
      {events.map((event) => (
        <li key={event.seq}>
          <EventRow event={event} />
        </li>
      ))}
    </ol>
  );
}

const TONES: Record<string, Tone> = {
  error: "bad",
  finalResponse: "ok",
  final_response: "ok",
  toolCall: "accent",
  function_call: "accent",
};

function EventRow({ event }: { event: LogEvent }) {
  const [open, setOpen] = useState(false);
  const { type, failed, preview } = readBody(event.body);
  return (
    <details open={open} onToggle={(toggled) => setOpen(toggled.currentTarget.open)}>
      <summary className="hover:bg-hover/60 grid min-h-8.5 grid-cols-[1rem_4.5rem_minmax(0,1fr)] items-center gap-x-2 px-4 py-1.5 text-sm focus-visible:-outline-offset-2 @xl:grid-cols-[1rem_4.5rem_2.5rem_9rem_minmax(0,1fr)_auto]">
        <Icon name={open ? "down" : "right"} className="text-faint size-3.5" />
        <span className="text-muted text-right text-xs whitespace-nowrap">+{formatDuration(event.afterMs)}</span>
        <span className="text-faint text-xs @max-xl:hidden">#{event.seq}</span>
        <span className="min-w-0">
          <Badge tone={failed ? "bad" : (TONES[type] ?? "idle")} {...(failed && { icon: "failed" as const })}>
            {type}
          </Badge>
        </span>
        <span className="text-muted truncate font-mono text-xs @max-xl:col-span-2 @max-xl:col-start-2">{preview}</span>
        <span className="text-faint text-xs whitespace-nowrap @max-xl:hidden">{formatBytes(event.body.length)}</span>
      </summary>
      {open && (
        <div className="px-4 pb-3">
          <CodeBlock text={blockOf(event)} wrap />
        </div>
      )}
    </details>
  );
}

const PREVIEW_UNITS = 300;

/** An event's summary in either format: its type, whether it failed, and its payload's beginning. */
function readBody(body: string): { type: string; failed: boolean; preview: string } {
  const { type, data, ...rest } = JSON.parse(body) as { type: string; data?: object };
  const fields = { ...rest, ...data } as Record<string, unknown>;
  const first = (...names: string[]): unknown => names.map((name) => fields[name]).find((value) => value !== undefined);
  const name = first("toolName", "name");
  const failed = fields["success"] === false || type === "error";
  const payload = first("content", "errorMessage", "error", "message", "response", "parameters", "arguments", "result");
  const text = typeof payload === "string" ? payload : (JSON.stringify(payload ?? fields) ?? "");
  const preview = typeof name === "string" ? `${name}  ${text}` : text;
  return { type, failed, preview: preview.slice(0, PREVIEW_UNITS) };
}
