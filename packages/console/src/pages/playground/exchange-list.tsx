import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { resource, useHasRole } from "../../api/api.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { classNames, controlClass } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { Fault } from "../../ui/page.tsx";
import { QueryText, TranscriptView, WaitsForApproval } from "../../parts/conversation/exchange-view.tsx";
import { awaitsApproval, callsOf, recordedTranscript, type Transcript } from "../../parts/conversation/exchange.ts";
import { callDifferences } from "../../parts/conversation/call-differences.ts";
import { PastAnswer, RunFigures } from "../../parts/conversation/past-exchange.tsx";
import { isRunning, type ShownExchange, stateOf } from "./lane.ts";
import type { PlaygroundState } from "./use-playground.ts";

interface ExchangeListProps {
  playground: PlaygroundState;
  /** The run whose events are shown. */
  selected: string | undefined;
}

/** Queries with their answers; two conversations' answers are shown side by side. */
export function ExchangeList({ playground, selected }: ExchangeListProps) {
  const { lanes } = playground;
  const maySend = useHasRole("developer");
  const length = Math.max(...lanes.map(({ exchanges }) => exchanges.length));
  return (
    <ol aria-label="Conversation" className="grid min-w-0 gap-6">
      {Array.from({ length }, (_, index) => {
        const row = lanes.map(({ exchanges }) => exchanges[index]);
        const query = row.find((shown) => shown !== undefined)?.query ?? "";
        return (
          // The index is a stable key: exchanges are only appended.
          <li key={index} className="grid min-w-0 gap-3">
            {maySend ? (
              <EditableQuery text={query} runIds={row.flatMap((shown) => shown?.runId ?? [])} playground={playground} />
            ) : (
              <QueryText text={query} />
            )}
            <Answers playground={playground} selected={selected} row={row} />
          </li>
        );
      })}
    </ol>
  );
}

type AnswersProps = ExchangeListProps & { row: readonly (ShownExchange | undefined)[] };

/** The answers to one query; with two lanes side by side, with their differences once both have ended. */
function Answers({ playground, selected, row }: AnswersProps) {
  const compared = row.length > 1;
  const remarks = useDifferences(row);
  return (
    <>
      <div className={classNames("grid min-w-0 items-start gap-4", compared && "md:grid-cols-2")}>
        {row.map((shown, lane) => (
          <div
            key={lane}
            className={classNames(
              "min-w-0",
              compared && "border-line bg-surface top-16 rounded-lg border p-3 md:sticky",
            )}
          >
            {compared && <LaneHead playground={playground} lane={lane} shown={shown} />}
            {shown && <OneAnswer {...{ playground, selected, shown, compared, remarks }} />}
          </div>
        ))}
      </div>
      {remarks && <ComparisonNote differing={remarks.size} />}
    </>
  );
}

interface LaneHeadProps {
  playground: PlaygroundState;
  lane: number;
  shown: ShownExchange | undefined;
}

/** An answer's head in a comparison: its lane, its role and what else it was sent with. */
function LaneHead({ playground, lane, shown }: LaneHeadProps) {
  const { agentId, settings } = playground;
  const name = shown?.role ?? settings[lane === 0 ? "role" : "role2"];
  const { model, instructions, context } = useSent(agentId, shown);
  return (
    <h3 className="text-muted mb-2 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs font-medium">
      <span className="bg-accent-soft text-accent inline-flex size-5 items-center justify-center rounded">
        {lane === 0 ? "A" : "B"}
      </span>
      {name ? <code className="text-text max-w-full truncate font-mono">{name}</code> : <span>no role</span>}
      {model !== undefined && <code className="max-w-full truncate font-mono">{model}</code>}
      {instructions && <span>own instructions</span>}
      {context && <span>with context</span>}
    </h3>
  );
}

/** What an exchange was sent with: from its body, or after a reload from its run. */
function useSent(agentId: string, shown: ShownExchange | undefined) {
  const body = shown?.live?.sent;
  const runId = shown?.runId;
  const trace = resource("/agents/:agent_id/runs/:run_id", { params: { agentId, runId: runId ?? "" } });
  const { data: run } = useQuery({ ...trace, enabled: body === undefined && runId !== undefined });
  if (body) {
    const { llmConfig, instructions, contextJson = "{}" } = body;
    const model = llmConfig?.model ?? llmConfig?.provider;
    return { model, instructions: instructions !== undefined, context: contextJson !== "{}" };
  }
  return {
    model: run?.model || undefined,
    instructions: typeof run?.instructions === "string",
    context: Object.keys(run?.context ?? {}).length > 0,
  };
}

const ComparisonNote = ({ differing }: { differing: number }) => (
  <p className="text-muted flex items-center justify-center gap-1.5 text-xs">
    <Icon name={differing === 0 ? "check" : "branch"} className="size-3.5" />
    {differing === 0 ? "Same calls with the same results" : "Differences are highlighted"}
  </p>
);

