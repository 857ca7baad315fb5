import { classNames } from "../../ui/class-names.ts";
import { Json } from "../../ui/code.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Badge, Status } from "../../ui/status.tsx";
import type { Call, CallOutcome } from "./exchange.ts";

/** One function call: its name and outcome in a line, and opened, what went in and came out. `remark` is at the line's end. */
export function CallView({ call, ended, remark }: { call: Call; ended: boolean; remark?: string | undefined }) {
  const { name, parameters, progress, outcome } = call;
  const failed = outcome && !outcome.ok;
  const latest = outcome === undefined && !ended ? progress.at(-1) : undefined;
  return (
    <details className="group/call border-line bg-surface min-w-0 rounded-lg border">
      <summary className="hover:bg-hover/60 flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1 rounded-lg px-2.5 py-1.5 text-sm">
        <Icon name="right" className="text-faint size-3.5 transition-transform group-open/call:rotate-90" />
        <code className="font-mono text-xs font-medium">{name}</code>
        <code className="text-muted min-w-0 flex-1 basis-24 truncate font-mono text-xs">{inShort(parameters)}</code>
        {remark !== undefined && (
          <Badge tone="accent" icon="branch">
            {remark}
          </Badge>
        )}
        <Status state={stateOf(outcome, ended)} />
        {latest !== undefined && (
          <span className="text-info basis-full truncate pl-5.5 font-mono text-xs">{inShort(latest)}</span>
        )}
        {failed && (
          <span className="text-muted basis-full pl-5.5 text-xs group-open/call:hidden">{outcome.errorMessage}</span>
        )}
      </summary>
      <div className="border-line grid min-w-0 gap-3 border-t px-3 py-3">
        <Part title="Arguments">
          <Json name={`Arguments of ${name}`} value={parameters} />
        </Part>
        {progress.length > 0 && (
          <Part title={`Progress (${progress.length})`}>
            <Json name={`Progress of ${name}`} value={progress.length === 1 ? progress[0] : progress} />
          </Part>
        )}
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

function Part({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section aria-label={title} className="min-w-0">
      <p className="text-muted mb-1 text-xs font-medium">{title}</p>
      {children}
    </section>
  );
}

/** A call without an outcome is under way, or broke off with its run. */
function stateOf(outcome: CallOutcome | undefined, ended: boolean): string {
  if (outcome === undefined) return ended ? "cancelled" : "running";
  if (outcome.ok) return "ok";
  if (outcome.code === "denied" || outcome.code === "cancelled") return outcome.code;
  return outcome.code === "outcome_unknown" ? "unknown" : "failed";
}

const toneOf = (code: string): string => (code === "denied" ? "text-warn" : "text-bad");

/** Arguments in a line: `order_id "#W1", reason "…"`. */
function inShort(parameters: unknown): string {
  if (typeof parameters === "string") return parameters.slice(0, 300);
  if (typeof parameters !== "object" || parameters === null) return JSON.stringify(parameters) ?? "";
  const members = Object.entries(parameters).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return members.join(", ").slice(0, 300);
}
