import type { AccessMatrix, ConsoleFunction } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { resource } from "../../api/queries.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { DataTable, rowsOf, type Column } from "../../ui/data-table.tsx";
import { Count, Time } from "../../ui/figures.tsx";
import { Status } from "../../ui/status.tsx";
import { type MatrixCell, rowsOf as matrixRowsOf, whyOf } from "../access/matrix-model.ts";

const route = getRouteApi("/shell/agents/$agentId/functions/$functionName");

type Row = MatrixCell & { role: string | null; why: string };

/** Which roles may call a function, and why. */
export function FunctionRoles({ one, manifestHash }: { one: ConsoleFunction; manifestHash: string }) {
  const { agentId } = route.useParams();
  const navigate = route.useNavigate();
  const access = useQuery(
    resource("/agents/:agent_id/access", { params: { agent_id: agentId }, query: { manifestHash } }),
  );
  const rows = access.data && rolesOfFunction(access.data, one.name);
  return (
    <Card flush title="Who may call it" description="Calls are those of the last 30 days">
      <DataTable
        caption={`Roles and ${one.name}`}
        query={rowsOf(access, rows)}
        columns={COLUMNS}
        rowKey={({ role }) => role ?? ""}
        actions={({ role }) => (
          <Button
            look="ghost"
            size="small"
            onClick={() =>
              void navigate({
                search: (before) => ({ ...before, tab: undefined, role: role ?? undefined }),
                replace: true,
                resetScroll: false,
              })
            }
          >
            Try as {role ?? "no role"}
          </Button>
        )}
        empty={null}
      />
    </Card>
  );
}

function rolesOfFunction({ functions, roles }: AccessMatrix, functionName: string): Row[] {
  const rows = matrixRowsOf({ functions: functions.filter(({ name }) => name === functionName), roles });
  return rows.flatMap((row) =>
    row.cells.map((cell, index) => {
      const role = roles[index] ?? null;
      return { ...cell, role, why: whyOf(row, cell, role) };
    }),
  );
}

const COLUMNS: Column<Row>[] = [
  {
    head: "Role",
    cell: ({ role }) =>
      role === null ? <span className="text-muted italic">no role</span> : <span className="font-medium">{role}</span>,
  },
  { head: "Verdict", cell: ({ verdict }) => <Status state={verdict} /> },
  {
    head: "Why",
    className: "sm:w-1/2 max-sm:[&>:last-child]:text-left",
    cell: ({ why }) => <span className="text-muted">{why}</span>,
  },
  { head: "Calls", align: "end", cell: ({ calls }) => <Count value={calls} /> },
  {
    head: "Refused",
    align: "end",
    cell: ({ denied }) => (
      <span className={denied > 0 ? "text-warn" : "text-faint"}>
        <Count value={denied} />
      </span>
    ),
  },
  { head: "Last", align: "end", from: "lg", cell: ({ lastAt }) => <Time at={lastAt} /> },
];