interface OneAnswerProps extends ExchangeListProps {
  shown: ShownExchange;
  /** True in a comparison: calls are shown from the start, because remarks are on them. */
  compared: boolean;
  remarks: ReadonlyMap<string, string> | undefined;
}

function OneAnswer({ playground, shown, compared, remarks, selected }: OneAnswerProps) {
  const { runId } = shown;
  const events = runId !== undefined && (
    <Button
      size="small"
      look="ghost"
      icon="thread"
      aria-pressed={selected === runId}
      className={selected === runId ? "text-accent" : ""}
      onClick={() => playground.openTab("events", runId)}
    >
      Events
    </Button>
  );
  if (shown.past) return <PastAnswer past={shown.past} actions={events} open={compared} remarks={remarks} />;
  const { transcript, error } = shown.live;
  const { end } = transcript;
  const unanswered = isRunning(shown.live) && transcript.answer === "";
  const waits = unanswered && awaitsApproval(transcript);
  return (
    <div className="grid min-w-0 gap-2" aria-busy={isRunning(shown.live)}>
      <TranscriptView transcript={transcript} remarks={remarks} />
      {waits && runId !== undefined ? (
        <WaitsForApproval runId={runId} />
      ) : (
        unanswered && (
          <p className="text-muted flex items-center gap-2 text-sm">
            <Icon name="running" className="animate-turn size-3.5" />
            {shown.live.stopping ? "Stopping…" : (transcript.status ?? progressOf(transcript))}
          </p>
        )
      )}
      <Fault error={error} />
      <RunFigures
        agentId={playground.agentId}
        runId={runId}
        state={stateOf(shown.live)}
        role={shown.live.role || null}
        ms={end?.ok ? end.executionTimeMs : null}
        tokens={end?.ok ? end.usage.inputTokens + end.usage.outputTokens : null}
        costUsd={end?.ok ? end.usage.costUsd : null}
      >
        {events}
      </RunFigures>
    </div>
  );
}

const progressOf = ({ steps }: Transcript): string => (steps.length === 0 ? "Waiting for the model…" : "Working…");

interface EditableQueryProps {
  playground: PlaygroundState;
  text: string;
  /** The query's runs. */
  runIds: readonly string[];
}

/** A sent query that can be edited and sent again, in its thread or in a new one. */
function EditableQuery({ playground, text, runIds }: EditableQueryProps) {
  const [draft, setDraft] = useState<string>();
  if (draft === undefined)
    return (
      <QueryText text={text}>
        <IconButton
          icon="edit"
          label="Edit and run again"
          size="small"
          className="opacity-60 group-hover/query:opacity-100 focus-visible:opacity-100"
          onClick={() => setDraft(text)}
        />
      </QueryText>
    );
  const send = (where: "new" | "same"): void =>
    playground.send({ query: draft, where, again: runIds, onSend: () => setDraft(undefined) });
  const disabled = draft.trim() === "" || playground.running;
  return (
    <form
      className="border-line bg-surface grid gap-2 rounded-lg border p-2.5"
      onSubmit={(event) => {
        event.preventDefault();
        send("new");
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") setDraft(undefined);
        if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey) || disabled) return;
        event.preventDefault();
        send("new");
      }}
    >
      <textarea
        autoFocus
        aria-label="Edited query"
        rows={2}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        className={controlClass("h-auto max-h-60 field-sizing-content resize-none py-1.5")}
      />
      <div className="flex flex-wrap items-center justify-end gap-2">
        <p className="text-muted mr-auto text-xs">A new thread starts without the earlier messages.</p>
        <Button size="small" look="ghost" onClick={() => setDraft(undefined)}>
          Cancel
        </Button>
        <Button size="small" disabled={disabled} onClick={() => send("same")}>
          Send in this thread
        </Button>
        <Button size="small" type="submit" look="primary" disabled={disabled}>
          Send in new thread
        </Button>
      </div>
    </form>
  );
}

/** Compares two exchanges once both have ended: before that, each call would count as missing on the other side. */
function useDifferences([a, b]: readonly (ShownExchange | undefined)[]): Map<string, string> | undefined {
  const first = useEnded(a, b);
  const second = useEnded(b, a);
  if (!a || !b || !first || !second) return undefined;
  const name = (letter: string, role: string) => (a.role === b.role ? letter : `as ${role || "no role"}`);
  return callDifferences(
    { calls: callsOf(first), name: name("A", a.role) },
    { calls: callsOf(second), name: name("B", b.role) },
  );
}

/** An ended exchange's transcript; a stored one is fetched if there is another to compare it with. */
function useEnded(shown: ShownExchange | undefined, other: ShownExchange | undefined): Transcript | undefined {
  const run = shown?.past?.run;
  const log = useQuery({
    ...recordedTranscript({ agentId: run?.agentId ?? "", runId: run?.runId ?? "" }),
    enabled: run !== undefined && run.finishedAt !== null && other !== undefined,
  });
  const transcript = shown?.live?.transcript ?? log.data;
  return transcript?.end && transcript;
}
