import type { AccessMatrix } from "@patchbay/protocol/console";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { ApiError } from "../../api/api-error.ts";
import { list, resource } from "../../api/queries.ts";
import { formatCount } from "../../format/numbers.ts";
import { formatRelative } from "../../format/times.ts";
import { useSignal } from "../../state/signal.ts";
import { zone } from "../../state/zone.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Menu, MenuItem } from "../../ui/popover.tsx";
import { EmptyState, ErrorState, Loading, Skeleton } from "../../ui/states.tsx";
import { NeverConnected } from "../functions/never-connected.tsx";
import { download } from "../runs/download.ts";
import { CellPanel } from "./cell-panel.tsx";
import { matrixToCsv } from "./export-matrix.ts";
import { Matrix } from "./matrix.tsx";
import { VERDICT_LOOKS } from "./matrix-cell.tsx";
import {
  countVerdicts,
  findCell,
  findRows,
  type MatrixRow,
  roleKey,
  roleLabel,
  rowsOf,
  VERDICTS,
} from "./matrix-model.ts";
import { WidenedSets } from "./widened-sets.tsx";
import { WithheldServices } from "./withheld-services.tsx";

const route = getRouteApi("/shell/agents/$agentId/access");

/** Which role may call which function, and why. */
export function AccessPage() {
  const { agentId } = route.useParams();
  const { manifestHash } = route.useSearch();
  const access = useQuery({
    ...resource("/agents/:agent_id/access", { params: { agent_id: agentId }, query: { manifestHash } }),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHeader
        title="Access"
        description="Which role may call which function, and why"
        actions={access.data && <Export matrix={access.data} />}
      />
      <WithheldServices agentId={agentId} />
      {access.data ? (
        <LoadedMatrix matrix={access.data} />
      ) : access.error instanceof ApiError && access.error.code === "not_found" ? (
        <Card>
          <NeverConnected agentId={agentId}>
            Roles stand in the functions' own code. Once a runtime has connected them, this shows who may call what.
          </NeverConnected>
        </Card>
      ) : access.error ? (
        <ErrorState error={access.error} onRetry={() => void access.refetch()} />
      ) : (
        <Loading label="Loading the access matrix">
          <Skeleton className="mb-4 h-8 w-full max-w-xl" />
          <Skeleton className="h-96 w-full rounded-lg" />
        </Loading>
      )}
    </>
  );
}

function LoadedMatrix({ matrix }: { matrix: AccessMatrix }) {
  const { agentId } = route.useParams();
  const { q, as, verdict, cell } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changed: Record<string, string | undefined>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false });
  const column = as === undefined ? -1 : matrix.roles.findIndex((role) => roleKey(role) === as);
  const highlighted = column === -1 ? undefined : column;
  const all = useMemo(() => rowsOf(matrix), [matrix]);
  const rows = findRows(all, { q, verdict, column: highlighted });
  const found = findCell(all, matrix.roles, cell);
  return (
    <div className="grid gap-4">
      <FilterBar
        filters={[
          { kind: "search", name: "q", label: "Search functions" },
          {
            kind: "choice",
            name: "as",
            label: "Role",
            options: matrix.roles.map((role) => ({ value: roleKey(role), label: roleLabel(role) })),
          },
          { kind: "choice", name: "verdict", label: "Verdict", options: VERDICTS },
        ]}
        values={{ q, as, verdict }}
        onChange={change}
      >
        <Versions shown={matrix} onChange={(manifestHash) => change({ manifestHash, cell: undefined })} />
      </FilterBar>
      <Summary rows={all} roles={matrix.roles} highlighted={highlighted} />
      <Card flush>
        {rows.length > 0 ? (
          <Matrix
            agentId={agentId}
            matrix={matrix}
            rows={rows}
            highlighted={highlighted}
            onHighlight={(role) => change({ as: role === undefined ? undefined : roleKey(role) })}
            onOpen={(opened) => change({ cell: opened })}
          />
        ) : matrix.functions.length === 0 ? (
          <EmptyState icon="function" title="This set has no functions">
            The runtime connected without any. Define some, and start it anew.
          </EmptyState>
        ) : (
          <EmptyState icon="search" title="No function like that">
            Names are searched for all words that are typed.
          </EmptyState>
        )}
      </Card>
      <WidenedSets agentId={agentId} />
      <Legend matrix={matrix} />
      {found && <CellPanel agentId={agentId} found={found} onClose={() => change({ cell: undefined })} />}
    </div>
  );
}

interface SummaryProps {
  rows: readonly MatrixRow[];
  roles: AccessMatrix["roles"];
  highlighted: number | undefined;
}

