import { useHasRole } from "../../api/api.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Field, TextField } from "../../ui/form/field.tsx";
import { Checkbox } from "../../ui/form/toggle.tsx";
import { ModelField, ProviderSelect, ReasoningSelect, useFirstProvider } from "../../parts/model/model-choice.tsx";
import { BOUNDS, MAX_FALLBACKS, type ModelDraft, type ModelErrors, OVERRIDES } from "./model-draft.ts";

interface ModelFieldsProps {
  draft: ModelDraft;
  errors: ModelErrors;
  onChange: (changed: Partial<ModelDraft>) => void;
}

/** The fields for an agent's model settings; read-only for viewers. */
export function ModelFields(props: ModelFieldsProps) {
  const { draft, errors, onChange } = props;
  const readOnly = !useHasRole("developer");
  const text = (name: keyof typeof BOUNDS | "model" | "responseSchema") => ({
    readOnly,
    error: errors[name],
    value: draft[name],
    onChange: (value: string) => onChange({ [name]: value }),
  });
  return (
    <>
      <div className={columns}>
        <Field label="Provider" error={errors.provider}>
          <ProviderSelect
            label="Provider"
            none="Default"
            endpoints
            disabled={readOnly}
            value={draft.provider}
            onChange={(provider) => onChange({ provider })}
          />
        </Field>
        <ModelField {...text("model")} label="Model" provider={draft.provider} />
      </div>
      <div className={columns}>
        <Field label="Reasoning" hint="More takes longer and costs more output" error={errors.reasoning}>
          <ReasoningSelect
            label="Reasoning"
            none="Provider default"
            disabled={readOnly}
            value={draft.reasoning}
            onChange={(reasoning) => onChange({ reasoning })}
          />
        </Field>
        {NUMBERS.map(({ name, ...field }) => (
          <TextField key={name} {...text(name)} {...field} inputMode={BOUNDS[name].whole ? "numeric" : "decimal"} />
        ))}
      </div>
      <FallbackList {...props} readOnly={readOnly} />
      <TextField
        {...text("responseSchema")}
        label="Answer schema"
        hint="JSON Schema of type object for every answer"
        rows={8}
        spellCheck={false}
        placeholder={'{"type": "object", "properties": {"total": {"type": "number"}}}'}
        className="font-mono text-xs leading-5"
      />
      <Overrides {...props} readOnly={readOnly} />
    </>
  );
}

const NUMBERS: { name: keyof typeof BOUNDS; label: string; hint: string; placeholder: string }[] = [
  {
    name: "temperature",
    label: "Temperature",
    hint: "0 to 2; not supported by all models",
    placeholder: "Provider default",
  },
  { name: "maxTokens", label: "Max tokens", hint: "Limit for one model response", placeholder: "8192" },
  { name: "steps", label: "Steps", hint: "Turns with function calls before the model must answer", placeholder: "25" },
  {
    name: "maxCostUsd",
    label: "Cost cap in USD",
    hint: "A run ends before a turn that could exceed it",
    placeholder: "none",
  },
  {
    name: "historyTokens",
    label: "History in tokens",
    hint: "Limit for the thread's earlier queries",
    placeholder: "Half the model's context window",
  },
];

const columns = "grid items-start gap-4 sm:grid-cols-2";

const Overrides = ({ draft, readOnly, onChange }: ModelFieldsProps & { readOnly: boolean }) => (
  <fieldset className="grid min-w-0 gap-2">
    <legend className="mb-1 text-sm font-medium">Queries may override</legend>
    {OVERRIDES.map((name) => (
      <Checkbox
        key={name}
        label={OVERRIDE_WORDS[name]}
        disabled={readOnly}
        checked={!draft.locked.includes(name)}
        onChange={(may) =>
          onChange({ locked: OVERRIDES.filter((other) => (other === name ? !may : draft.locked.includes(other))) })
        }
      />
    ))}
  </fieldset>
);

const OVERRIDE_WORDS: Record<ModelDraft["locked"][number], string> = {
  model: "Provider and model",
  temperature: "Temperature",
  maxTokens: "Max tokens",
  reasoning: "Reasoning",
  fallback: "Use of fallback models",
  responseSchema: "Answer schema",
};

/** An editable model list, in the order in which a run tries them. */
function FallbackList({ draft, errors, readOnly, onChange }: ModelFieldsProps & { readOnly: boolean }) {
  const { fallback: models } = draft;
  const { fallback: error } = errors;
  const first = useFirstProvider();
  const add = () => onChange({ fallback: [...models, { provider: first, model: "" }] });
  const replace = (index: number, changed: Partial<(typeof models)[number]>) =>
    onChange({ fallback: models.map((entry, at) => (at === index ? { ...entry, ...changed } : entry)) });
  return (
    <fieldset className="grid min-w-0 gap-2" aria-describedby={error === undefined ? undefined : "fallback-error"}>
      <legend className="mb-1 text-sm font-medium">Fallback models</legend>
      <p className="text-muted text-xs">Tried in this order when the previous model fails</p>
      {models.map(({ provider, model, reasoning }, index) => (
        // The index is the key: two entries may be equal.
        <div key={index} className="flex flex-wrap gap-2">
          <ProviderSelect
            label={`Fallback ${index + 1} provider`}
            endpoints
            className="w-32 shrink-0"
            disabled={readOnly}
            value={provider}
            onChange={(next) => replace(index, { provider: next })}
          />
          <ModelField
            bare
            label={`Fallback ${index + 1} model`}
            provider={provider}
            readOnly={readOnly}
            value={model}
            onChange={(next) => replace(index, { model: next })}
          />
          <ReasoningSelect
            label={`Fallback ${index + 1} reasoning`}
            none="Same reasoning"
            className="w-40 shrink-0 max-sm:order-last max-sm:w-full"
            disabled={readOnly}
            value={reasoning ?? ""}
            onChange={(next) => replace(index, { reasoning: next || undefined })}
          />
          {!readOnly && (
            <IconButton
              icon="trash"
              label={`Remove fallback ${index + 1}`}
              onClick={() => onChange({ fallback: models.filter((_, at) => at !== index) })}
            />
          )}
        </div>
      ))}
      {error !== undefined && (
        <p id="fallback-error" role="alert" className="text-bad text-xs">
          {error}
        </p>
      )}
      {!readOnly && models.length < MAX_FALLBACKS && (
        <div>
          <Button size="small" icon="plus" onClick={add}>
            Add fallback model
          </Button>
        </div>
      )}
    </fieldset>
  );
}
