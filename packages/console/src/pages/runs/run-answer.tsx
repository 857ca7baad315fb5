import type { RunTrace } from "@patchbay/protocol/console";
import { useState } from "react";
import { oneLine } from "../../format/one-line.ts";
import { toPage } from "../../state/addresses.ts";
import { Button, TextLink } from "../../ui/button.tsx";
import { CopyableText, CopyButton } from "../../ui/copy.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Json } from "../../ui/text/json.tsx";
import { Markdown } from "../../ui/text/markdown.tsx";
import { Card, Facts, Section } from "../../ui/page.tsx";
import { Time } from "../../ui/values.tsx";
import { ShortId } from "../../ui/short-id.tsx";
import { WaitsForApproval } from "../../parts/conversation/exchange-view.tsx";
import type { LiveRun, Progress } from "./use-run-trace.ts";

/** Longer answers are collapsed at first. */
const LONG_UNITS = 800;

/** The answer that the caller received; while the run continues, what was streamed so far. */
export function RunAnswer({ run, live: { running, partial, progress } }: { run: RunTrace; live: LiveRun }) {
  const text = run.response ?? partial;
  const [expanded, setExpanded] = useState(false);
  const long = text.length > LONG_UNITS;
  return (
    <Card title="Answer" actions={run.response !== null && <CopyButton text={run.response} label="Copy answer" />}>
      {run.waitsFor.length > 0 ? (
        <WaitsForFunctions run={run} progress={progress} />
      ) : run.status === "waiting" ? (
        <WaitsForApproval runId={run.runId} />
      ) : text === "" ? (
        <p className="text-muted">
          {running
            ? `Running… ${activityOf(run, progress)}`.trim()
            : run.status === "cancelled"
              ? "No answer (cancelled)"
              : `No answer. ${run.errorMessage ?? ""}`}
        </p>
      ) : (
        <>
          <div className={long && !expanded && !running ? "max-h-96 overflow-hidden mask-b-from-80%" : undefined}>
            <Markdown text={text} />
          </div>
          {long && !running && (
            <Button size="small" look="ghost" className="mt-2" onClick={() => setExpanded(!expanded)}>
              {expanded ? "Show less" : "Show all"}
            </Button>
          )}
        </>
      )}
    </Card>
  );
}

/** Says that a run waits for detached functions, since when, and what they reported last. */
function WaitsForFunctions({ run, progress }: { run: RunTrace; progress: Progress }) {
  const calls = run.spans.filter(({ attributes, endMs }) => attributes["detached"] === true && endMs === null);
  return (
    <div className="text-muted grid gap-1 text-sm">
      <p>{run.waitsFor.length > 1 ? "Waiting for functions:" : "Waiting for a function:"}</p>
      <ul className="grid gap-1">
        {run.waitsFor.map(({ functionName, since }, at) => {
          const report = progress.get(calls[at]?.id ?? "")?.at(-1);
          return (
            <li key={calls[at]?.id ?? at}>
              <code className="text-text font-mono text-xs">{functionName}</code> since <Time at={since} exact />
              {report && `: ${oneLine(report.data)}`}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** What a run is doing: its newest open span. */
function activityOf({ spans }: RunTrace, progress: Progress): string {
  const span = spans.findLast(({ kind, endMs }) => endMs === null && kind !== "query" && kind !== "attempt");
  if (span?.kind === "queue") return "It waits to start.";
  if (span?.kind === "turn") return "The model is writing.";
  if (!span) return "";
  const reports = progress.get(span.id);
  return `Calling ${span.name}${reports ? `: ${oneLine(reports.at(-1)?.data)}` : "."}`;
}

/** The query's parameters. */
export function RunRequest({ run }: { run: RunTrace }) {
  const cut = run.fullQuery !== run.query;
  return (
    <Card title="Request" stacked>
      {cut && <p className="max-h-60 overflow-y-auto text-sm whitespace-pre-wrap">{run.fullQuery}</p>}
      <Facts
        items={[
          ["Analysis mode", run.analysisMode ? "on" : "off"],
          [run.keyId.startsWith("mem_") ? "Member" : "Key", <Sender run={run} />],
          [
            "Request ID",
            run.requestId === null ? "none" : <CopyableText text={run.requestId} label="Copy request ID" />,
          ],
          ["Accepted", <Time at={run.createdAt} exact />],
          ["Deadline", <Time at={run.deadlineAt} exact />],
          ["Function set", <ShortId id={run.manifestHash} units={12} none="none" />],
        ]}
      />
      {Object.keys(run.context).length > 0 && (
        <Section small title="Context">
          <Json value={run.context} name="Context" />
        </Section>
      )}
    </Card>
  );
}

/** Who sent the query, by name; a key links to its settings. */
function Sender({ run: { agentId, keyId, sender } }: { run: RunTrace }) {
  const name = sender ?? <code className="font-mono text-xs">{keyId}</code>;
  if (keyId.startsWith("mem_")) return <span title={keyId}>{name}</span>;
  const kind = keyId.startsWith("tok_") ? "access" : "api";
  return (
    <TextLink {...toPage(agentId, "keys")} search={{ kind, key: keyId }} title={keyId}>
      {name}
    </TextLink>
  );
}

/** A run's error and warnings. */
export const RunNotices = ({ run }: { run: RunTrace }) => (
  <div className="mb-4 grid gap-2 empty:hidden">
    {run.errorMessage !== null && (
      <Notice icon="failed" tone={run.status === "cancelled" ? "idle" : "bad"}>
        <span className="font-medium">{run.errorMessage}</span>
        {run.code !== null && <code className="ml-2 font-mono text-xs">{run.code}</code>}
      </Notice>
    )}
    {run.warnings.map((warning) => (
      <Notice key={warning} icon="alert" tone="warn">
        {warning}
      </Notice>
    ))}
  </div>
);
