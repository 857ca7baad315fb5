import type { Span } from "@patchbay/protocol/console";

/** One line of the waterfall, as a tree grid tells it. */
export interface TraceRow {
  span: Span;
  /** From 1. */
  level: number;
  /** Among its siblings, from 1. */
  position: number;
  siblings: number;
  parent: boolean;
  open: boolean;
  /** The worst that happened below it. */
  below: Trouble | undefined;
}

type Trouble = "failed" | "denied";

/** What a person looks for: an unknown outcome counts as a failure, an attempt as what came of the last one. */
export function troubleOf({ kind, state }: Span): Trouble | undefined {
  if (kind === "attempt") return undefined;
  if (state === "denied") return "denied";
  return state === "failed" || state === "unknown" ? "failed" : undefined;
}

/** Lines in the order in which they are drawn; what stands under a span of `closed` is left out. */
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
        below: worstBelow(span.id, children),
      });
      if (open) add(under, level + 1);
    });
  };
  add(children.get(null) ?? [], 1);
  return rows;
}

/** Spans by their parent; one whose parent is not there stands at the top. */
function childrenOf(spans: readonly Span[]): Map<string | null, Span[]> {
  const known = new Set(spans.map(({ id }) => id));
  return Map.groupBy(spans, ({ parentId }) => (parentId !== null && known.has(parentId) ? parentId : null));
}

function worstBelow(id: string, children: ReadonlyMap<string | null, Span[]>): Trouble | undefined {
  const found = (children.get(id) ?? []).flatMap((child) => [troubleOf(child), worstBelow(child.id, children)]);
  return found.includes("failed") ? "failed" : found.find((trouble) => trouble !== undefined);
}

/** Ids of the spans that `id` stands under, nearest first. */
export function ancestorsOf(spans: readonly Span[], id: string): string[] {
  const parent = spans.find((span) => span.id === id)?.parentId ?? null;
  return parent === null ? [] : [parent, ...ancestorsOf(spans, parent)];
}

/** The next span after `id` that failed or was denied, from the first again behind the last. */
export function nextTrouble(spans: readonly Span[], id: string | undefined): Span | undefined {
  const at = spans.findIndex((span) => span.id === id);
  // The whole is in trouble because of a part: the part is what is looked for.
  const isPart = (span: Span): boolean => span.kind !== "query" && troubleOf(span) !== undefined;
  return [...spans.slice(at + 1), ...spans.slice(0, at + 1)].find(isPart);
}

export interface Stretch {
  startMs: number;
  endMs: number;
}

/** Stretches joined where they touch, in order. */
function union(stretches: readonly Stretch[]): Stretch[] {
  const joined: Stretch[] = [];
  for (const { startMs, endMs } of stretches.toSorted((a, b) => a.startMs - b.startMs)) {
    const last = joined.at(-1);
    if (last && startMs <= last.endMs) last.endMs = Math.max(last.endMs, endMs);
    else joined.push({ startMs, endMs });
  }
  return joined;
}

/** What of a stretch nothing accounts for, as far as it is longer than `leastMs`. */
export function gapsIn(whole: Stretch, parts: readonly Stretch[], leastMs: number): Stretch[] {
  const gaps: Stretch[] = [];
  let from = whole.startMs;
  for (const part of [...union(parts), { startMs: whole.endMs, endMs: whole.endMs }]) {
    if (part.startMs - from > leastMs) gaps.push({ startMs: from, endMs: Math.min(part.startMs, whole.endMs) });
    from = Math.max(from, part.endMs);
  }
  return gaps;
}

/** When a span ends, or `nowMs` while it goes on. */
export const endOf = (span: Span, nowMs: number): number => span.endMs ?? Math.max(span.startMs, nowMs);

/**
 * Where the time of a run went, in milliseconds; what runs side by side counts once. Queues wait, and calls until they were sent; where
 * a function was at work meanwhile, it counts as that.
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

const total = (stretches: readonly Stretch[]): number =>
  union(stretches).reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
