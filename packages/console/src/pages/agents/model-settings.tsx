import type { AgentDetail } from "@patchbay/protocol/console";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../../api/api-error.ts";
import { api } from "../../api/api.ts";
import { resource } from "../../api/queries.ts";
import { useMay } from "../../state/session.ts";
import { tellDone } from "../../state/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Field, Input, Textarea } from "../../ui/field.tsx";
import { GuardedButton } from "../../ui/guarded-button.tsx";
import { Select } from "../../ui/select.tsx";
import { Fault } from "../../ui/states.tsx";
import { Checkbox } from "../../ui/toggle.tsx";
import { FallbackList, PROVIDERS } from "./fallback-list.tsx";
import { LeaveQuestion } from "./leave-question.tsx";
import {
  changeOf,
  draftOf,
  faultsByField,
  faultsOfDraft,
  OVERRIDES,
  type ModelDraft,
  type ModelFaults,
  type Override,
} from "./model-draft.ts";

/** How the runs of an agent ask their model, and what of it a query may change. */
export function ModelSettings({ agent: { agentId, settings } }: { agent: AgentDetail }) {
  const queries = useQueryClient();
  // Undefined while it is as it is stored, so that a change made elsewhere shows.
  const [edited, setEdited] = useState<Partial<ModelDraft>>({});
  const draft = { ...draftOf(settings), ...edited };
  const typed = faultsOfDraft(draft);
  const hasFaults = Object.keys(typed).length > 0;
  const dirty = hasFaults || Object.keys(changeOf(settings, draft)).length > 0;
  const save = useMutation({
    mutationFn: () =>
      api.patch("/agents/:agent_id", {
        params: { agent_id: agentId },
        body: { settings: changeOf(settings, draft) },
      }),
    onSuccess: (saved) => {
      queries.setQueryData(resource("/agents/:agent_id", { params: { agent_id: agentId } }).queryKey, saved);
      setEdited({});
      tellDone("Saved", "It holds from the next query on.");
    },
  });
  const found = save.error instanceof ApiError ? faultsByField(save.error.details) : {};
  const isPlaced = Object.keys(found).length > 0;
  function change(changed: Partial<ModelDraft>) {
    setEdited({ ...edited, ...changed });
    save.reset();
  }
  return (
    <Card title="Model" description="Fields that are left empty have the defaults of the service.">
      <form
        noValidate
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Fields draft={draft} faults={{ ...found, ...typed }} onChange={change} />
        <Fault error={isPlaced ? undefined : save.error} />
        <div className="flex flex-wrap gap-2">
          <GuardedButton
            needs="developer"
            type="submit"
            look="primary"
            busy={save.isPending}
            disabled={!dirty || hasFaults}
          >
            Save model settings
          </GuardedButton>
          {dirty && (
            <Button
              look="ghost"
              onClick={() => {
                setEdited({});
                save.reset();
              }}
            >
              Discard
            </Button>
          )}
        </div>
      </form>
      <LeaveQuestion dirty={dirty} />
    </Card>
  );
}

interface FieldsProps {
  draft: ModelDraft;
  faults: ModelFaults;
  onChange: (changed: Partial<ModelDraft>) => void;
}

function Fields({ draft, faults, onChange }: FieldsProps) {
  const readOnly = !useMay("developer");
  const text = (name: NumberName) => ({
    readOnly,
    value: draft[name],
    onChange: (event: { target: { value: string } }) => onChange({ [name]: event.target.value }),
  });
  return (
    <>
      <div className={columns}>
        <Field label="Provider" error={faults.provider}>
          <Select<ModelDraft["provider"]>
            options={[{ value: "", label: "The service's default" }, ...PROVIDERS]}
            disabled={readOnly}
            value={draft.provider}
            onChange={(provider) => onChange({ provider })}
          />
        </Field>
        <Field label="Model" error={faults.model}>
          <Input
            readOnly={readOnly}
            spellCheck={false}
            placeholder="The provider's default"
            value={draft.model}
            onChange={(event) => onChange({ model: event.target.value })}
          />
        </Field>
      </div>
      <div className={columns}>
        <Field label="Temperature" error={faults.temperature} hint="From 0 to 2. Some models take none.">
          <Input {...text("temperature")} inputMode="decimal" placeholder="The provider's default" />
        </Field>
        <Field label="Max tokens" error={faults.maxTokens} hint="Of one answer of the model.">
          <Input {...text("maxTokens")} inputMode="numeric" placeholder="8192" />
        </Field>
        <Field label="Steps" error={faults.steps} hint="Turns with function calls before the model must answer.">
          <Input {...text("steps")} inputMode="numeric" placeholder="25" />
        </Field>
        <Field label="Cost cap in USD" error={faults.maxCostUsd} hint="A run ends before the turn that could pass it.">
          <Input {...text("maxCostUsd")} inputMode="decimal" placeholder="none" />
        </Field>
        <Field label="History in tokens" error={faults.historyTokens} hint="Of earlier queries of the thread.">
          <Input {...text("historyTokens")} inputMode="numeric" placeholder="Half of the model's context window" />
        </Field>
      </div>
      <FallbackList
        models={draft.fallback}
        fault={faults.fallback}
        readOnly={readOnly}
        onChange={(fallback) => onChange({ fallback })}
      />
      <Field
        label="Answer schema"
        error={faults.responseSchema}
        hint="A JSON Schema of type object that every answer meets."
      >
        <Textarea
          rows={8}
          readOnly={readOnly}
          spellCheck={false}
          placeholder={'{"type": "object", "properties": {"total": {"type": "number"}}}'}
          className="font-mono text-xs leading-5"
          value={draft.responseSchema}
          onChange={(event) => onChange({ responseSchema: event.target.value })}
        />
      </Field>
      <fieldset className="grid min-w-0 gap-2">
        <legend className="mb-1 text-sm font-medium">A query may change</legend>
        {OVERRIDES.map((name) => (
          <Checkbox
            key={name}
            label={OVERRIDE_WORDS[name]}
            disabled={readOnly}
            checked={!draft.locked.includes(name)}
            onChange={(may) => onChange({ locked: OVERRIDES.filter((one) => isLocked(draft, one, { name, may })) })}
          />
        ))}
      </fieldset>
    </>
  );
}

type NumberName = "temperature" | "maxTokens" | "steps" | "maxCostUsd" | "historyTokens";

const columns = "grid items-start gap-4 sm:grid-cols-2";

const OVERRIDE_WORDS: Record<Override, string> = {
  model: "Provider and model",
  temperature: "Temperature",
  maxTokens: "Max tokens",
  fallback: "Whether fallback models are tried",
  responseSchema: "Answer schema",
};

const isLocked = ({ locked }: ModelDraft, one: Override, changed: { name: Override; may: boolean }): boolean =>
  one === changed.name ? !changed.may : locked.includes(one);
