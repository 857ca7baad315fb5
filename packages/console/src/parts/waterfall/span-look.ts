import type { Span } from "@patchbay/protocol/console";
import type { IconName } from "../../ui/icon.tsx";

export const KIND_ICONS: Record<Span["kind"], IconName> = {
  query: "run",
  queue: "clock",
  turn: "agent",
  call: "function",
  attempt: "retry",
};

export const KIND_WORDS: Record<Span["kind"], string> = {
  query: "Query",
  queue: "Queue",
  turn: "Model turn",
  call: "Function call",
  attempt: "Attempt",
};

const KIND_BARS: Record<Span["kind"], string> = {
  query: "bg-mark-idle/60",
  queue: "bar-waiting text-mark-idle",
  turn: "bg-series-1",
  call: "bg-series-2",
  attempt: "bg-series-2/60",
};

/** A bar's colour and pattern: by state if it is not ok, otherwise by kind. */
export function barClass({ kind, state }: Pick<Span, "kind" | "state">): string {
  if (state === "failed") return "bg-mark-bad";
  if (state === "denied") return "bar-denied";
  if (state === "unknown") return "bar-unknown";
  if (state === "cancelled" && kind !== "query") return "bg-mark-idle";
  return KIND_BARS[kind];
}

/** A span's state as it is shown. Open spans wait while their run waits, except detached calls, which run. */
export const stateOf = ({ endMs, state, attributes }: Span, waiting: boolean): string =>
  waiting && endMs === null && attributes["detached"] !== true ? "waiting" : state;

/** The name in a row. A queue span has no name. */
export const nameOf = (span: Span): string => (span.kind === "queue" ? "waiting to start" : span.name);

/** What a call's attributes say about its result, and about its arguments. */
const MARKS = { dataFlow: "data-flow rule", untrusted: "untrusted", secret: "secret", withheld: "fields removed" };

/** The note at a bar: why the span was denied, failed or cancelled, or its labels. */
export function noteOf({ state, rule, code, attributes }: Span): string | undefined {
  if (state === "denied") return rule === null ? "denied" : `denied by ${rule}`;
  if (state === "failed" || state === "unknown" || state === "cancelled") return code ?? state;
  const marks = Object.entries(MARKS).flatMap(([name, word]) => (attributes[name] === undefined ? [] : [word]));
  return marks.length > 0 ? marks.join(", ") : undefined;
}

const HINT_UNITS = 60;

/** Distinguishes rows with the same name: a turn's number, or a call's first argument. */
export function hintOf({ kind, input, attributes }: Span): string | undefined {
  if (kind === "turn") return attributes["plan"] === true ? "plan" : `turn ${Number(attributes["step"]) + 1}`;
  if (kind !== "call" || typeof input !== "object" || input === null) return undefined;
  const first = Object.values(input).find((value) => typeof value === "string" || typeof value === "number");
  return first === undefined ? undefined : String(first).slice(0, HINT_UNITS);
}
