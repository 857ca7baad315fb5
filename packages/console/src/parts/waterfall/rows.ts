import type { Span } from "@patchbay/protocol/console";

/** A waterfall row, with tree grid row properties. */
export interface TraceRow {
  span: Span;
  /** From 1. */
  level: number;
  /** Among its siblings, from 1. */
  position: number;
  siblings: number;
  parent: boolean;
  open: boolean;
  /** The worst problem in the spans below. */
  below: Problem | undefined;
}

type Problem = "failed" | "denied";

/** A span's problem. An unknown outcome counts as failed. Attempts have none: only their call's outcome counts. */
export function problemOf({ kind, state }: Span): Problem | undefined {
  if (kind === "attempt") return undefined;
  if (state === "denied") return "denied";
  return state === "failed" || state === "unknown" ? "failed" : undefined;
}

/** The visible rows in order, without descendants of `closed` spans. */
export function rowsOf(spans: readonly Span[], closed: ReadonlySet<string>): TraceRow[] {
  const children = childrenOf(spans);
  const rows: TraceRow[] = [];
  const add = (list: readonly Span[], level: number): void => {
    list.forEach((span, index) => {
      const under = children.get(span.id) ?? [];
      const open = under.length > 0 && !closed.has(span.id);
      rows.push({
        span,
        level,
        position: index + 1,
        siblings: list.length,
        parent: under.length > 0,
        open,
        below: worstProblemBelow(span.id, children),
      });
      if (open) add(under, level + 1);
    });
  };
  add(children.get(null) ?? [], 1);
  return rows;
}

/** Spans by parent ID. A span with an unknown parent is at the top level. */
function childrenOf(spans: readonly Span[]): Map<string | null, Span[]> {
  const known = new Set(spans.map(({ id }) => id));
  return Map.groupBy(spans, ({ parentId }) => (parentId !== null && known.has(parentId) ? parentId : null));
}

function worstProblemBelow(id: string, children: ReadonlyMap<string | null, Span[]>): Problem | undefined {
  const found = (children.get(id) ?? []).flatMap((child) => [problemOf(child), worstProblemBelow(child.id, children)]);
  return found.includes("failed") ? "failed" : found.find((problem) => problem !== undefined);
}

/** A span's ancestors, nearest first. */
export function ancestorsOf(spans: readonly Span[], id: string): string[] {
  const parent = spans.find((span) => span.id === id)?.parentId ?? null;
  return parent === null ? [] : [parent, ...ancestorsOf(spans, parent)];
}

/** The next span after `id` that failed or was denied; continues at the start after the last. */
export function nextProblem(spans: readonly Span[], id: string | undefined): Span | undefined {
  const at = spans.findIndex((span) => span.id === id);
  // Skip the query: it fails because of a part, and the part is the target.
  const isFailedPart = (span: Span): boolean => span.kind !== "query" && problemOf(span) !== undefined;
  return [...spans.slice(at + 1), ...spans.slice(0, at + 1)].find(isFailedPart);
}

export interface Interval {
  startMs: number;
  endMs: number;
}

/** Merges overlapping and adjacent intervals, in order. */
function union(intervals: readonly Interval[]): Interval[] {
  const joined: Interval[] = [];
  for (const { startMs, endMs } of intervals.toSorted((a, b) => a.startMs - b.startMs)) {
    const last = joined.at(-1);
    if (last && startMs <= last.endMs) last.endMs = Math.max(last.endMs, endMs);
    else joined.push({ startMs, endMs });
  }
  return joined;
}

/** The gaps between `parts` within `whole` that are longer than `minMs`. */
export function gapsIn(whole: Interval, parts: readonly Interval[], minMs: number): Interval[] {
  const gaps: Interval[] = [];
  let from = whole.startMs;
  for (const part of [...union(parts), { startMs: whole.endMs, endMs: whole.endMs }]) {
    if (part.startMs - from > minMs) gaps.push({ startMs: from, endMs: Math.min(part.startMs, whole.endMs) });
    from = Math.max(from, part.endMs);
  }
  return gaps;
}

/** A span's end, or `nowMs` while it is open. */
export const endOf = (span: Span, nowMs: number): number => span.endMs ?? Math.max(span.startMs, nowMs);

/**
 * How a run spent its time, in milliseconds. Concurrent work counts once. Waiting is queue time and the time before
 * calls are sent; waiting while another function works counts as work.
 */
export function timeSpent(spans: readonly Span[], nowMs: number) {
  const of = (kind: Span["kind"]) => spans.filter((span) => span.kind === kind);
  const whole = (span: Span) => ({ startMs: span.startMs, endMs: endOf(span, nowMs) });
  const sentAt = (span: Span) => Math.min(span.startMs + (span.waitMs ?? 0), endOf(span, nowMs));
  const working = of("call").map((span) => ({ ...whole(span), startMs: sentAt(span) }));
  const waiting = [...of("queue").map(whole), ...of("call").map((span) => ({ ...whole(span), endMs: sentAt(span) }))];
  const functionsMs = total(working);
  return {
    modelMs: total(of("turn").map(whole)),
    functionsMs,
    waitingMs: total([...working, ...waiting]) - functionsMs,
  };
}

const total = (intervals: readonly Interval[]): number =>
  union(intervals).reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
