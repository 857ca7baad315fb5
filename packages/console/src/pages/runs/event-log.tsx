import type { LogEvent, RunTrace } from "@patchbay/protocol/console";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { formatBytes } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";
import { countOf } from "../../format/words.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icon.tsx";
import { EmptyState, ErrorState, Loading, Skeleton } from "../../ui/states.tsx";
import { Badge, type Tone } from "../../ui/status.tsx";
import { Segmented } from "../../ui/toggle.tsx";
import { download } from "./download.ts";
import { logOf, type Dialect } from "./use-run-trace.ts";

/** Pages fetched without being asked for. */
const PAGES_AT_ONCE = 5;

/** The events of a run, part after part. */
export function useRunLog(run: Pick<RunTrace, "agentId" | "runId">, dialect: Dialect) {
  const log = useInfiniteQuery({ ...logOf(run.agentId, run.runId, dialect), staleTime: 60_000 });
  const { hasNextPage, isFetchingNextPage, fetchNextPage, data } = log;
  const few = (data?.length ?? 0) < PAGES_AT_ONCE * 100;
  useEffect(() => {
    if (few && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [few, hasNextPage, isFetchingNextPage, fetchNextPage]);
  return log;
}

/** The block of an event as it was sent. */
export const blockOf = ({ seq, body }: LogEvent): string => `id: ${seq}\ndata: ${body}\n\n`;

/** Every stored event of a run, byte for byte as the two interfaces send it. */
export function EventLog({ run }: { run: RunTrace }) {
  const [dialect, setDialect] = useState<Dialect>(run.source === "local" ? "local" : "hosted");
  const log = useRunLog(run, dialect);
  const events = log.data ?? [];
  const whole = () => events.map(blockOf).join("");
  return (
    <>
      <div className="border-line flex flex-wrap items-center justify-between gap-2 border-b px-4 py-2">
        <Segmented
          label="Form of the events"
          options={[
            { value: "hosted", label: "query-stream" },
            { value: "local", label: "local variant" },
          ]}
          value={dialect}
          onChange={setDialect}
        />
        <div className="flex flex-wrap items-center gap-2">
          <span className="text-muted text-xs">
            {countOf(events.length, "event")}
            {log.hasNextPage && " so far"}
          </span>
          <CopyButton text={whole}>Copy as .sse</CopyButton>
          <Button
            size="small"
            icon="download"
            onClick={() => download(`${run.runId}.${dialect}.sse`, "text/event-stream", whole())}
          >
            Save
          </Button>
        </div>
      </div>
      {log.error && !log.data ? (
        <ErrorState error={log.error} onRetry={() => void log.refetch()} />
      ) : (
        <EventRows key={dialect} events={log.data} createdAt={run.createdAt} />
      )}
      {log.hasNextPage && (
        <div className="border-line flex justify-center border-t p-3">
          <Button busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
    </>
  );
}

/** Events in a list; each opens to the block that was sent. */
export function EventRows({ events, createdAt }: { events: readonly LogEvent[] | undefined; createdAt: string }) {
  if (events === undefined)
    return (
      <Loading label="Loading events">
        <div className="grid gap-3 p-4">
          {[1, 2, 3, 4].map((row) => (
            <Skeleton key={row} className="h-5 w-full" />
          ))}
        </div>
      </Loading>
    );
  if (events.length === 0)
    return (
      <EmptyState icon="run" title="No events yet">
        An event is stored for every thought, call and result, and one for the end.
      </EmptyState>
    );
  return (
    <ol className="divide-line divide-y">
      {events.map((event) => (
        <li key={event.seq}>
          <EventRow event={event} createdAt={createdAt} />
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

function EventRow({ event, createdAt }: { event: LogEvent; createdAt: string }) {
  const [open, setOpen] = useState(false);
  const { type, failed, rest } = readBody(event.body);
  const offsetMs = Math.max(0, Date.parse(event.at) - Date.parse(createdAt));
  return (
    <details open={open} onToggle={(toggled) => setOpen(toggled.currentTarget.open)}>
      <summary className="hover:bg-hover/60 grid min-h-8.5 grid-cols-[1rem_4.5rem_minmax(0,1fr)] items-center gap-x-2 px-4 py-1.5 text-sm focus-visible:-outline-offset-2 sm:grid-cols-[1rem_4.5rem_2.5rem_9rem_minmax(0,1fr)_auto]">
        <Icon name={open ? "down" : "right"} className="text-faint size-3.5" />
        <span className="text-muted text-right text-xs whitespace-nowrap">+{formatDuration(offsetMs)}</span>
        <span className="text-faint text-xs max-sm:hidden">#{event.seq}</span>
        <span className="min-w-0">
          <Badge tone={failed ? "bad" : (TONES[type] ?? "idle")} {...(failed && { icon: "failed" as const })}>
            {type}
          </Badge>
        </span>
        <span className="text-muted truncate font-mono text-xs max-sm:col-span-2 max-sm:col-start-2">{rest}</span>
        <span className="text-faint text-xs max-sm:hidden">{formatBytes(event.body.length)}</span>
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

/** What a row says of an event in either form: its type, and the beginning of what it carries. */
function readBody(body: string): { type: string; failed: boolean; rest: string } {
  const { type, data, ...members } = JSON.parse(body) as { type: string; data?: object };
  const carried = { ...members, ...data } as Record<string, unknown>;
  const first = (...names: string[]): unknown =>
    names.map((name) => carried[name]).find((value) => value !== undefined);
  const name = first("toolName", "name");
  const failed = carried["success"] === false || type === "error";
  const payload = first("content", "errorMessage", "error", "message", "response", "parameters", "arguments", "result");
  const text = typeof payload === "string" ? payload : (JSON.stringify(payload ?? carried) ?? "");
  const rest = typeof name === "string" ? `${name}  ${text}` : text;
  return { type, failed, rest: rest.slice(0, PREVIEW_UNITS) };
}
