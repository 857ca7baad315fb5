import type { AuditItem } from "@patchbay/protocol/console";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Facts } from "../../ui/card.tsx";
import { Json } from "../../ui/code.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { Time } from "../../ui/figures.tsx";
import { Badge } from "../../ui/status.tsx";
import { lookOf } from "./action-look.ts";

/** All that was noted of one entry, with ways to what it is about. */
export function EntryPanel({
  entry,
  agentName,
  onClose,
}: {
  entry: AuditItem;
  agentName: string | undefined;
  onClose: () => void;
}) {
  return (
    <Drawer open onClose={onClose} title="Audit entry" description={<Time at={entry.at} exact />}>
      <div className="grid gap-5">
        <div className="grid justify-items-start gap-2">
          <Badge {...lookOf(entry.action)}>{entry.action}</Badge>
          <p className="text-pretty">{entry.sentence}</p>
        </div>
        <Facts items={factsOf(entry, agentName)} />
        {entry.detail !== null && Object.keys(entry.detail).length > 0 && (
          <section>
            <h3 className="mb-2 font-semibold">Detail</h3>
            <Json value={entry.detail} name="Detail" />
          </section>
        )}
      </div>
    </Drawer>
  );
}

const linkClass = "text-accent underline underline-offset-2";

type Fact = [name: string, value: ReactNode];

function factsOf(entry: AuditItem, agentName: string | undefined): Fact[] {
  const { agentId, runId, callId, role, functionName, rule } = entry;
  const facts: (Fact | false)[] = [
    ["By", <By key="by" entry={entry} />],
    agentId !== null && [
      "Agent",
      <Link key="agent" to="/agents/$agentId" params={{ agentId }} className={linkClass}>
        {agentName ?? agentId}
      </Link>,
    ],
    agentId !== null &&
      runId !== null && [
        "Run",
        <Id key="run" id={runId}>
          <Link
            to="/agents/$agentId/runs/$runId"
            params={{ agentId, runId }}
            search={callId === null ? {} : { span: callId }}
            className={linkClass}
          >
            {runId}
          </Link>
        </Id>,
      ],
    callId !== null && ["Call", <Id key="call" id={callId} />],
    (runId !== null || role !== null) && ["Role", role ?? <span className="text-faint">none</span>],
    functionName !== null && [
      "Function",
      agentId === null ? (
        functionName
      ) : (
        <Link
          key="function"
          to="/agents/$agentId/functions/$functionName"
          params={{ agentId, functionName }}
          className={`${linkClass} font-mono text-xs`}
        >
          {functionName}
        </Link>
      ),
    ],
    rule !== null && [
      "Rule",
      <code key="rule" className="font-mono text-xs">
        {rule}
      </code>,
    ],
    ["Entry", <Id key="id" id={entry.id} />],
  ];
  return facts.filter((fact) => fact !== false);
}

/** A member by name; a key or token leads to its page. */
function By({ entry: { member, keyId, agentId } }: { entry: AuditItem }) {
  if (keyId === null) return <>{member ?? "the operator, at the command line"}</>;
  const isMember = keyId.startsWith("mem_");
  return (
    <>
      {member !== null && <span className="block">{member}</span>}
      <Id id={keyId}>
        {isMember || agentId === null ? undefined : (
          <Link to="/agents/$agentId/keys" params={{ agentId }} search={{ key: keyId }} className={linkClass}>
            {keyId}
          </Link>
        )}
      </Id>
    </>
  );
}

function Id({ id, children = id }: { id: string; children?: ReactNode }) {
  return (
    <span className="flex min-w-0 items-start gap-1">
      <code className="min-w-0 font-mono text-xs leading-5 break-all">{children}</code>
      <span className="-my-1">
        <CopyButton text={id} label="Copy id" />
      </span>
    </span>
  );
}
