import type { RunTrace } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { resource } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { toRun } from "../../state/addresses.ts";
import { TextLink } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, EmptyState, ErrorState, Loading, PageHeader, PageSkeleton } from "../../ui/page.tsx";
import { Badge, Count, Duration, Status, Time } from "../../ui/values.tsx";
import { TranscriptView } from "../../parts/conversation/exchange-view.tsx";
import { callsOf, recordedTranscript } from "../../parts/conversation/exchange.ts";
import { callDifferences, sameJson } from "../../parts/conversation/call-differences.ts";
import { FailedQuery } from "../../ui/error-pages.tsx";
import { ShortId } from "../../ui/short-id.tsx";
import { factOf, MODEL_SETTINGS, type RunFact } from "./model-settings.tsx";
import { RunCost } from "../../parts/run/run-columns.tsx";
import { isCall, modelName, stateOf } from "../../parts/run/run-facts.ts";

const route = getRouteApi("/shell/agents/$agentId/compare");

/** Two runs side by side: their requests and figures, then their calls and answers with the differences. */
export function ComparePage() {
  const { agentId } = route.useParams();
  const { a, b } = route.useSearch();
  if (a === undefined || b === undefined)
    return (
      <>
        <PageHeader title="Compare runs" />
        <EmptyState icon="branch" title="No runs to compare">
          Open a run and choose Compare.
        </EmptyState>
      </>
    );
  return <Comparison key={`${a} ${b}`} agentId={agentId} ids={[a, b]} />;
}

function Comparison({ agentId, ids }: { agentId: string; ids: readonly [string, string] }) {
  const a = useQuery(resource("/agents/:agent_id/runs/:run_id", { params: { agentId, runId: ids[0] } }));
  const b = useQuery(resource("/agents/:agent_id/runs/:run_id", { params: { agentId, runId: ids[1] } }));
  const failed = [a, b].find(({ error, data }) => error && !data);
  if (failed) return <FailedQuery title="Compare runs" query={failed} items="runs" />;
  if (!a.data || !b.data) return <PageSkeleton />;
  return (
    <>
      <PageHeader title="Compare runs" />
      <div className="grid gap-4">
        <Card title="Requests and figures" flush>
          <Figures a={a.data} b={b.data} />
        </Card>
        <Transcripts a={a.data} b={b.data} />
      </div>
    </>
  );
}

/** Those that are equal share one line. */
const SETTINGS: RunFact[] = [
  ...MODEL_SETTINGS,
  factOf("Analysis mode", "analysisMode", (isOn) => (isOn ? "on" : "off")),
];

const REQUEST: RunFact[] = [
  factOf("Query", "fullQuery", (query) => query),
  factOf("Role", "role", (role) => role ?? "no role"),
  factOf("Context", "context", (context) => (
    <code className="font-mono text-xs break-all">{JSON.stringify(context)}</code>
  )),
  {
    name: "Model",
    show: (run) => (isCall(run.source) ? "none" : modelName(run)),
    value: ({ provider, model }) => [provider, model],
  },
];

const FIGURES: RunFact[] = [
  factOf("Function set", "manifestHash", (hash) => <ShortId id={hash} units={12} none="none" />),
  {
    name: "State",
    show: ({ code, ...run }) => (
      <span className="flex flex-wrap items-center gap-x-2">
        <Status state={stateOf(run)} />
        {code !== null && <code className="font-mono text-xs break-all">{code}</code>}
      </span>
    ),
    value: ({ code, ...run }) => [stateOf(run), code],
  },
  factOf("Duration", "durationMs", (ms) => <Duration ms={ms} />),
  { name: "Calls", show: callsText, value: callsText },
  factOf("Input tokens", "inputTokens", (tokens) => <Count value={tokens} />),
  factOf("Output tokens", "outputTokens", (tokens) => <Count value={tokens} />),
  factOf("Cost", "costUsd", (_, run) => <RunCost run={run} />),
];

function callsText({ calls, failedCalls, deniedCalls }: RunTrace): string {
  return `${calls}, ${failedCalls} failed, ${deniedCalls} denied`;
}

