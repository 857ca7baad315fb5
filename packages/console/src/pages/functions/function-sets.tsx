import type { FunctionSetVersion } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { useList } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { DataTable } from "../../ui/table/data-table.tsx";
import { rowButton } from "../../ui/table/row-button.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { Card } from "../../ui/page.tsx";
import { Select } from "../../ui/form/select.tsx";
import { Badge, Status, Time } from "../../ui/values.tsx";
import { ShortId } from "../../ui/short-id.tsx";
import { NeverConnected } from "../../parts/runtime/connect.tsx";
import { SetComparison } from "./set-comparison.tsx";

const route = getRouteApi("/shell/agents/$agentId/functions");

/** The function sets that runtimes registered, and the changes between two sets. */
export function FunctionSets() {
  const { agentId } = route.useParams();
  const { manifestHash, base } = route.useSearch();
  const change = useSearchChange(route);
  const sets = useList("/agents/:agent_id/function-sets", { params: { agentId } });
  const { data = [] } = sets;
  const after = data.find((set) => set.manifestHash === manifestHash) ?? data[0];
  const before = data.find((set) => set.manifestHash === base) ?? data[data.findIndex((set) => set === after) + 1];
  const options = data.map((set) => ({ value: set.manifestHash, label: set.manifestHash.slice(0, 8) }));
  const choice = { options, className: "w-36 font-mono" };
  return (
    <div className="grid gap-5">
      <DataTable
        caption="Function sets"
        query={sets}
        columns={columnsOf(data)}
        rowKey={(set) => set.manifestHash}
        link={rowButton(
          ({ manifestHash }) => change({ manifestHash, base: undefined }),
          (set) => set === after,
        )}
        empty={
          <NeverConnected agentId={agentId}>
            Function sets that runtimes register are stored and compared here.
          </NeverConnected>
        }
      />
      {after && (
        <Card
          title="Changes"
          actions={
            before && (
              <div className="flex flex-wrap items-center gap-2 text-sm">
                <Select {...choice} label="From" value={before.manifestHash} onChange={(base) => change({ base })} />
                <span className="text-muted">to</span>
                <Select
                  {...choice}
                  label="To"
                  value={after.manifestHash}
                  onChange={(next) => change({ manifestHash: next, base: before.manifestHash })}
                />
              </div>
            )
          }
        >
          {before ? (
            <SetComparison agentId={agentId} before={before.manifestHash} after={after.manifestHash} />
          ) : (
            <p className="text-muted text-sm">This is the agent's first function set.</p>
          )}
        </Card>
      )}
    </div>
  );
}

const columnsOf = (sets: readonly FunctionSetVersion[]): Column<FunctionSetVersion>[] => [
  { head: "Set", cell: ({ manifestHash }) => <ShortId id={manifestHash} /> },
  { head: "State", cell: ({ connected }) => <Status state={connected ? "connected" : "disconnected"} /> },
  { head: "Functions", cell: ({ functions }) => countOf(functions.length, "function") },
  { head: "Changes", from: "md", cell: (set) => <NamesChanged set={set} sets={sets} /> },
  { head: "First seen", align: "end", cell: ({ firstSeenAt }) => <Time at={firstSeenAt} /> },
];

/** Counts functions added and removed by name; the comparison shows changes within a function. */
function NamesChanged({ set, sets }: { set: FunctionSetVersion; sets: readonly FunctionSetVersion[] }) {
  const older = sets[sets.indexOf(set) + 1];
  if (!older) return <span className="text-faint">–</span>;
  const added = set.functions.filter((name) => !older.functions.includes(name)).length;
  const removed = older.functions.filter((name) => !set.functions.includes(name)).length;
  if (added + removed === 0) return <span className="text-muted">same names</span>;
  return (
    <span className="inline-flex gap-1">
      {added > 0 && <Badge tone="ok">{added} added</Badge>}
      {removed > 0 && <Badge tone="bad">{removed} removed</Badge>}
    </span>
  );
}
