import type { ConsoleApproval } from "@patchbay/protocol/console";
import { useState } from "react";
import { useAction } from "../../api/action.ts";
import { api, refetch } from "../../api/api.ts";
import { JsonEditor } from "../../parts/schema-form/arguments-form.tsx";
import { toAgent, toRun } from "../../state/addresses.ts";
import { GuardedButton, TextLink } from "../../ui/button.tsx";
import { CopyableText } from "../../ui/copy.tsx";
import { Drawer } from "../../ui/form/dialog.tsx";
import { Field, TextField } from "../../ui/form/field.tsx";
import { Json } from "../../ui/text/json.tsx";
import { type Fact, Facts, Fault, Section } from "../../ui/page.tsx";
import { Select } from "../../ui/form/select.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { Status, Time, useHasPassed } from "../../ui/values.tsx";

interface PanelProps {
  approval: ConsoleApproval;
  agentName: string;
  onClose: () => void;
}

/** One approval with its arguments. A developer or an owner decides on it while it is pending. */
export function ApprovalPanel({ approval, agentName, onClose }: PanelProps) {
  const expired = useHasPassed(approval.expiresAt);
  const open = approval.status === "pending" && !expired;
  return (
    <Drawer open wide onClose={onClose} title={approval.toolName} description={approval.reason}>
      <Facts items={factsOf(approval, agentName, expired)} />
      <Section title="Arguments">
        <Json value={approval.parameters} name="Arguments" />
      </Section>
      {approval.edited !== undefined && (
        <Section title="Arguments that the approver changed">
          <Changes before={approval.parameters} after={approval.edited} />
        </Section>
      )}
      {open && <DecisionForm approval={approval} onDecided={onClose} />}
      {approval.status === "pending" && expired && (
        <p role="status" className="text-muted text-sm">
          The request has expired. The call was not run.
        </p>
      )}
    </Drawer>
  );
}

function factsOf(approval: ConsoleApproval, agentName: string, expired: boolean): (Fact | false)[] {
  const { agentId, runId, status, role, requestedBy, requestedAt, expiresAt, approvalId } = approval;
  const { flow, decidedBy, decidedAs, decidedAt, decisionReason } = approval;
  return [
    ["Status", <Status state={status === "pending" && expired ? "expired" : status} />],
    ["Agent", <TextLink {...toAgent(agentId)}>{agentName}</TextLink>],
    [
      "Run",
      <TextLink {...toRun(agentId, runId)} search={{ span: approval.toolCallId }}>
        {runId}
      </TextLink>,
    ],
    flow !== undefined && ["Data-flow rule", `${flow.rule}, for ${flow.member}`],
    flow !== undefined && ["Value from", sourceOf(approval, flow.source)],
    ["Run role", role ?? "none"],
    ["Requested by", requestedBy],
    ["Requested", <Time at={requestedAt} exact />],
    [
      "Expires",
      <>
        <Time at={expiresAt} exact /> (<Time at={expiresAt} />)
      </>,
    ],
    ["Approval", <CopyableText text={approvalId} label="Copy ID" />],
    decidedBy !== undefined && ["Decided by", `${decidedBy} as ${decidedAs ?? "–"}`],
    decidedAt !== undefined && ["Decided", <Time at={decidedAt} exact />],
    decisionReason !== undefined && ["Reason", decisionReason],
  ];
}

/** Where the value comes from that the data-flow rules ask about, with a link to its call. */
function sourceOf({ agentId, runId }: ConsoleApproval, source: NonNullable<ConsoleApproval["flow"]>["source"]) {
  if (source === "model") return "the model: no result has it";
  return (
    <TextLink {...toRun(agentId, runId)} search={{ span: source.toolCallId }}>
      {source.toolName}, {source.path}
    </TextLink>
  );
}

/** What the member may state as the decision's role: the roles in `by`, with `caller` as the run's role. */
function rolesOf({ by, role }: ConsoleApproval): string[] {
  const roles = by.flatMap((name) => (name === "caller" ? (role ?? []) : [name]));
  return [...new Set(roles)];
}

