import { useDeferredValue } from "react";
import { ONE_LINE_UNITS, oneLine } from "../../format/one-line.ts";
import { formatTime } from "../../format/times.ts";
import { useSignal, zone } from "../../state/signals.ts";
import { TextLink } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Json } from "../../ui/text/json.tsx";
import { Markdown } from "../../ui/text/markdown.tsx";
import { Badge, Status } from "../../ui/values.tsx";
import type { Call, CallOutcome, Report, Transcript } from "./exchange.ts";

interface TranscriptViewProps {
  transcript: Transcript;
  remarks?: ReadonlyMap<string, string> | undefined;
}

/** A run's thoughts and calls in order, then its answer or error, and warnings. `remarks` are shown on the calls with their ids. */
export function TranscriptView({ transcript, remarks }: TranscriptViewProps) {
  const { steps, answer, warnings, end } = transcript;
  return (
    <div className="grid min-w-0 gap-2">
      {steps.map((step, index) =>
        step.kind === "call" ? (
          <CallView key={step.call.id} call={step.call} ended={end !== undefined} remark={remarks?.get(step.call.id)} />
        ) : (
          // The index is a stable key: steps are only appended.
          <Thought key={index} text={step.text} live={step.live} />
        ),
      )}
      {answer !== "" && <Answer text={answer} />}
      {end?.ok === false && <NoAnswer message={end.errorMessage} code={end.code} />}
      {warnings.map((warning) => (
        <p key={warning} className="text-warn flex items-start gap-1.5 text-xs">
          <Icon name="alert" className="mt-px size-3.5" />
          {warning}
        </p>
      ))}
    </div>
  );
}

/** An answer as Markdown. The text is deferred, so that tokens that arrive faster than Markdown renders do not block the page. */
export const Answer = ({ text }: { text: string }) => (
  <div className="min-w-0 py-1">
    <Markdown text={useDeferredValue(text)} />
  </div>
);

/** Why a run has no answer. */
export function NoAnswer({ message, code }: { message: string; code: string | null }) {
  const cancelled = code === "cancelled";
  return (
    <Notice tone={cancelled ? "idle" : "bad"} icon={cancelled ? "stopped" : "alert"}>
      {message} {code !== null && !cancelled && <code className="font-mono text-xs opacity-90">{code}</code>}
    </Notice>
  );
}

const Thought = ({ text, live }: { text: string; live: boolean }) => (
  <details open={live} className="group/thought text-muted min-w-0 text-sm">
    <summary className="hover:text-text flex items-center gap-1.5 py-0.5">
      <Icon name="right" className="text-faint size-3.5 transition-transform group-open/thought:rotate-90" />
      <span className="min-w-0 truncate group-open/thought:hidden">{text}</span>
      <span className="hidden group-open/thought:inline">{live ? "Thinking" : "Thought"}</span>
    </summary>
    <p className="border-line mt-1 ml-1.5 border-l-2 pl-3 whitespace-pre-wrap">{text}</p>
  </details>
);

