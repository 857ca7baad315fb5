import { useHasRole } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { Field, TextField } from "../../ui/field.tsx";
import { Select } from "../../ui/select.tsx";
import { Switch } from "../../ui/toggle.tsx";
import { PROVIDERS, type Settings, type SettingsErrors } from "./settings.ts";

interface SettingsFormProps {
  settings: Settings;
  errors: SettingsErrors;
  onChange: (changed: Partial<Settings>) => void;
}

const PROVIDER_OPTIONS = [{ value: "", label: "Default" }, ...PROVIDERS] as const;
const SECOND_OPTIONS = [{ value: "", label: "As in lane A" }, ...PROVIDERS] as const;

/** The settings of a query besides its text and role. */
export function SettingsForm({ settings, errors, onChange }: SettingsFormProps) {
  const { provider, context } = settings;
  const maySend = useHasRole("developer");
  const text = (name: "session" | "model" | "maxTokens" | "temperature" | "context" | "model2" | "context2") => ({
    error: errors[name],
    value: settings[name],
    onChange: (value: string) => onChange({ [name]: value }),
  });
  return (
    <div className="grid gap-5">
      {!maySend && (
        <p className="text-muted text-sm">Viewers cannot send queries; these settings only change the code.</p>
      )}
      <div className="grid gap-1">
        <Switch label="Analysis mode" checked={settings.analysis} onChange={(analysis) => onChange({ analysis })} />
        <p className="text-muted text-xs">The model plans before it acts, and the events include its reasoning</p>
      </div>
      <div className="relative">
        <TextField
          {...text("context")}
          label="Context"
          hint="JSON about the caller, which functions receive and the model reads as data"
          rows={5}
          spellCheck={false}
          placeholder={'{"customerId": "…"}'}
          className="font-mono text-xs leading-5"
        />
        {context.trim() !== "" && errors.context === undefined && (
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
      {settings.compare && (
        <fieldset className="grid min-w-0 gap-3">
          <legend className="mb-2 text-sm font-semibold">Lane B</legend>
          <TextField
            {...text("context2")}
            label="Context of B"
            hint="Empty: as in lane A; {} for no context"
            rows={3}
            spellCheck={false}
            className="font-mono text-xs leading-5"
          />
          <Field label="Provider of B">
            <Select<Settings["provider2"]>
              label="Provider of B"
              options={SECOND_OPTIONS}
              value={settings.provider2}
              onChange={(provider2) => onChange({ provider2 })}
            />
          </Field>
          {settings.provider2 !== "" && (
            <TextField {...text("model2")} label="Model of B" spellCheck={false} placeholder="Provider default" />
          )}
        </fieldset>
      )}
      <TextField
        {...text("session")}
        label="Session ID"
        hint="Optional; groups queries of one visit"
        spellCheck={false}
        placeholder="none"
      />
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
            <TextField {...text("model")} label="Model" spellCheck={false} placeholder="Provider default" />
            <div className="grid grid-cols-2 items-start gap-3">
              <TextField {...text("maxTokens")} label="Max tokens" inputMode="numeric" placeholder="8192" />
              <TextField {...text("temperature")} label="Temperature" inputMode="decimal" placeholder="default" />
            </div>
          </>
        )}
      </fieldset>
    </div>
  );
}
