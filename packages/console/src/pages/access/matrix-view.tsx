import type { AccessMatrix } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { useList } from "../../api/api.ts";
import { countOf, formatCount } from "../../format/numbers.ts";
import { formatRelative } from "../../format/times.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { useSignal, zone } from "../../state/signals.ts";
import { toRun } from "../../state/addresses.ts";
import { Button, TextLink } from "../../ui/button.tsx";
import { download } from "../../ui/download.ts";
import { FilterBar } from "../../ui/table/filter-bar.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, EmptyState } from "../../ui/page.tsx";
import { Menu, MenuItem } from "../../ui/popover.tsx";
import { CellPanel } from "./cell-panel.tsx";
import { VERDICT_LOOKS } from "./matrix-cell.tsx";
import {
  countVerdicts,
  findCell,
  findRows,
  type MatrixRow,
  matrixToCsv,
  roleKey,
  roleLabel,
  rowsOf,
  VERDICTS,
} from "../../parts/access/matrix-model.ts";
import { Matrix } from "./matrix.tsx";

const route = getRouteApi("/shell/agents/$agentId/access");

/** The matrix with its filters and legend. */
export function MatrixView({ matrix }: { matrix: AccessMatrix }) {
  const { agentId } = route.useParams();
  const { q, as, verdict, cell } = route.useSearch();
  const change = useSearchChange(route);
  const column = as === undefined ? -1 : matrix.roles.findIndex((role) => roleKey(role) === as);
  const highlighted = column === -1 ? undefined : column;
  const ofRoles = matrix.roles.map((role) => ({ value: roleKey(role), label: roleLabel(role) }));
  const all = useMemo(() => rowsOf(matrix), [matrix]);
  const rows = findRows(all, { q, verdict, column: highlighted });
  const found = findCell(all, matrix.roles, cell);
  return (
    <div className="grid gap-4">
      <FilterBar
        filters={[
          { kind: "search", name: "q", label: "Search functions" },
          { kind: "choice", name: "as", label: "Role", options: ofRoles },
          { kind: "choice", name: "verdict", label: "Verdict", options: VERDICTS },
        ]}
        values={{ q, as, verdict }}
        onChange={change}
      >
        <Versions shown={matrix} onChange={(manifestHash) => change({ manifestHash, cell: undefined })} />
      </FilterBar>
      <Summary rows={all} roles={matrix.roles} highlighted={highlighted} />
      <FlowFaults agentId={agentId} faults={matrix.flowFaults} />
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
          <EmptyState icon="function" title="This function set is empty">
            Add functions to the service, then restart its runtime.
          </EmptyState>
        ) : (
          <EmptyState icon="search" title="No matching functions">
            Names must contain every search word.
          </EmptyState>
        )}
      </Card>
      <Legend matrix={matrix} />
      {found && <CellPanel agentId={agentId} found={found} onClose={() => change({ cell: undefined })} />}
    </div>
  );
}

/** What data-flow rules do not allow, by function and rule. */
function FlowFaults({ agentId, faults }: { agentId: string; faults: AccessMatrix["flowFaults"] }) {
  if (faults.length === 0) return null;
  return (
    <Card
      title="Not allowed by data-flow rules"
      description="Of the last 1,000 calls in 30 days to functions with rules"
    >
      <ul aria-label="Not allowed by data-flow rules" className="grid gap-1 text-sm">
        {faults.map(({ functionName, rule, calls, runId }) => (
          <li key={`${functionName} ${rule}`} className="flex flex-wrap gap-x-3">
            <span className="font-mono">{functionName}</span> {rule}: {countOf(calls, "call")}
            <TextLink {...toRun(agentId, runId)}>Show newest run</TextLink>
          </li>
        ))}
      </ul>
    </Card>
  );
}

interface SummaryProps {
  rows: readonly MatrixRow[];
  roles: AccessMatrix["roles"];
  highlighted: number | undefined;
}

