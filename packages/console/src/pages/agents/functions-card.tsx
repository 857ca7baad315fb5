import type { FunctionSet } from "@patchbay/protocol/console";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ShareBar } from "../../charts/share-bar.tsx";
import { countOf } from "../../format/words.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Count } from "../../ui/figures.tsx";
import { ErrorState, Loading, Skeleton } from "../../ui/states.tsx";
import { OUTCOME_LOOKS } from "../analytics/looks.ts";

const SHOWN = 6;

/** An agent's functions, those called most in the last 24 hours first. */
export function FunctionsCard({ agentId, functions }: { agentId: string; functions: UseQueryResult<FunctionSet> }) {
  const { data: set, error } = functions;
  return (
    <Card
      title="Functions"
      description={set && `${countOf(set.functions.length, "function")} for ${countOf(set.roles.length, "role")}`}
      flush
      actions={
        <Link to="/agents/$agentId/functions" params={{ agentId }} className={buttonClass("ghost", "small")}>
          All functions
        </Link>
      }
    >
      {set ? (
        <Busiest agentId={agentId} functions={set.functions} />
      ) : error ? (
        <ErrorState error={error} onRetry={() => void functions.refetch()} />
      ) : (
        <Loading label="Loading functions">
          <div className="grid gap-3 p-4">
            {Array.from({ length: SHOWN }, (_, i) => (
              <Skeleton key={i} className="h-4 w-full" />
            ))}
          </div>
        </Loading>
      )}
    </Card>
  );
}

function Busiest({ agentId, functions }: { agentId: string; functions: FunctionSet["functions"] }) {
  const shown = functions.toSorted((a, b) => b.figures.calls - a.figures.calls).slice(0, SHOWN);
  const max = Math.max(1, ...shown.map(({ figures }) => figures.calls));
  return (
    <ul className="py-1">
      {shown.map(({ name, figures: { calls, failed, denied } }) => (
        <li key={name}>
          <Link
            to="/agents/$agentId/functions/$functionName"
            params={{ agentId, functionName: name }}
            className="hover:bg-hover/60 block px-4 py-1.5 focus-visible:-outline-offset-2"
          >
            <span className="flex items-baseline justify-between gap-3">
              <span className="min-w-0 truncate font-mono text-xs">{name}</span>
              <span className="text-muted shrink-0 text-xs">
                <Count value={calls} /> <span className="sr-only">calls in 24 hours</span>
              </span>
            </span>
            <span className="mt-1 block">
              <ShareBar
                max={max}
                parts={[
                  { value: calls - failed - denied, look: OUTCOME_LOOKS.succeeded },
                  { value: failed, look: OUTCOME_LOOKS.failed },
                  { value: denied, look: OUTCOME_LOOKS.denied },
                ]}
              />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
