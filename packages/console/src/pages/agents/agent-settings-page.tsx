import type { Agent, AgentDetail } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { resource, useHasRole } from "../../api/api.ts";
import { formatCount } from "../../format/numbers.ts";
import { checkNumber } from "../../format/typed.ts";
import { GuardedButton } from "../../ui/button.tsx";
import { CopyableText } from "../../ui/copy.tsx";
import { Field, TextField } from "../../ui/form/field.tsx";
import { Card, Facts, Loaded, Loading, PageHeader } from "../../ui/page.tsx";
import { Select } from "../../ui/form/select.tsx";
import { Time } from "../../ui/values.tsx";
import { AgentSettingsForm } from "./agent-settings-form.tsx";
import { changeOf, draftOf, errorsByField, RETENTION_DAYS, validateDraft } from "./model-draft.ts";
import { ModelFields } from "./model-fields.tsx";

const DeleteAgent = lazy(async () => ({ default: (await import("./agent-dialogs.tsx")).DeleteAgent }));

const route = getRouteApi("/shell/agents/$agentId/settings");

/** An agent's name, instructions, settings for widened access, callers and the model, and its deletion. */
export function AgentSettingsPage() {
  const { agentId } = route.useParams();
  const query = useQuery(resource("/agents/:agent_id", { params: { agentId } }));
  return (
    <>
      <PageHeader title="Agent settings" />
      <Loaded query={query} loading={<Loading block="h-96 max-w-4xl rounded-lg" />}>
        {(agent) => (
          <div className="grid max-w-4xl gap-5">
            <General agent={agent} />
            <ModelSettings agent={agent} />
            {agent.functions !== null && <ServiceInstructions agentId={agentId} />}
            <DeleteCard agent={agent} />
          </div>
        )}
      </Loaded>
    </>
  );
}

const INSTRUCTIONS_LIMIT = 20_000;

const ACCESS_CHANGES = [
  { value: "follow", label: "Use them immediately" },
  { value: "confirm", label: "Wait for confirmation by a developer or owner" },
] as const;

const CALLERS = [
  { value: "optional", label: "Not needed" },
  { value: "required", label: "Required with every request" },
  { value: "keyless", label: "Enough without a key" },
] as const;

/** A select has no empty value for "the service's own mode". */
const FLOWS = [
  { value: "service", label: "As each service says" },
  { value: "report", label: "At least count them" },
  { value: "ask", label: "At least ask a person" },
  { value: "deny", label: "Refuse them" },
] as const;

type GeneralDraft = Pick<Agent, "name" | "instructions" | "accessChanges"> & {
  callers: (typeof CALLERS)[number]["value"];
  flows: (typeof FLOWS)[number]["value"];
  /** Comma-separated. */
  callerClaims: string;
  /** As typed; empty for the default. */
  retentionDays: string;
};

/** The request that saves a draft; of the settings only the changed ones. `null` clears a setting. */
function generalChange(stored: GeneralDraft, draft: GeneralDraft) {
  const { name, instructions, accessChanges, callers, flows, callerClaims } = draft;
  const days = draft.retentionDays.trim();
  const settings = {
    ...(flows !== stored.flows && { flows: flows === "service" ? null : flows }),
    ...(callers !== stored.callers && { callers }),
    ...(callerClaims !== stored.callerClaims && { callerClaims: callerClaims.split(/[\s,]+/).filter(Boolean) }),
    ...(days !== stored.retentionDays && { retentionDays: days === "" ? null : Number(days) }),
  };
  return { name: name.trim(), instructions, accessChanges, ...(Object.keys(settings).length > 0 && { settings }) };
}

function General({ agent }: { agent: AgentDetail }) {
  const { agentId, createdAt } = agent;
  const { callers = "optional", flows = "service", callerClaims = [], retentionDays } = agent.settings;
  const stored: GeneralDraft = {
    ...agent,
    callers,
    flows,
    callerClaims: callerClaims.join(", "),
    retentionDays: retentionDays?.toString() ?? "",
  };
  return (
    <AgentSettingsForm
      agentId={agentId}
      title="General"
      saveLabel="Save"
      stored={stored}
      isValid={(draft) => draft.name.trim() !== "" && retentionError(draft) === undefined}
      changeOf={(draft) => generalChange(stored, draft)}
    >
      {(draft, onChange) => (
        <>
          <Facts
            items={[
              ["ID", <CopyableText text={agentId} label="Copy agent ID" />],
              ["Created", <Time at={createdAt} />],
            ]}
          />
          <GeneralFields draft={draft} onChange={onChange} />
        </>
      )}
    </AgentSettingsForm>
  );
}