/** Counts the highlighted role's verdicts, also for screen readers. */
function Summary({ rows, roles, highlighted }: SummaryProps) {
  const counts = highlighted === undefined ? undefined : countVerdicts(rows, highlighted);
  return (
    <p role="status" className={counts ? "text-sm" : "sr-only"}>
      {counts && highlighted !== undefined && (
        <>
          <strong className="font-semibold">{roleLabel(roles[highlighted] ?? null)}</strong>
          {`: ${counts.allowed} allowed, ${counts.approval ? `${counts.approval} with approval, ` : ""}${counts.conditional} conditional, ${counts.denied} denied of ${rows.length} functions.`}
        </>
      )}
    </p>
  );
}

const LATEST = "";

/** Selects the function set whose matrix is shown. Hidden while the agent has only one. */
function Versions({ shown, onChange }: { shown: AccessMatrix; onChange: (hash: string | undefined) => void }) {
  const { agentId } = route.useParams();
  const { manifestHash = LATEST } = route.useSearch();
  const shownZone = useSignal(zone);
  const { data: sets = [] } = useList("/agents/:agent_id/function-sets", { params: { agentId }, query: { limit: 20 } });
  if (sets.length < 2 && manifestHash === LATEST) return null;
  const ago = (iso: string) => formatRelative(iso, Date.now(), shownZone);
  const older = sets.slice(1).map((set) => ({
    value: set.manifestHash,
    label: `${set.manifestHash.slice(0, 8)}, first seen ${ago(set.firstSeenAt)}`,
  }));
  const known = manifestHash === LATEST || older.some(({ value }) => value === manifestHash);
  return (
    <Menu
      align="start"
      trigger={
        <Button icon="clock">
          {manifestHash === LATEST ? "Latest functions" : `Functions ${shown.manifestHash.slice(0, 8)}`}
        </Button>
      }
    >
      <MenuItem icon={manifestHash === LATEST ? "check" : "plug"} onSelect={() => onChange(undefined)}>
        Latest functions
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

const Legend = ({ matrix: { defaultRole, rolesOmitted, callsOmitted, casesOmitted } }: { matrix: AccessMatrix }) => (
  <section aria-label="Legend" className="text-muted grid gap-x-8 gap-y-3 text-sm lg:grid-cols-2">
    <dl className="grid content-start gap-1.5">
      {VERDICTS.map((verdict) => {
        const { icon, className, meaning } = VERDICT_LOOKS[verdict];
        return (
          <div key={verdict} className="flex gap-2">
            <dt className="w-26 shrink-0">
              <span className={`inline-flex h-5 items-center gap-1.5 rounded px-1.5 text-xs font-medium ${className}`}>
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
        Enforced twice: the control plane hides denied functions from the model, and your runtime checks every call
        again.
      </p>
      {rolesOmitted > 0 && <p>{formatCount(rolesOmitted)} more roles are not shown.</p>}
      <p>
        Cells count allowed and denied calls in the last 30 days.
        {callsOmitted && " Only the functions and roles with the most calls are counted."}
        {casesOmitted > 0 && ` ${formatCount(casesOmitted)} more cases are not shown.`}
        {defaultRole !== null && (
          <>
            {" "}
            Queries without a role use <strong className="text-text font-medium">{defaultRole}</strong>; “no role” is
            for unknown roles.
          </>
        )}
      </p>
    </div>
  </section>
);

/** Saves the matrix as a file. */
export function MatrixExport({ agentId, matrix }: { agentId: string; matrix: AccessMatrix }) {
  const name = `access-${agentId}-${matrix.manifestHash.slice(0, 8)}`;
  return (
    <Menu trigger={<Button icon="download">Export</Button>}>
      <MenuItem icon="table" onSelect={() => download(`${name}.csv`, "text/csv", matrixToCsv(matrix))}>
        CSV, one line per function and role
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
