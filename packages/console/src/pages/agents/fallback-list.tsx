import { Button, IconButton } from "../../ui/button.tsx";
import { Input } from "../../ui/field.tsx";
import { Select } from "../../ui/select.tsx";
import { FALLBACKS, type ModelDraft } from "./model-draft.ts";

export const PROVIDERS = [
  { value: "anthropic", label: "Anthropic" },
  { value: "openai", label: "OpenAI" },
  { value: "gemini", label: "Gemini" },
] as const;

type Models = ModelDraft["fallback"];

/** Models in the order in which they are tried. */
export function FallbackList({
  models,
  fault,
  readOnly,
  onChange,
}: {
  models: Models;
  fault: string | undefined;
  readOnly: boolean;
  onChange: (models: Models) => void;
}) {
  const replace = (index: number, changed: Partial<Models[number]>) =>
    onChange(models.map((one, at) => (at === index ? { ...one, ...changed } : one)));
  return (
    <fieldset className="grid min-w-0 gap-2" aria-describedby={fault === undefined ? undefined : "fallback-fault"}>
      <legend className="mb-1 text-sm font-medium">Fallback models</legend>
      <p className="text-muted text-xs">They are tried in this order when the model before fails.</p>
      {models.map(({ provider, model }, index) => (
        // Entries have no identity of their own: two may be equal.
        <div key={index} className="flex gap-2">
          <Select
            label={`Provider of fallback ${index + 1}`}
            className="w-32 shrink-0"
            options={PROVIDERS}
            disabled={readOnly}
            value={provider}
            onChange={(next) => replace(index, { provider: next })}
          />
          <Input
            aria-label={`Model of fallback ${index + 1}`}
            spellCheck={false}
            readOnly={readOnly}
            placeholder="The provider's default"
            value={model}
            onChange={(event) => replace(index, { model: event.target.value })}
          />
          {!readOnly && (
            <IconButton
              icon="trash"
              label={`Remove fallback ${index + 1}`}
              onClick={() => onChange(models.filter((_, at) => at !== index))}
            />
          )}
        </div>
      ))}
      {fault !== undefined && (
        <p id="fallback-fault" role="alert" className="text-bad text-xs">
          {fault}
        </p>
      )}
      {!readOnly && models.length < FALLBACKS && (
        <div>
          <Button
            size="small"
            icon="plus"
            onClick={() => onChange([...models, { provider: PROVIDERS[0].value, model: "" }])}
          >
            Add a fallback model
          </Button>
        </div>
      )}
    </fieldset>
  );
}