/** The member's value; `ok` is false for text that is not JSON. An empty text leaves the member out. */
function readMember(text: string): { ok: boolean; value?: unknown } {
  try {
    return text.trim() === "" ? { ok: true } : { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}

type Members = Record<string, unknown>;

function DecisionForm({ approval, onDecided }: { approval: ConsoleApproval; onDecided: () => void }) {
  const { agentId, approvalId, edit, toolName } = approval;
  const roles = rolesOf(approval);
  const [as, setAs] = useState(roles[0] ?? "");
  const [reason, setReason] = useState("");
  const before = (approval.parameters ?? {}) as Members;
  const [texts, setTexts] = useState<Record<string, string>>(() =>
    Object.fromEntries(edit.map((name) => [name, JSON.stringify(before[name]) ?? ""])),
  );
  const read = Object.entries(texts).map(([name, text]) => [name, readMember(text)] as const);
  const faulty = read.some(([, { ok }]) => !ok);
  const kept = Object.entries(before).filter(([name]) => !edit.includes(name));
  const written = read.flatMap(([name, { value }]) => (value === undefined ? [] : [[name, value] as const]));
  const after: Members = Object.fromEntries([...kept, ...written]);
  const changed = edit.some((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));

  const decide = useAction({
    mutationFn: (approved: boolean) =>
      api.post("/agents/:agent_id/approvals/:approval_id/decision", {
        params: { agentId, approvalId },
        body: {
          approved,
          as,
          ...(reason.trim() !== "" && { reason: reason.trim() }),
          ...(approved && changed && { arguments: after as never }),
        },
      }),
    onSuccess: ({ status }) => {
      showSuccess(`${status === "approved" ? "Approved" : "Rejected"} ${toolName}`);
      onDecided();
    },
    onSettled: () => refetch("/approvals"),
  });
  const button = { needs: "developer", disabled: roles.length === 0, busy: decide.isPending } as const;
  return (
    <section className="border-line grid gap-4 border-t pt-4" aria-label="Decision">
      <h3 className="font-semibold">Decision</h3>
      {edit.map((name) => (
        <Field key={name} label={`Change ${name}`} hint="JSON. The other arguments do not change.">
          <JsonEditor
            label={`Change ${name}`}
            rows={2}
            text={texts[name] ?? ""}
            onChange={(text) => setTexts({ ...texts, [name]: text })}
          />
        </Field>
      ))}
      {changed && <Changes before={before} after={after} />}
      {roles.length > 1 && (
        <Field label="Decide as" hint="The function's roles that may decide">
          <Select options={roles.map((role) => ({ value: role, label: role }))} value={as} onChange={setAs} />
        </Field>
      )}
      <TextField
        label="Reason"
        hint="Stored with the decision. The model and the caller read the reason of a rejection."
        maxLength={2_000}
        rows={2}
        value={reason}
        onChange={setReason}
      />
      <Fault error={decide.error} />
      <div className="flex flex-wrap gap-2">
        <GuardedButton
          {...button}
          look="primary"
          icon="check"
          disabled={button.disabled || faulty}
          onClick={() => decide.mutate(true)}
        >
          Approve
        </GuardedButton>
        <GuardedButton {...button} look="danger" icon="close" onClick={() => decide.mutate(false)}>
          Reject
        </GuardedButton>
      </div>
    </section>
  );
}

/** The members that differ, before and after. */
function Changes({ before, after }: { before: unknown; after: unknown }) {
  const [was, is] = [(before ?? {}) as Members, (after ?? {}) as Members];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const text = (value: unknown) => (value === undefined ? "absent" : JSON.stringify(value));
  return (
    <ul aria-label="Changed arguments" className="grid gap-1 font-mono text-xs break-words">
      {names
        .filter((name) => text(was[name]) !== text(is[name]))
        .map((name) => (
          <li key={name}>
            {name}: <del className="text-bad">{text(was[name])}</del> →{" "}
            <ins className="text-ok no-underline">{text(is[name])}</ins>
          </li>
        ))}
    </ul>
  );
}
