import { useHasRole } from "../../api/api.ts";
import { approvalText } from "../../format/approval.ts";
import { toFunction, toPage } from "../../state/addresses.ts";
import { LinkButton, TextLink } from "../../ui/button.tsx";
import { Drawer } from "../../ui/form/dialog.tsx";
import { Facts, Section } from "../../ui/page.tsx";
import { Badge, Count, fieldLabel, Status, Time } from "../../ui/values.tsx";
import { type FoundCell, roleLabel, verdictText, whyOf } from "../../parts/access/matrix-model.ts";

/** The verdict for one function and role, its calls, and links to its runs and to a test call. */
export function CellPanel({ agentId, found, onClose }: { agentId: string; found: FoundCell; onClose: () => void }) {
  const { row, cell, role } = found;
  return (
    <Drawer
      open
      onClose={onClose}
      title={<span className="font-mono text-base">{row.name}</span>}
      description={role === null ? "without a role" : `as ${role}`}
      footer={<Actions agentId={agentId} found={found} />}
    >
      <section>
        {cell.verdict === "approval" ? (
          <Badge tone="warn" icon="clock">
            {verdictText(row, cell)}
          </Badge>
        ) : (
          <Status state={cell.verdict} />
        )}
        <p className="mt-2 text-pretty">{whyOf(row, cell, role)}</p>
      </section>
      {cell.cases.length > 0 && (
        <section aria-label="Cases">
          <h3 className="mb-1 font-semibold">Cases</h3>
          <p className="text-muted mb-2 text-sm">Decided by the owner's code when the runtime connected.</p>
          <Facts
            items={cell.cases.map(({ name, verdict }) => [
              <span className="font-mono text-xs">{name}</span>,
              <Status state={verdict} />,
            ])}
          />
        </section>
      )}
      <Section title="Last 30 days">
        <Facts
          items={[
            ["Allowed calls", <Count value={cell.calls} />],
            ["Denied calls", <DeniedCalls agentId={agentId} found={found} />],
            ["Last call", <Time at={cell.lastAt} />],
          ]}
        />
      </Section>
      <Section title="Function">
        <Facts
          items={[
            ["Effect", row.effect],
            ["Approval", row.approval ? approvalText(row.approval) : <span className="text-faint">of no call</span>],
            [
              "Restricted fields",
              row.restrictedFields.length === 0 ? (
                <span className="text-faint">none</span>
              ) : (
                <RestrictedFields fields={row.restrictedFields} />
              ),
            ],
          ]}
        />
      </Section>
      <section className="text-muted text-sm">
        <h3 className="text-text mb-1 font-semibold">Enforcement</h3>
        {cell.verdict === "denied"
          ? `The control plane hides the function from the model for ${roleLabel(role)}; the control plane and your runtime both deny a call.`
          : `The control plane shows the function to the model; your runtime checks every call again before the function runs.${row.approval ? " A call that needs approval waits until a person decides." : ""}`}
      </section>
    </Drawer>
  );
}

const RestrictedFields = ({ fields }: { fields: readonly string[] }) => (
  <span className="grid gap-1">
    <span className="flex flex-wrap gap-1">
      {fields.map((field) => (
        <code key={field} className="bg-sunken border-line rounded border px-1 font-mono text-xs">
          {fieldLabel(field)}
        </code>
      ))}
    </span>
    <span className="text-muted text-xs">Restricted to some roles; removed from results for the others.</span>
  </span>
);

/** Search parameters for the runs that called this function as this role. */
const runsOf = ({ row, role }: FoundCell) => ({
  functionName: row.name,
  range: "30d" as const,
  ...(role !== null && { role }),
});

function DeniedCalls({ agentId, found }: { agentId: string; found: FoundCell }) {
  const { denied } = found.cell;
  if (denied === 0) return <Count value={0} />;
  return (
    <>
      <Count value={denied} />{" "}
      <TextLink {...toPage(agentId, "runs")} search={{ ...runsOf(found), trouble: "denied" }}>
        Show runs
      </TextLink>
    </>
  );
}

function Actions({ agentId, found }: { agentId: string; found: FoundCell }) {
  const mayTest = useHasRole("developer");
  const { row, role } = found;
  const search = role === null ? {} : { role };
  return (
    <>
      <LinkButton {...toPage(agentId, "runs")} search={runsOf(found)} icon="run">
        Runs with this call
      </LinkButton>
      <LinkButton {...toFunction(agentId, row.name)} search={search} look="primary" icon="function">
        {mayTest ? (role === null ? "Test without a role" : "Test as this role") : "Open function"}
      </LinkButton>
    </>
  );
}
