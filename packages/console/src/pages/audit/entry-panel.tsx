import type { AuditItem } from "@patchbay/protocol/console";
import { toAgent, toFunction, toPage, toRun } from "../../state/addresses.ts";
import { TextLink } from "../../ui/button.tsx";
import { CopyableText } from "../../ui/copy.tsx";
import { Drawer } from "../../ui/form/dialog.tsx";
import type { IconName } from "../../ui/icon.tsx";
import { Json } from "../../ui/text/json.tsx";
import { type Fact, Facts, Section } from "../../ui/page.tsx";
import type { Option } from "../../ui/form/select.tsx";
import { Badge, Time, type Tone } from "../../ui/values.tsx";

interface EntryPanelProps {
  entry: AuditItem;
  agentName: string | undefined;
  onClose: () => void;
}

/** One entry's details, with links to its agent, run, function and key. */
export const EntryPanel = ({ entry, agentName, onClose }: EntryPanelProps) => (
  <Drawer open onClose={onClose} title="Audit entry" description={<Time at={entry.at} exact />}>
    <div className="grid justify-items-start gap-2">
      <Action {...entry} />
      <p className="text-pretty">{entry.sentence}</p>
    </div>
    <Facts items={factsOf(entry, agentName)} />
    {entry.detail !== null && Object.keys(entry.detail).length > 0 && (
      <Section title="Detail">
        <Json value={entry.detail} name="Detail" />
      </Section>
    )}
  </Drawer>
);

function factsOf(entry: AuditItem, agentName: string | undefined): (Fact | false)[] {
  const { agentId, runId, callId, role, functionName, rule } = entry;
  return [
    ["By", <By entry={entry} />],
    agentId !== null && ["Agent", <TextLink {...toAgent(agentId)}>{agentName ?? agentId}</TextLink>],
    agentId !== null &&
      runId !== null && [
        "Run",
        <CopyableText text={runId} label="Copy ID">
          <TextLink {...toRun(agentId, runId)} search={callId === null ? {} : { span: callId }}>
            {runId}
          </TextLink>
        </CopyableText>,
      ],
    callId !== null && ["Call", <CopyableText text={callId} label="Copy ID" />],
    (runId !== null || role !== null) && ["Role", role ?? <span className="text-faint">none</span>],
    functionName !== null && [
      "Function",
      agentId === null ? (
        functionName
      ) : (
        <TextLink {...toFunction(agentId, functionName)} className="font-mono text-xs">
          {functionName}
        </TextLink>
      ),
    ],
    rule !== null && ["Rule", <code className="font-mono text-xs">{rule}</code>],
    ["Entry", <CopyableText text={entry.id} label="Copy ID" />],
  ];
}

/** The member by name, or the key or token with a link to it. */
function By({ entry: { member, keyLabel, keyId, agentId } }: { entry: AuditItem }) {
  if (keyId === null) return <>{member ?? "operator (CLI)"}</>;
  const isMember = keyId.startsWith("mem_");
  return (
    <>
      {(member ?? keyLabel) !== null && <span className="block">{member ?? keyLabel}</span>}
      <CopyableText text={keyId} label="Copy ID">
        {isMember || agentId === null || keyId.startsWith("svt_") ? undefined : (
          <TextLink {...toPage(agentId, "keys")} search={{ key: keyId }}>
            {keyId}
          </TextLink>
        )}
      </CopyableText>
    </>
  );
}

/** Filter choices: an action, or the prefix for several. */
export const ACTION_GROUPS: readonly (Option & { icon?: IconName })[] = [
  { value: "run", label: "Queries", icon: "run" },
  { value: "query", label: "Rejected requests" },
  { value: "call", label: "Calls", icon: "function" },
  { value: "call.denied", label: "Denied calls" },
  { value: "call.redacted", label: "Removed fields" },
  { value: "call.deprecated", label: "Deprecated functions" },
  { value: "approval", label: "Approvals" },
  { value: "access", label: "Policy mismatches" },
  { value: "key", label: "API keys", icon: "key" },
  { value: "runtime_key", label: "Runtime keys", icon: "key" },
  { value: "token", label: "Access tokens", icon: "key" },
  { value: "service_token", label: "Service tokens" },
  { value: "agent", label: "Agents", icon: "agent" },
  { value: "thread", label: "Threads", icon: "thread" },
  { value: "member", label: "Members", icon: "members" },
  { value: "org", label: "Organisation", icon: "organisation" },
  { value: "credits", label: "Credits", icon: "credit" },
];

interface Look {
  tone: Tone;
  icon: IconName;
}

/** Looks by an action's last part, where it states the outcome. */
const LOOKS_BY_OUTCOME: Record<string, Look> = {
  denied: { tone: "warn", icon: "denied" },
  refused: { tone: "warn", icon: "denied" },
  redacted: { tone: "warn", icon: "key" },
  late: { tone: "warn", icon: "clock" },
  failed: { tone: "bad", icon: "failed" },
  cancelled: { tone: "idle", icon: "stopped" },
  disagreement: { tone: "bad", icon: "alert" },
  revoked: { tone: "bad", icon: "denied" },
  deleted: { tone: "bad", icon: "trash" },
  erased: { tone: "bad", icon: "trash" },
  removed: { tone: "bad", icon: "trash" },
  succeeded: { tone: "ok", icon: "succeeded" },
};

/** An entry's action. A cancelled run or call is stored as failed, with the rule `cancelled`. */
export function Action({ action, rule }: Pick<AuditItem, "action" | "rule">) {
  const shown = rule === "cancelled" ? action.replace(/\.failed$/, ".cancelled") : action;
  return <Badge {...lookOf(shown)}>{shown}</Badge>;
}

/** An action's icon and tone; neutral for actions from later versions. */
function lookOf(action: string): Look {
  const dot = action.indexOf(".");
  const subject = ACTION_GROUPS.find(({ value }) => value === action.slice(0, Math.max(dot, 0)));
  return LOOKS_BY_OUTCOME[action.slice(dot + 1)] ?? { tone: "idle", icon: subject?.icon ?? "audit" };
}
