import type { RunTrace, Span } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { formatShare } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";
import { Facts } from "../../ui/card.tsx";
import { Json } from "../../ui/code.tsx";
import { Count, Money } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Markdown } from "../../ui/markdown.tsx";
import { Status } from "../../ui/status.tsx";
import { KIND_WORDS } from "../../waterfall/span-look.ts";
import { endOf } from "../../waterfall/rows.ts";

type Fact = [name: string, value: ReactNode];

/** The facts of a span, and the gist of what it said or why it was stopped. */
export function SpanOverview({ run, span, nowMs }: { run: RunTrace; span: Span; nowMs: number }) {
  const lengthMs = endOf(span, nowMs) - span.startMs;
  const facts: Fact[] = [
    ["State", <Status state={span.state} />],
    ["Kind", KIND_WORDS[span.kind]],
    ["Began", `${formatDuration(span.startMs)} into the run`],
    ["Took", `${formatDuration(lengthMs)} (${formatShare(lengthMs, Math.max(nowMs, run.durationMs))} of the run)`],
    ...(span.waitMs === null ? [] : [["Waited", formatDuration(span.waitMs)] as Fact]),
    ...attributeFacts(span),
  ];
  return (
    <div className="grid gap-4">
      <Refusal span={span} />
      <Facts items={facts} />
      {span.kind === "call" && (
        <Link
          to="/agents/$agentId/functions/$functionName"
          params={{ agentId: run.agentId, functionName: span.name }}
          className="text-accent inline-flex items-center gap-1.5 text-sm underline underline-offset-2"
        >
          <Icon name="function" className="size-3.5" /> Open {span.name}
        </Link>
      )}
      {span.kind === "turn" && <Said span={span} />}
    </div>
  );
}

function Refusal({ span: { state, rule, why, code, errorMessage } }: { span: Span }) {
  const text = why ?? errorMessage;
  if (text === null) return null;
  const denied = state === "denied";
  return (
    <div
      className={`flex items-start gap-2 rounded-md px-3 py-2 text-sm ${denied ? "bg-warn-soft text-warn" : "bg-bad-soft text-bad"}`}
    >
      <Icon name={denied ? "denied" : "failed"} className="mt-0.5 size-4" />
      <div className="min-w-0">
        <p className="font-medium">{denied ? `Denied by rule ${rule ?? "unknown"}` : (code ?? state)}</p>
        <p>{text}</p>
      </div>
    </div>
  );
}

/** Of the attributes those that people ask for; the rest stand in their own tab. */
function attributeFacts({ attributes }: Span): Fact[] {
  const { role, provider, model, inputTokens, outputTokens, costUsd, runtime, attempts, withheld } = attributes;
  const facts: Fact[] = [];
  const add = (name: string, known: boolean, value: ReactNode) => known && facts.push([name, value]);
  add("Role", typeof role === "string", role);
  add("Model", typeof model === "string", [provider, model].join(" / "));
  if (typeof inputTokens === "number" && typeof outputTokens === "number")
    facts.push([
      "Tokens",
      <>
        <Count value={inputTokens} /> in
        <PartOfInput tokens={attributes["cachedInputTokens"]} what="from cache" />
        <PartOfInput tokens={attributes["cacheWriteInputTokens"]} what="to cache" />, <Count value={outputTokens} /> out
      </>,
    ]);
  if (typeof costUsd === "number") facts.push(["Cost", <Money usd={costUsd} />]);
  add("Runtime", typeof runtime === "string", <span className="font-mono text-xs">{runtime}</span>);
  add("Attempts", typeof attempts === "number", attempts);
  add("Withheld", Array.isArray(withheld), <span className="font-mono text-xs">{[withheld].flat().join(", ")}</span>);
  return facts;
}

function PartOfInput({ tokens, what }: { tokens: unknown; what: string }) {
  if (typeof tokens !== "number" || tokens === 0) return null;
  return (
    <>
      {" "}
      (<Count value={tokens} /> {what})
    </>
  );
}

/** What a turn wrote, and what it asked for. */
function Said({ span: { output } }: { span: Span }) {
  if (typeof output !== "object" || output === null) return null;
  const { text, calls } = output as { text?: string; calls?: unknown[] };
  return (
    <>
      {text !== undefined && (
        <section className="min-w-0 text-sm">
          <h3 className="text-muted mb-1 text-xs font-medium">Wrote</h3>
          <Markdown text={text} />
        </section>
      )}
      {calls !== undefined && (
        <section className="min-w-0">
          <h3 className="text-muted mb-1 text-xs font-medium">Asked for</h3>
          <Json value={calls} name="Calls asked for" />
        </section>
      )}
    </>
  );
}
