import { useDeferredValue } from "react";
import { Icon } from "../../ui/icon.tsx";
import { Markdown } from "../../ui/markdown.tsx";
import { CallView } from "./call-view.tsx";
import type { Told } from "./exchange.ts";

/** What a run told, in its order: thoughts, calls, warnings, the answer or why there is none. */
export function ToldView({ told, remarks }: { told: Told; remarks?: ReadonlyMap<string, string> | undefined }) {
  const { steps, answer, warnings, end } = told;
  return (
    <div className="grid min-w-0 gap-2">
      {steps.map((step, index) =>
        step.kind === "call" ? (
          <CallView key={step.call.id} call={step.call} ended={end !== undefined} remark={remarks?.get(step.call.id)} />
        ) : (
          // Steps are added at the end alone.
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

/** Tokens may come faster than Markdown is parsed: the text shown lags behind, the page does not. */
export function Answer({ text }: { text: string }) {
  return (
    <div className="min-w-0 py-1">
      <Markdown text={useDeferredValue(text)} />
    </div>
  );
}

export function NoAnswer({ message, code }: { message: string; code: string | null }) {
  const cancelled = code === "cancelled";
  return (
    <p
      className={`flex items-start gap-2 rounded-md px-3 py-2 text-sm ${cancelled ? "bg-idle-soft text-idle" : "bg-bad-soft text-bad"}`}
    >
      <Icon name={cancelled ? "stopped" : "alert"} className="mt-0.5 size-4" />
      <span className="min-w-0">
        {message} {code !== null && !cancelled && <code className="font-mono text-xs opacity-90">{code}</code>}
      </span>
    </p>
  );
}

function Thought({ text, live }: { text: string; live: boolean }) {
  return (
    <details open={live} className="group/thought text-muted min-w-0 text-sm">
      <summary className="hover:text-text flex items-center gap-1.5 py-0.5">
        <Icon name="right" className="text-faint size-3.5 transition-transform group-open/thought:rotate-90" />
        <span className="min-w-0 truncate group-open/thought:hidden">{text}</span>
        <span className="hidden group-open/thought:inline">{live ? "Thinking" : "Thought"}</span>
      </summary>
      <p className="border-line mt-1 ml-1.5 border-l-2 pl-3 whitespace-pre-wrap">{text}</p>
    </details>
  );
}
