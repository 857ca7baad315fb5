import { useHasRole } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { Field, Input, Textarea } from "../../ui/field.tsx";
import { Select } from "../../ui/select.tsx";
import { Switch } from "../../ui/toggle.tsx";
import { PROVIDERS, type Settings, type SettingsErrors } from "./settings.ts";

interface SettingsFormProps {
  settings: Settings;
  errors: SettingsErrors;
  onChange: (changed: Partial<Settings>) => void;
}

const PROVIDER_OPTIONS = [{ value: "", label: "Default" }, ...PROVIDERS] as const;

/** The settings of a query besides its text and role. */
export function SettingsForm({ settings, errors, onChange }: SettingsFormProps) {
  const { provider } = settings;
  const maySend = useHasRole("developer");
  return (
    <div className="grid gap-5">
      {!maySend && (
        <p className="text-muted text-sm">Viewers cannot send queries; these settings only change the code.</p>
      )}
      <div className="grid gap-1">
        <Switch label="Analysis mode" checked={settings.analysis} onChange={(analysis) => onChange({ analysis })} />
        <p className="text-muted text-xs">The model plans before it acts, and the events include its reasoning</p>
      </div>
      <ContextField settings={settings} errors={errors} onChange={onChange} />
      <Field label="Session ID" error={errors.session} hint="Optional; groups queries of one visit">
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
            options={PROVIDER_OPTIONS}
            value={provider}
            onChange={(next) => onChange({ provider: next })}
          />
        </Field>
        {provider === "" ? (
          <p className="text-muted text-xs">Pick a provider to set model and limits</p>
        ) : (
          <>
            <Field label="Model" error={errors.model}>
              <Input
                spellCheck={false}
                placeholder="Provider default"
                value={settings.model}
                onChange={(event) => onChange({ model: event.target.value })}
              />
            </Field>
            <div className="grid grid-cols-2 items-start gap-3">
              <Field label="Max tokens" error={errors.maxTokens}>
                <Input
                  inputMode="numeric"
                  placeholder="8192"
                  value={settings.maxTokens}
                  onChange={(event) => onChange({ maxTokens: event.target.value })}
                />
              </Field>
              <Field label="Temperature" error={errors.temperature}>
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

function ContextField({ settings: { context }, errors, onChange }: SettingsFormProps) {
  const valid = context.trim() !== "" && errors.context === undefined;
  return (
    <div className="relative">
      <Field
        label="Context"
        error={errors.context}
        hint="JSON about the caller, which functions receive and the model reads as data"
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
