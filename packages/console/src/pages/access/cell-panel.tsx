import { Link } from "@tanstack/react-router";
import { useMay } from "../../state/session.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Facts } from "../../ui/card.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { Count, Time } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Status } from "../../ui/status.tsx";
import { roleLabel, whyOf, type FoundCell } from "./matrix-model.ts";

/** Everything about one function and role, with ways to see it at work. */
export function CellPanel({ agentId, found, onClose }: { agentId: string; found: FoundCell; onClose: () => void }) {
  const { row, cell, role } = found;
  return (
    <Drawer
      open
      onClose={onClose}
      title={<span className="font-mono text-base">{row.name}</span>}
      description={role === null ? "without a role" : `as ${role}`}
      footer={<Ways agentId={agentId} found={found} />}
    >
      <div className="grid gap-5">
        <section>
          <Status state={cell.verdict} />
          <p className="mt-2 text-pretty">{whyOf(row, cell, role)}</p>
        </section>
        <section>
          <h3 className="mb-2 font-semibold">Last 30 days</h3>
          <Facts
            items={[
              ["Calls let through", <Count key="calls" value={cell.calls} />],
              ["Calls refused", <Refusals key="denied" agentId={agentId} found={found} />],
              ["Last call", <Time key="last" at={cell.lastAt} />],
            ]}
          />
        </section>
        <section>
          <h3 className="mb-2 font-semibold">The function</h3>
          <Facts
            items={[
              ["Effect", row.effect],
              [
                "Protected members",
                row.protectedMembers.length === 0 ? (
                  <span className="text-faint">none</span>
                ) : (
                  <ProtectedMembers members={row.protectedMembers} />
                ),
              ],
            ]}
          />
        </section>
        <section className="text-muted text-sm">
          <h3 className="text-text mb-1 font-semibold">How it is held</h3>
          {cell.verdict === "denied"
            ? `The control plane leaves the function out of what the model is shown for ${roleLabel(role)}. A call of it all the same is refused there, and once more by the runtime.`
            : "The control plane shows the function to the model. Every call is judged again by the runtime, beside the owner's data, before the function runs."}
        </section>
      </div>
    </Drawer>
  );
}

function ProtectedMembers({ members }: { members: readonly string[] }) {
  return (
    <span className="grid gap-1">
      <span className="flex flex-wrap gap-1">
        {members.map((member) => (
          <code key={member} className="bg-sunken border-line rounded border px-1 font-mono text-xs">
            {member === "$" ? "the whole result" : member}
          </code>
        ))}
      </span>
      <span className="text-muted text-xs">For some roles alone. The runtime withholds them from the others.</span>
    </span>
  );
}

/** What runs of this function and role are found by. */
const runsOf = ({ row, role }: FoundCell) => ({
  functionName: row.name,
  range: "30d" as const,
  ...(role !== null && { role }),
});

function Refusals({ agentId, found }: { agentId: string; found: FoundCell }) {
  const { denied } = found.cell;
  if (denied === 0) return <Count value={0} />;
  return (
    <>
      <Count value={denied} />{" "}
      <Link
        to="/agents/$agentId/runs"
        params={{ agentId }}
        search={{ ...runsOf(found), trouble: "denied" }}
        className="text-accent underline underline-offset-2"
      >
        in these runs
      </Link>
    </>
  );
}

function Ways({ agentId, found }: { agentId: string; found: FoundCell }) {
  const mayTry = useMay("developer");
  const { row, role } = found;
  return (
    <>
      <Link to="/agents/$agentId/runs" params={{ agentId }} search={runsOf(found)} className={buttonClass()}>
        <Icon name="run" className="size-3.5" />
        Runs with this call
      </Link>
      <Link
        to="/agents/$agentId/functions/$functionName"
        params={{ agentId, functionName: row.name }}
        search={role === null ? {} : { role }}
        className={buttonClass("primary")}
      >
        <Icon name="function" className="size-3.5" />
        {mayTry ? (role === null ? "Try without a role" : "Try as this role") : "Open the function"}
      </Link>
    </>
  );
}
