import type { LogEvent, RunTrace, Span } from "@patchbay/protocol/console";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code.tsx";
import { Json } from "../../ui/text/json.tsx";
import { ErrorState, Loading } from "../../ui/page.tsx";
import { isTruncated } from "../../parts/run/run-facts.ts";
import { useRunLog } from "./event-log.tsx";

/** A payload as a tree, or as text. */
function Payload({ value, name }: { value: unknown; name: string }) {
  if (typeof value === "string") return <CodeBlock text={value} wrap />;
  return <Json value={value} name={name} />;
}

interface SpanPayloadProps {
  run: RunTrace;
  span: Span;
  side: "input" | "output";
}

/** A span's input or output. A call's truncated payload offers to load all of it from the log. */
export function SpanPayload({ run, span, side }: SpanPayloadProps) {
  const [whole, setWhole] = useState(false);
  if (whole) return <WholePayload run={run} span={span} side={side} />;
  return (
    <div className="grid gap-3">
      <Payload value={span[side]} name={PAYLOAD_NAMES[side]} />
      {isTruncated(span, side) &&
        (span.kind === "call" ? (
          <Button size="small" className="justify-self-start" onClick={() => setWhole(true)}>
            Load all
          </Button>
        ) : (
          <p className="text-muted text-sm">Truncated; the raw events have all of it</p>
        ))}
    </div>
  );
}

const PAYLOAD_NAMES = { input: "Input", output: "Output" };

function WholePayload({ run, span, side }: SpanPayloadProps) {
  const log = useRunLog(run, "hosted", (events) => payloadIn(events, span.id, side) === undefined);
  const payload = log.data && payloadIn(log.data, span.id, side);
  if (payload !== undefined) return <Payload value={payload} name={PAYLOAD_NAMES[side]} />;
  if (log.error) return <ErrorState error={log.error} onRetry={() => void log.refetch()} />;
  if (log.data && !log.hasNextPage) return <p className="text-muted text-sm">The run's events do not contain it.</p>;
  return <Loading block="h-40 rounded-lg" />;
}

/** A call's arguments or result, from its run's stored events. */
export function payloadIn(events: readonly LogEvent[], callId: string, side: "input" | "output"): unknown {
  for (const { body } of events) {
    const event = JSON.parse(body) as { type: string; toolCallId?: string; parameters?: unknown; result?: unknown };
    if (event.toolCallId !== callId) continue;
    if (event.type === "toolCall" && side === "input") return event.parameters;
    if (event.type === "toolResult" && side === "output") return event.result;
  }
  return undefined;
}