/** Says what the highlighted role may do, also to those who do not see the column. */
function Summary({ rows, roles, highlighted }: SummaryProps) {
  const counts = highlighted === undefined ? undefined : countVerdicts(rows, highlighted);
  return (
    <p role="status" className={counts ? "text-sm" : "sr-only"}>
      {counts && highlighted !== undefined && (
        <>
          <strong className="font-semibold">{roleLabel(roles[highlighted] ?? null)}</strong>
          {`: ${counts.allowed} allowed, ${counts.conditional} conditional, ${counts.denied} denied of ${rows.length} functions.`}
        </>
      )}
    </p>
  );
}

const NEWEST = "";

/** Sets that were connected before, to see what changed. Nothing while there is but one. */
function Versions({ shown, onChange }: { shown: AccessMatrix; onChange: (hash: string | undefined) => void }) {
  const { agentId } = route.useParams();
  const { manifestHash = NEWEST } = route.useSearch();
  const shownZone = useSignal(zone);
  const { data: sets = [] } = useInfiniteQuery(
    list("/agents/:agent_id/function-sets", { params: { agent_id: agentId }, query: { limit: 20 } }),
  );
  if (sets.length < 2 && manifestHash === NEWEST) return null;
  const ago = (iso: string) => formatRelative(iso, Date.now(), shownZone);
  const older = sets.slice(1).map((set) => ({
    value: set.manifestHash,
    label: `${set.manifestHash.slice(0, 8)}, first seen ${ago(set.firstSeenAt)}`,
  }));
  const known = manifestHash === NEWEST || older.some(({ value }) => value === manifestHash);
  return (
    <Menu
      align="start"
      trigger={
        <Button icon="clock">
          {manifestHash === NEWEST ? "Newest functions" : `Functions ${shown.manifestHash.slice(0, 8)}`}
        </Button>
      }
    >
      <MenuItem icon={manifestHash === NEWEST ? "check" : "plug"} onSelect={() => onChange(undefined)}>
        Newest functions
      </MenuItem>
      {!known && <MenuItem icon="check">{manifestHash.slice(0, 8)}</MenuItem>}
      {older.map(({ value, label }) => (
        <MenuItem key={value} icon={value === manifestHash ? "check" : "clock"} onSelect={() => onChange(value)}>
          {label}
        </MenuItem>
      ))}
    </Menu>
  );
}

function Legend({ matrix: { defaultRole, rolesOmitted, callsOmitted } }: { matrix: AccessMatrix }) {
  return (
    <section aria-label="How to read this" className="text-muted grid gap-x-8 gap-y-3 text-sm lg:grid-cols-2">
      <dl className="grid content-start gap-1.5">
        {VERDICTS.map((verdict) => {
          const { icon, className, meaning } = VERDICT_LOOKS[verdict];
          return (
            <div key={verdict} className="flex gap-2">
              <dt className="w-26 shrink-0">
                <span
                  className={`inline-flex h-5 items-center gap-1.5 rounded px-1.5 text-xs font-medium ${className}`}
                >
                  <Icon name={icon} className="size-3.5" />
                  {verdict}
                </span>
              </dt>
              <dd>{meaning}</dd>
            </div>
          );
        })}
      </dl>
      <div className="grid max-w-prose content-start gap-1.5 text-pretty">
        <p>
          Two checks enforce it: the control plane hides from the model what the role may not call, and the runtime,
          next to the data, checks every call again. Nothing that a model writes gets around either.
        </p>
        {rolesOmitted > 0 && <p>{formatCount(rolesOmitted)} more roles of this function set are not shown.</p>}
        <p>
          Figures are calls of the last 30 days that were let through, and those refused.
          {callsOmitted && " Only the functions and roles with the most calls have figures."}
          {defaultRole !== null && (
            <>
              {" "}
              A query without a role counts as <strong className="text-text font-medium">{defaultRole}</strong>; the
              column “no role” is for roles that are not known.
            </>
          )}
        </p>
      </div>
    </section>
  );
}

function Export({ matrix }: { matrix: AccessMatrix }) {
  const { agentId } = route.useParams();
  const name = `access-${agentId}-${matrix.manifestHash.slice(0, 8)}`;
  return (
    <Menu trigger={<Button icon="download">Export</Button>}>
      <MenuItem icon="table" onSelect={() => download(`${name}.csv`, "text/csv", matrixToCsv(matrix))}>
        CSV, a line for each function and role
      </MenuItem>
      <MenuItem
        icon="function"
        onSelect={() => download(`${name}.json`, "application/json", JSON.stringify(matrix, null, 2))}
      >
        JSON
      </MenuItem>
    </Menu>
  );
}
