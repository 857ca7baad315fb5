import { formatDuration } from "../../format/times.ts";
import { countOf } from "../../format/words.ts";
import { Json } from "../../ui/code.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icon.tsx";
import type { Entry } from "../conversation/exchange.ts";

const TONES: Record<string, string> = {
  toolCall: "text-accent",
  toolResult: "text-accent",
  toolProgress: "text-info",
  finalResponse: "text-ok",
  error: "text-bad",
};

/** Every event of a run as it was sent, each with its time since the query. */
export function EventList({ entries }: { entries: readonly Entry[] }) {
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
          // Events are added at the end alone.
          <Event key={index} entry={entry} />
        ))}
      </ol>
    </section>
  );
}

function Event({ entry: { type, seq, atMs, payloads } }: { entry: Entry }) {
  return (
    <li className="min-w-0">
      <details className="group/event min-w-0">
        <summary className="hover:bg-hover/60 flex min-w-0 items-baseline gap-2 py-1.5 pr-1 text-xs">
          <Icon
            name="right"
            className="text-faint size-3 self-center transition-transform group-open/event:rotate-90"
          />
          <span className="text-muted w-14 shrink-0 text-right">{formatDuration(atMs)}</span>
          <code className={`shrink-0 font-mono font-medium ${TONES[type] ?? "text-text"}`}>{type}</code>
          {payloads.length > 1 && <span className="text-muted shrink-0">×{payloads.length}</span>}
          <span className="text-muted min-w-0 flex-1 truncate group-open/event:invisible">{inShort(payloads)}</span>
          {seq === undefined ? (
            <span className="text-faint shrink-0" title="Live alone: not in the log">
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
}

/** The beginning of what it says. */
function inShort(payloads: readonly object[]): string {
  const told = payloads.slice(0, 40).map((payload) => {
    const { content, toolName, errorMessage, response, data } = payload as Record<string, unknown>;
    const said = content ?? errorMessage ?? toolName ?? response ?? data;
    return typeof said === "string" ? said : JSON.stringify(said ?? payload);
  });
  return told.join("").slice(0, 200);
}