/** One function call as a line; expanded, its arguments, progress and result. */
function CallView({ call, ended, remark }: { call: Call; ended: boolean; remark?: string | undefined }) {
  const { name, parameters, progress, outcome, waits = false } = call;
  const failed = outcome && !outcome.ok;
  const latest = outcome === undefined && !ended ? progress.at(-1) : undefined;
  return (
    <details className="group/call border-line bg-surface min-w-0 rounded-lg border">
      <summary className="hover:bg-hover/60 flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1 rounded-lg px-2.5 py-1.5 text-sm">
        <Icon name="right" className="text-faint size-3.5 transition-transform group-open/call:rotate-90" />
        <code className="font-mono text-xs font-medium">{name}</code>
        <code className="text-muted min-w-0 flex-1 basis-24 truncate font-mono text-xs">{oneLine(parameters)}</code>
        {remark !== undefined && (
          <Badge tone="accent" icon="branch">
            {remark}
          </Badge>
        )}
        <Status state={waits && !outcome && !ended ? "waiting" : stateOf(outcome, ended)} />
        {latest !== undefined && (
          <span className="text-info basis-full truncate pl-5.5 font-mono text-xs">{oneLine(latest.data)}</span>
        )}
        {failed && (
          <span className="text-muted basis-full pl-5.5 text-xs group-open/call:hidden">{outcome.errorMessage}</span>
        )}
      </summary>
      <div className="border-line grid min-w-0 gap-3 border-t px-3 py-3">
        <Part title="Arguments">
          <Json name={`Arguments of ${name}`} value={parameters} />
        </Part>
        {progress.length > 0 && <CallProgress progress={progress} />}
        {outcome?.ok && (
          <Part title="Result">
            <Json name={`Result of ${name}`} value={outcome.result} />
          </Part>
        )}
        {failed && (
          <Part title="Error">
            <p className="text-sm">
              {outcome.code !== undefined && (
                <code className={classNames("mr-2 font-mono text-xs", toneOf(outcome.code))}>{outcome.code}</code>
              )}
              {outcome.errorMessage}
            </p>
          </Part>
        )}
      </div>
    </details>
  );
}

/** What the handler reported so far, the latest first. */
export function CallProgress({ progress }: { progress: readonly Report[] }) {
  const [latest, ...earlier] = progress.toReversed();
  return (
    <Part title={`Progress (${progress.length})`}>
      {latest && <ReportView report={latest} />}
      {earlier.length > 0 && (
        <details className="mt-1">
          <summary className="text-muted text-xs">Earlier reports</summary>
          <ol aria-label="Earlier reports" className="mt-1 grid gap-1">
            {earlier.map((report, at) => (
              // Counted from the oldest, so that a new report changes no key.
              <li key={earlier.length - at} className="text-muted min-w-0">
                <ReportView report={report} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </Part>
  );
}

/** A report with its time, as a line, or as a tree if it is too long for one. */
function ReportView({ report: { data, receivedAt } }: { report: Report }) {
  const shownZone = useSignal(zone);
  const line = oneLine(data);
  return (
    <div className="flex min-w-0 items-baseline gap-2 text-xs">
      {receivedAt !== undefined && (
        <time dateTime={new Date(receivedAt).toISOString()} className="text-muted shrink-0">
          {formatTime(receivedAt, shownZone)}
        </time>
      )}
      <div className="min-w-0 flex-1">
        {line.length === ONE_LINE_UNITS ? (
          <Json name="Report" value={data} />
        ) : (
          <p className="font-mono break-words">{line}</p>
        )}
      </div>
    </div>
  );
}

const Part = ({ title, children }: { title: string; children: React.ReactNode }) => (
  <section aria-label={title} className="min-w-0">
    <p className="text-muted mb-1 text-xs font-medium">{title}</p>
    {children}
  </section>
);

/** A call's state; without an outcome it is running, or was cancelled with its run. */
function stateOf(outcome: CallOutcome | undefined, ended: boolean): string {
  if (outcome === undefined) return ended ? "cancelled" : "running";
  if (outcome.ok) return "ok";
  if (outcome.code === "denied" || outcome.code === "cancelled") return outcome.code;
  return outcome.code === "outcome_unknown" ? "unknown" : "failed";
}

const toneOf = (code: string): string => (code === "denied" ? "text-warn" : "text-bad");

/** A query's text. */
export const QueryText = ({ text, children }: { text: string; children?: React.ReactNode }) => (
  <div className="group/query flex min-w-0 items-start justify-end gap-1">
    {children}
    <p className="bg-accent-soft max-w-[min(100%,75ch)] min-w-0 rounded-lg rounded-tr-sm px-3 py-2 whitespace-pre-wrap">
      <span className="sr-only">Query: </span>
      {text}
    </p>
  </div>
);

/** Says that a run waits for a person, and leads to its approvals. */
export const WaitsForApproval = ({ runId }: { runId: string }) => (
  <p className="text-muted text-sm">
    Waiting for approval.{" "}
    <TextLink to="/approvals" search={{ runId }}>
      Open approvals
    </TextLink>
  </p>
);
