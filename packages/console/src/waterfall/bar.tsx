import type { Span } from "@patchbay/protocol/console";
import { classNames } from "../ui/class-names.ts";
import { barClass, noteOf } from "./span-look.ts";
import { endOf, type Stretch } from "./rows.ts";

interface BarProps {
  span: Span;
  /** Where the axis ends. */
  axisMs: number;
  nowMs: number;
  /** Stretches that nothing accounts for. */
  gaps?: readonly Stretch[];
}

const percent = (ms: number, axisMs: number): string => `${Math.min(100, (ms / axisMs) * 100)}%`;

/** One span on the axis: its waiting lighter than its work, what stopped it in words beside it. */
export function Bar({ span, axisMs, nowMs, gaps = [] }: BarProps) {
  const endMs = endOf(span, nowMs);
  const lengthMs = endMs - span.startMs;
  const waitMs = Math.min(span.waitMs ?? 0, lengthMs);
  const note = noteOf(span);
  const thin = span.kind === "query";
  return (
    <div className="relative h-full" aria-hidden="true">
      <div
        className={classNames("absolute top-1/2 flex min-w-[3px] -translate-y-1/2", thin ? "h-1.5" : "h-3.5")}
        style={{ left: percent(span.startMs, axisMs), width: percent(lengthMs, axisMs) }}
      >
        {waitMs > 0 && (
          <div
            className={classNames(
              "bar-waiting h-full rounded-l-sm",
              span.kind === "turn" ? "text-series-1" : "text-series-2",
            )}
            style={{ width: percent(waitMs, lengthMs) }}
          />
        )}
        <div
          className={classNames(
            "h-full min-w-0 flex-1",
            waitMs > 0 ? "rounded-r-sm" : "rounded-sm",
            barClass(span),
            span.endMs === null && "bar-open",
          )}
        />
      </div>
      {gaps.map(({ startMs, endMs }) => (
        <div
          key={startMs}
          className="bg-surface absolute top-1/2 h-1.5 -translate-y-1/2"
          style={{ left: percent(startMs, axisMs), width: percent(endMs - startMs, axisMs) }}
        >
          <div className="bar-gap h-full" />
        </div>
      ))}
      {note !== undefined && <Note text={note} state={span.state} from={span.startMs / axisMs} to={endMs / axisMs} />}
    </div>
  );
}

const NOTES: { [State in Span["state"]]?: string } = {
  denied: "bg-warn-soft text-warn",
  cancelled: "bg-idle-soft text-idle",
};

/** Behind the bar where there is room, else before it, else on it. */
function Note({ text, state, from, to }: { text: string; state: Span["state"]; from: number; to: number }) {
  const place =
    to < 0.6
      ? { left: `calc(${to * 100}% + 8px)`, maxWidth: `calc(${(1 - to) * 100}% - 8px)` }
      : from > 0.4
        ? { right: `calc(${(1 - from) * 100}% + 8px)`, maxWidth: `calc(${from * 100}% - 8px)` }
        : { left: `calc(${from * 100}% + 6px)`, maxWidth: `calc(${(to - from) * 100}% - 12px)` };
  return (
    <span
      className={classNames(
        "text-2xs absolute top-1/2 -translate-y-1/2 truncate rounded px-1 leading-4 font-medium",
        NOTES[state] ?? "bg-bad-soft text-bad",
      )}
      style={place}
    >
      {text}
    </span>
  );
}
