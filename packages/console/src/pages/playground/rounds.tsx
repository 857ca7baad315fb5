import { Button } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { Icon } from "../../ui/icon.tsx";
import { Fault } from "../../ui/states.tsx";
import { PastAnswer } from "../conversation/past-exchange.tsx";
import { Asked } from "../conversation/asked.tsx";
import { callsOf } from "../conversation/exchange.ts";
import { RunFigures } from "../conversation/run-figures.tsx";
import { ToldView } from "../conversation/told-view.tsx";
import { AskedAgain } from "./asked-again.tsx";
import { callDifferences } from "./call-differences.ts";
import { isRunning, stateOf, type LiveExchange } from "./lane.ts";
import { queryOf, roleOf, runIdOf, type Shown } from "./use-lane.ts";

export interface RoundsProps {
  agentId: string;
  /** One conversation, or two that are compared. */
  lanes: readonly (readonly Shown[])[];
  roles: readonly string[];
  running: boolean;
  /** The run whose events are shown. */
  selected: string | undefined;
  onSelect: (runId: string) => void;
  /** Undefined for whoever may not ask. */
  onAsk: ((query: string, where: "new" | "same") => void) | undefined;
}

/** Queries with their answers. Of two conversations the answers to one query stand beside each other. */
export function Rounds({ agentId, lanes, roles, running, selected, onSelect, onAsk }: RoundsProps) {
  const length = Math.max(...lanes.map((lane) => lane.length));
  return (
    <ol aria-label="Conversation" className="grid min-w-0 gap-6">
      {Array.from({ length }, (_, index) => {
        const row = lanes.map((lane) => lane[index]);
        const query = row.map((shown) => shown && queryOf(shown)).find((text) => text !== undefined) ?? "";
        const remarks = differencesOf(row);
        return (
          // Rounds are added at the end alone.
          <li key={index} className="grid min-w-0 gap-3">
            {onAsk ? <AskedAgain text={query} disabled={running} onSend={onAsk} /> : <Asked text={query} />}
            <div className={classNames("grid min-w-0 items-start gap-4", lanes.length > 1 && "md:grid-cols-2")}>
              {row.map((shown, lane) => (
                <div
                  key={lane}
                  className={classNames(
                    "min-w-0",
                    lanes.length > 1 && "border-line bg-surface top-16 rounded-lg border p-3 md:sticky",
                  )}
                >
                  {lanes.length > 1 && <LaneName letter={lane === 0 ? "A" : "B"} shown={shown} role={roles[lane]} />}
                  {shown && (
                    <OneAnswer
                      agentId={agentId}
                      shown={shown}
                      remarks={remarks}
                      selected={selected}
                      onSelect={onSelect}
                    />
                  )}
                </div>
              ))}
            </div>
            {remarks && <Verdict differing={remarks.size} />}
          </li>
        );
      })}
    </ol>
  );
}

function LaneName({ letter, shown, role }: { letter: string; shown: Shown | undefined; role: string | undefined }) {
  const asked = shown ? roleOf(shown) : role;
  return (
    <h3 className="text-muted mb-2 flex items-center gap-2 text-xs font-medium">
      <span className="bg-accent-soft text-accent inline-flex size-5 items-center justify-center rounded">
        {letter}
      </span>
      {asked ? <code className="text-text truncate font-mono">{asked}</code> : "no role"}
    </h3>
  );
}

/** Compared once both have ended; until then every call would look like one of its side alone. */
function differencesOf(row: readonly (Shown | undefined)[]): Map<string, string> | undefined {
  const [a, b] = row.map((shown) => shown?.live);
  if (!a?.told.end || !b?.told.end) return undefined;
  const name = (exchange: LiveExchange, other: LiveExchange, letter: string) =>
    exchange.role === other.role ? letter : `as ${exchange.role || "no role"}`;
  return callDifferences(
    { calls: callsOf(a.told), name: name(a, b, "A") },
    { calls: callsOf(b.told), name: name(b, a, "B") },
  );
}

const Verdict = ({ differing }: { differing: number }) => (
  <p className="text-muted flex items-center justify-center gap-1.5 text-xs">
    <Icon name={differing === 0 ? "check" : "branch"} className="size-3.5" />
    {differing === 0 ? "Both made the same calls, with the same outcomes" : "What differs is marked on the calls"}
  </p>
);

function OneAnswer({
  agentId,
  shown,
  remarks,
  selected,
  onSelect,
}: Pick<RoundsProps, "agentId" | "selected" | "onSelect"> & {
  shown: Shown;
  remarks: ReadonlyMap<string, string> | undefined;
}) {
  const runId = runIdOf(shown);
  const events = runId !== undefined && (
    <Button
      size="small"
      look="ghost"
      icon="thread"
      aria-pressed={selected === runId}
      className={selected === runId ? "text-accent" : ""}
      onClick={() => onSelect(runId)}
    >
      Events
    </Button>
  );
  if (shown.past) return <PastAnswer past={shown.past} actions={events} />;
  const { told, error } = shown.live;
  const { end } = told;
  const waiting = isRunning(shown.live) && told.answer === "";
  return (
    <div className="grid min-w-0 gap-2" aria-busy={isRunning(shown.live)}>
      <ToldView told={told} remarks={remarks} />
      {waiting && (
        <p className="text-muted flex items-center gap-2 text-sm">
          <Icon name="running" className="animate-turn size-3.5" />
          {shown.live.stopping ? "Stopping…" : told.steps.length === 0 ? "Waiting for the model…" : "Working…"}
        </p>
      )}
      <Fault error={error} />
      <RunFigures
        agentId={agentId}
        runId={runId}
        state={stateOf(shown.live)}
        role={shown.live.role || null}
        ms={end?.ok ? end.executionTimeMs : null}
        tokens={end?.ok ? end.inputTokens + end.outputTokens : null}
        costUsd={end?.ok ? end.costUsd : null}
      >
        {events}
      </RunFigures>
    </div>
  );
}
