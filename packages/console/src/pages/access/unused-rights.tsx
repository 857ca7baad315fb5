import type { RightsInUse } from "@patchbay/protocol/console";
import { useFiltered } from "../../api/api.ts";
import { countOf, formatCount } from "../../format/numbers.ts";
import { DataTable, rowsOf } from "../../ui/table/data-table.tsx";
import { EmptyState } from "../../ui/page.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { Badge, Time } from "../../ui/values.tsx";
import { roleLabel } from "../../parts/access/matrix-model.ts";

type Right = RightsInUse["rights"][number];
type Denied = RightsInUse["denied"][number];

/** Rights that no call used in the last 90 days, and calls that rules denied. */
export function UnusedRights({ agentId, manifestHash }: { agentId: string; manifestHash: string | undefined }) {
  const use = useFiltered("/agents/:agent_id/access/use", { params: { agentId }, query: { manifestHash } });
  return (
    <div className="grid gap-4">
      <DataTable
        title="Unused rights"
        description={use.data ? summaryOf(use.data) : "Functions that a role did not call in the last 90 days"}
        query={rowsOf(
          use,
          use.data?.rights.filter(({ verdict }) => verdict !== "used"),
        )}
        columns={RIGHTS}
        rowKey={({ functionName, role }) => JSON.stringify([functionName, role])}
        empty={
          <EmptyState icon="check" title="Every right is used">
            Each role called all its functions in the last 90 days.
          </EmptyState>
        }
      />
      {use.data && use.data.denied.length > 0 && (
        <DataTable
          title="Denied calls"
          description="Calls in the last 90 days that a rule denied, most frequent first"
          query={rowsOf(use, use.data.denied)}
          columns={DENIED}
          rowKey={({ functionName, role, rule }) => JSON.stringify([functionName, role, rule])}
          empty={null}
        />
      )}
    </div>
  );
}

function summaryOf({ counts, omitted, refused }: RightsInUse): string {
  const rights = `${formatCount(counts.unused)} unused, ${formatCount(counts.new)} new, ${formatCount(counts.used)} used in the last 90 days.`;
  const lost =
    counts.unused === 0
      ? ""
      : ` Without the unused rights, role lists would have denied ${countOf(refused, "call")} of the whole audit log.`;
  return `${rights}${lost}${omitted > 0 ? ` ${formatCount(omitted)} rights are not listed.` : ""}`;
}

const RIGHTS: Column<Right>[] = [
  { head: "Function", cell: ({ functionName }) => <code className="break-all">{functionName}</code> },
  { head: "Role", cell: ({ role, from }) => `${roleLabel(role)}${from ? `, via ${from.join(", ")}` : ""}` },
  { head: "Verdict", cell: ({ verdict }) => <Badge tone={verdict === "unused" ? "warn" : "idle"}>{verdict}</Badge> },
  { head: "Granted", align: "end", cell: grantedFor },
  {
    head: "Last used",
    align: "end",
    from: "md",
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : <Time at={lastUsedAt} />),
  },
];

function grantedFor({ grantedDays, atLeast }: Right): string {
  if (grantedDays === null) return "never connected";
  return `${atLeast ? "at least " : ""}${countOf(grantedDays, "day")}`;
}

const DENIED: Column<Denied>[] = [
  { head: "Function", cell: ({ functionName }) => <code className="break-all">{functionName}</code> },
  { head: "Role", cell: ({ role }) => roleLabel(role) },
  { head: "Rule", cell: ({ rule }) => rule },
  { head: "Calls", align: "end", cell: ({ calls }) => formatCount(calls) },
  { head: "Last", align: "end", from: "md", cell: ({ lastAt }) => <Time at={lastAt} /> },
];