function Figures({ a, b }: { a: RunTrace; b: RunTrace }) {
  const settings = SETTINGS.filter((line) => differs(line, a, b));
  return (
    <table className="w-full table-fixed text-sm">
      <thead>
        <tr className="border-line text-muted border-b text-left text-xs">
          <th scope="col" className="w-24 px-4 py-2 font-medium sm:w-36">
            <span className="sr-only">What</span>
          </th>
          <RunHead letter="A" run={a} />
          <RunHead letter="B" run={b} />
        </tr>
      </thead>
      <tbody>
        {[...REQUEST, ...settings].map((line) => (
          <LineRow key={line.name} line={line} a={a} b={b} />
        ))}
        {settings.length < SETTINGS.length && (
          <tr className="border-line border-b align-top">
            <RowHead>{settings.length === 0 ? "Settings" : "Other settings"}</RowHead>
            <td colSpan={2} className="text-muted px-4 py-1.5">
              Equal
            </td>
          </tr>
        )}
        {FIGURES.map((line) => (
          <LineRow key={line.name} line={line} a={a} b={b} />
        ))}
      </tbody>
    </table>
  );
}

const differs = ({ value }: RunFact, a: RunTrace, b: RunTrace): boolean => !sameJson(value(a), value(b));

function LineRow({ line, a, b }: { line: RunFact; a: RunTrace; b: RunTrace }) {
  const different = differs(line, a, b);
  return (
    <tr className={`border-line border-b last:border-0 align-top ${different ? "bg-warn-soft/40" : ""}`}>
      <RowHead>
        {line.name}
        {different && <span className="text-warn block">differs</span>}
      </RowHead>
      <td className="px-4 py-1.5 break-words">{line.show(a)}</td>
      <td className="px-4 py-1.5 break-words">{line.show(b)}</td>
    </tr>
  );
}

const RowHead = ({ children }: { children: ReactNode }) => (
  <th scope="row" className="text-muted px-4 py-1.5 text-left text-xs font-medium">
    {children}
  </th>
);

const RunHead = ({ letter, run: { agentId, runId, createdAt, rerunOf } }: { letter: string; run: RunTrace }) => (
  <th scope="col" className="px-4 py-2 font-medium">
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <Badge tone="accent">{letter}</Badge>
      <TextLink {...toRun(agentId, runId)} className="font-mono break-all">
        {runId}
      </TextLink>
      <Time at={createdAt} />
      {rerunOf !== null && <span>repeats {rerunOf.slice(0, 12)}…</span>}
    </span>
  </th>
);

/** Calls and answers side by side. A run's log is compared once the run has ended. */
function Transcripts({ a, b }: { a: RunTrace; b: RunTrace }) {
  const ended = a.finishedAt !== null && b.finishedAt !== null;
  const first = useQuery({ ...recordedTranscript(a), enabled: ended });
  const second = useQuery({ ...recordedTranscript(b), enabled: ended });
  const failed = [first, second].find(({ error }) => error);
  if (!ended)
    return (
      <EmptyState icon="clock" title="A run is in progress">
        Calls and answers are compared when both runs have ended.
      </EmptyState>
    );
  if (failed) return <ErrorState error={failed.error} onRetry={() => void failed.refetch()} />;
  if (!first.data || !second.data) return <Loading block="h-60" />;
  const remarks = callDifferences(
    { calls: callsOf(first.data), name: "A" },
    { calls: callsOf(second.data), name: "B" },
  );
  const answers = compareAnswers(first.data.answer, second.data.answer);
  return (
    <section aria-label="Calls and answers" className="grid gap-3">
      <p className="text-muted flex items-center gap-1.5 text-sm">
        <Icon name={remarks.size === 0 && answers === "same answer" ? "check" : "branch"} className="size-3.5" />
        {remarks.size === 0
          ? "Same calls with the same results"
          : `${countOf(remarks.size, "call")} marked as different`}
        {`, ${answers}`}
      </p>
      <div className="grid items-start gap-4 md:grid-cols-2">
        <Card title="A">
          <TranscriptView transcript={first.data} remarks={remarks} />
        </Card>
        <Card title="B">
          <TranscriptView transcript={second.data} remarks={remarks} />
        </Card>
      </div>
    </section>
  );
}

/** A run that failed before its answer has an empty one. */
function compareAnswers(a: string, b: string): string {
  if (a === "" && b === "") return "no answers";
  return a === b ? "same answer" : "different answers";
}