const retentionError = ({ retentionDays }: GeneralDraft) => checkNumber(retentionDays, RETENTION_DAYS);

interface GeneralFieldsProps {
  draft: GeneralDraft;
  onChange: (changed: Partial<GeneralDraft>) => void;
}

function GeneralFields({ draft, onChange }: GeneralFieldsProps) {
  const readOnly = !useHasRole("developer");
  const field = <Name extends keyof GeneralDraft>(name: Name) => ({
    value: draft[name],
    onChange: (value: GeneralDraft[Name]) => onChange({ [name]: value }),
  });
  return (
    <>
      <TextField {...field("name")} label="Name" required maxLength={200} readOnly={readOnly} />
      <TextField
        {...field("instructions")}
        label="Instructions"
        hint={
          <span className="flex flex-wrap justify-between gap-x-4">
            <span>Sent to the model with every query; do not include secrets</span>
            <span>
              {formatCount(draft.instructions.length)} of {formatCount(INSTRUCTIONS_LIMIT)} characters
            </span>
          </span>
        }
        rows={12}
        maxLength={INSTRUCTIONS_LIMIT}
        readOnly={readOnly}
      />
      <Field
        label="Functions that widen access"
        hint="The Access page lists deployments that allow a role more than before"
      >
        <Select {...field("accessChanges")} options={ACCESS_CHANGES} disabled={readOnly} />
      </Field>
      <Field
        label="Caller tokens"
        hint="Whether requests need a token of your identity provider, or may come with only such a token"
      >
        <Select {...field("callers")} options={CALLERS} disabled={readOnly} />
      </Field>
      <TextField
        {...field("callerClaims")}
        label="Claims for functions"
        hint="Claims of caller tokens that functions receive; the model never sees them"
        placeholder="email, department"
        readOnly={readOnly}
      />
      <Field
        label="Data-flow rules"
        hint="What happens to calls that the rules of a service do not allow, where the service's own mode is milder"
      >
        <Select {...field("flows")} options={FLOWS} disabled={readOnly} />
      </Field>
      <TextField
        {...field("retentionDays")}
        label="Retention in days"
        hint="Ended runs and their threads are deleted after this time, at most the organisation's"
        placeholder="The organisation's"
        inputMode="numeric"
        readOnly={readOnly}
        error={retentionError(draft)}
      />
    </>
  );
}

/** Shows the instructions that the owner's code defines for the model; read-only. */
function ServiceInstructions({ agentId }: { agentId: string }) {
  const { data } = useQuery(resource("/agents/:agent_id/functions", { params: { agentId } }));
  if (!data?.instructions) return null;
  return (
    <Card
      title="Service instructions"
      description={`Defined in the code of ${data.service}; sent after the instructions above`}
    >
      <p className="max-w-prose text-sm whitespace-pre-wrap">{data.instructions}</p>
    </Card>
  );
}

function DeleteCard({ agent }: { agent: Agent }) {
  const [confirming, setConfirming] = useState(false);
  return (
    <Card title="Delete this agent">
      <div className="flex flex-wrap items-center justify-between gap-4">
        <p className="text-muted max-w-prose text-sm text-pretty">
          Its keys stop working immediately and its pages are deleted; the audit log keeps its entries. This cannot be
          undone.
        </p>
        <GuardedButton needs="owner" look="danger" icon="trash" onClick={() => setConfirming(true)}>
          Delete agent
        </GuardedButton>
      </div>
      <Suspense>{confirming && <DeleteAgent agent={agent} onClose={() => setConfirming(false)} />}</Suspense>
    </Card>
  );
}

/** Which model the agent's runs use, with which settings, and what a query may override. */
const ModelSettings = ({ agent: { agentId, settings } }: { agent: AgentDetail }) => (
  <AgentSettingsForm
    agentId={agentId}
    title="Model"
    description="Empty fields use the default"
    noValidate
    saveLabel="Save model settings"
    stored={draftOf(settings)}
    isValid={(draft) => Object.keys(validateDraft(draft)).length === 0}
    changeOf={(draft) => ({ settings: changeOf(settings, draft) })}
    errorsOf={errorsByField}
  >
    {(draft, onChange, rejected) => (
      <ModelFields draft={draft} errors={{ ...rejected, ...validateDraft(draft) }} onChange={onChange} />
    )}
  </AgentSettingsForm>
);
