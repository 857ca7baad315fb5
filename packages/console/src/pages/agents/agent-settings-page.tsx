import type { Agent, AgentDetail } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { ApiError } from "../../api/api-error.ts";
import { resource, useHasRole } from "../../api/api.ts";
import { formatCount } from "../../format/numbers.ts";
import { checkNumber } from "../../format/typed.ts";
import { GuardedButton } from "../../ui/button.tsx";
import { CopyableText } from "../../ui/copy.tsx";
import { Field, TextField } from "../../ui/form/field.tsx";
import { Card, Facts, Loaded, Loading, PageHeader } from "../../ui/page.tsx";
import { Select } from "../../ui/form/select.tsx";
import { Time } from "../../ui/values.tsx";
import { AgentSettingsForm, useSaveAgent } from "./agent-settings-form.tsx";
import { changeOf, draftOf, errorsByField, type ModelDraft, RETENTION_DAYS, validateDraft } from "./model-draft.ts";
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
] as const;

type GeneralDraft = Pick<Agent, "name" | "instructions" | "accessChanges"> & {
  callers: (typeof CALLERS)[number]["value"];
  /** As typed; empty for the default. */
  retentionDays: string;
};

/** A draft's changed settings; `null` clears a setting. */
function generalSettings(stored: GeneralDraft, { callers, retentionDays }: GeneralDraft) {
  const days = retentionDays.trim();
  return {
    ...(callers !== stored.callers && { callers }),
    ...(days !== stored.retentionDays && { retentionDays: days === "" ? null : Number(days) }),
  };
}

function General({ agent }: { agent: AgentDetail }) {
  // Only edited fields are kept here, so that the others follow changes made elsewhere.
  const [edited, setEdited] = useState<Partial<GeneralDraft>>({});
  const { callers = "optional", retentionDays } = agent.settings;
  const stored: GeneralDraft = { ...agent, callers, retentionDays: retentionDays?.toString() ?? "" };
  const draft: GeneralDraft = { ...stored, ...edited };
  const name = draft.name.trim();
  const { instructions, accessChanges } = draft;
  const settings = generalSettings(stored, draft);
  const setsAny = Object.keys(settings).length > 0;
  const retentionError = checkNumber(draft.retentionDays, RETENTION_DAYS);
  const dirty =
    name !== agent.name || instructions !== agent.instructions || accessChanges !== agent.accessChanges || setsAny;
  const save = useSaveAgent(agent.agentId, {
    change: () => ({ name, instructions, accessChanges, ...(setsAny && { settings }) }),
    edited,
    setEdited,
  });
  return (
    <AgentSettingsForm
      title="General"
      saveLabel="Save"
      save={save}
      dirty={dirty}
      valid={name !== "" && retentionError === undefined}
      error={save.error}
      onDiscard={() => setEdited({})}
    >
      <Facts
        items={[
          ["ID", <CopyableText text={agent.agentId} label="Copy agent ID" />],
          ["Created", <Time at={agent.createdAt} />],
        ]}
      />
      <GeneralFields
        draft={draft}
        retentionError={retentionError}
        onChange={(changed) => setEdited({ ...edited, ...changed })}
      />
    </AgentSettingsForm>
  );
}

interface GeneralFieldsProps {
  draft: GeneralDraft;
  retentionError: string | undefined;
  onChange: (changed: Partial<GeneralDraft>) => void;
}

function GeneralFields({ draft, retentionError, onChange }: GeneralFieldsProps) {
  const { name, instructions, accessChanges, callers, retentionDays } = draft;
  const readOnly = !useHasRole("developer");
  return (
    <>
      <TextField
        label="Name"
        required
        maxLength={200}
        readOnly={readOnly}
        value={name}
        onChange={(name) => onChange({ name })}
      />
      <TextField
        label="Instructions"
        hint={
          <span className="flex flex-wrap justify-between gap-x-4">
            <span>Sent to the model with every query; do not include secrets</span>
            <span>
              {formatCount(instructions.length)} of {formatCount(INSTRUCTIONS_LIMIT)} characters
            </span>
          </span>
        }
        rows={12}
        maxLength={INSTRUCTIONS_LIMIT}
        readOnly={readOnly}
        value={instructions}
        onChange={(instructions) => onChange({ instructions })}
      />
      <Field
        label="Functions that widen access"
        hint="The Access page lists deployments that allow a role more than before"
      >
        <Select
          options={ACCESS_CHANGES}
          disabled={readOnly}
          value={accessChanges}
          onChange={(next) => onChange({ accessChanges: next })}
        />
      </Field>
      <Field
        label="Caller tokens"
        hint="Whether requests with a key need a token of your identity provider in X-Patchbay-Caller"
      >
        <Select
          options={CALLERS}
          disabled={readOnly}
          value={callers}
          onChange={(next) => onChange({ callers: next })}
        />
      </Field>
      <TextField
        label="Retention in days"
        hint="Ended runs and their threads are deleted after this time, at most the organisation's"
        placeholder="The organisation's"
        inputMode="numeric"
        readOnly={readOnly}
        error={retentionError}
        value={retentionDays}
        onChange={(retentionDays) => onChange({ retentionDays })}
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
function ModelSettings({ agent: { agentId, settings } }: { agent: AgentDetail }) {
  // Only edited fields are kept here, so that the others follow changes made elsewhere.
  const [edited, setEdited] = useState<Partial<ModelDraft>>({});
  const draft = { ...draftOf(settings), ...edited };
  const invalid = validateDraft(draft);
  const valid = Object.keys(invalid).length === 0;
  const dirty = !valid || Object.keys(changeOf(settings, draft)).length > 0;
  const save = useSaveAgent(agentId, {
    change: () => ({ settings: changeOf(settings, draft) }),
    edited,
    setEdited,
  });
  const rejected = save.error instanceof ApiError ? errorsByField(save.error.details) : {};
  const change = (next: Partial<ModelDraft>) => {
    setEdited(next);
    save.reset();
  };
  return (
    <AgentSettingsForm
      title="Model"
      description="Empty fields use the default"
      noValidate
      saveLabel="Save model settings"
      save={save}
      dirty={dirty}
      valid={valid}
      error={Object.keys(rejected).length > 0 ? undefined : save.error}
      onDiscard={() => change({})}
    >
      <ModelFields
        draft={draft}
        errors={{ ...rejected, ...invalid }}
        onChange={(changed) => change({ ...edited, ...changed })}
      />
    </AgentSettingsForm>
  );
}
