import { useMay } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Field, Input, Textarea } from "../../ui/field.tsx";
import { Select } from "../../ui/select.tsx";
import { Switch } from "../../ui/toggle.tsx";
import type { Faults, Settings } from "./settings.ts";

interface SettingsFormProps {
  settings: Settings;
  faults: Faults;
  onChange: (changed: Partial<Settings>) => void;
}

const PROVIDERS = [
  { value: "", label: "The service's default" },
  { value: "anthropic", label: "Anthropic" },
  { value: "openai", label: "OpenAI" },
  { value: "gemini", label: "Gemini" },
] as const satisfies { value: Settings["provider"]; label: string }[];

/** What queries are sent with besides their text and role. */
export function SettingsForm({ settings, faults, onChange }: SettingsFormProps) {
  const { provider } = settings;
  const mayAsk = useMay("developer");
  return (
    <div className="grid gap-5">
      {!mayAsk && (
        <p className="text-muted text-sm">Viewers send no queries: what is set here goes into the code alone.</p>
      )}
      <div className="grid gap-1">
        <Switch label="Analysis mode" checked={settings.analysis} onChange={(analysis) => onChange({ analysis })} />
        <p className="text-muted text-xs">The model plans before it acts, and its reasoning is told.</p>
      </div>
      <ContextField settings={settings} faults={faults} onChange={onChange} />
      <Field label="Session id" error={faults.session} hint="Groups queries of one visit; any text. Empty for none.">
        <Input
          spellCheck={false}
          placeholder="none"
          value={settings.session}
          onChange={(event) => onChange({ session: event.target.value })}
        />
      </Field>
      <fieldset className="grid min-w-0 gap-3">
        <legend className="mb-2 text-sm font-semibold">Model</legend>
        <Field label="Provider">
          <Select<Settings["provider"]>
            label="Provider"
            options={PROVIDERS}
            value={provider}
            onChange={(next) => onChange({ provider: next })}
          />
        </Field>
        {provider === "" ? (
          <p className="text-muted text-xs">Name a provider to choose its model and limits.</p>
        ) : (
          <>
            <Field label="Model" error={faults.model}>
              <Input
                spellCheck={false}
                placeholder="The provider's default"
                value={settings.model}
                onChange={(event) => onChange({ model: event.target.value })}
              />
            </Field>
            <div className="grid grid-cols-2 items-start gap-3">
              <Field label="Max tokens" error={faults.maxTokens}>
                <Input
                  inputMode="numeric"
                  placeholder="8192"
                  value={settings.maxTokens}
                  onChange={(event) => onChange({ maxTokens: event.target.value })}
                />
              </Field>
              <Field label="Temperature" error={faults.temperature}>
                <Input
                  inputMode="decimal"
                  placeholder="default"
                  value={settings.temperature}
                  onChange={(event) => onChange({ temperature: event.target.value })}
                />
              </Field>
            </div>
          </>
        )}
      </fieldset>
    </div>
  );
}

function ContextField({ settings: { context }, faults, onChange }: SettingsFormProps) {
  const valid = context.trim() !== "" && faults.context === undefined;
  return (
    <div className="relative">
      <Field
        label="Context"
        error={faults.context}
        hint="What your application knows of the caller. Functions get it as it stands here; the model reads it as data."
      >
        <Textarea
          rows={5}
          spellCheck={false}
          placeholder={'{"customerId": "…"}'}
          className="font-mono text-xs leading-5"
          value={context}
          onChange={(event) => onChange({ context: event.target.value })}
        />
      </Field>
      {valid && (
        <Button
          size="small"
          look="ghost"
          className="absolute -top-1.5 right-0"
          onClick={() => onChange({ context: JSON.stringify(JSON.parse(context), null, 2) })}
        >
          Format
        </Button>
      )}
    </div>
  );
}
