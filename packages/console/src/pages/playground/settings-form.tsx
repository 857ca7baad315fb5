import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { resource, useHasRole } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { Field, TextField } from "../../ui/form/field.tsx";
import { Switch } from "../../ui/form/toggle.tsx";
import { ModelField, ProviderSelect, ReasoningSelect } from "../../parts/model/model-choice.tsx";
import type { Settings } from "../../parts/playground/settings.ts";
import type { PlaygroundState } from "./use-playground.ts";

/** Properties for a setting's text field. */
const textsOf =
  ({ settings, errors, changeSettings }: PlaygroundState) =>
  <Name extends keyof Settings>(name: Name) => ({
    error: errors[name],
    value: settings[name],
    onChange: (value: string) => changeSettings({ [name]: value }),
  });

/** A query's settings besides its text and role. */
export function SettingsForm({ playground }: { playground: PlaygroundState }) {
  const { settings, changeSettings } = playground;
  const text = textsOf(playground);
  const maySend = useHasRole("developer");
  return (
    <div className="grid gap-5">
      {!maySend && (
        <p className="text-muted text-sm">Viewers cannot send queries; these settings only change the code.</p>
      )}
      <Group title={settings.compare ? "Lane A" : undefined}>
        <JsonField
          {...text("context")}
          label="Context"
          hint="JSON about the caller, which functions receive and the model reads as data"
          rows={5}
          placeholder={'{"userId": "…"}'}
        />
        <Instructions {...text("instructions")} label="Instructions" empty="the instructions of the agent" />
        <ModelSettings playground={playground} />
      </Group>
      {settings.compare && <SecondLane playground={playground} />}
      <Group title={settings.compare ? "Both lanes" : undefined}>
        <div className="grid gap-1">
          <Switch
            label="Analysis mode"
            checked={settings.analysis}
            onChange={(analysis) => changeSettings({ analysis })}
          />
          <p className="text-muted text-xs">The model plans before it acts, and the events include its reasoning</p>
        </div>
        <TextField
          {...text("session")}
          label="Session ID"
          hint="Optional. Groups the queries of one visit"
          spellCheck={false}
          placeholder="none"
        />
        <JsonField
          {...text("schema")}
          label="Answer schema"
          hint="Optional. The answer follows this JSON Schema of type object"
          rows={3}
          placeholder={'{"type": "object", "properties": {}}'}
        />
      </Group>
    </div>
  );
}

/** Fields for one lane or both; without a title when one conversation has all fields. */
const Group = ({ title, children }: { title: string | undefined; children: ReactNode }) => (
  <fieldset className={classNames("grid min-w-0 gap-5", title !== undefined && "border-line border-l-2 pl-3")}>
    {title !== undefined && <legend className="mb-2 text-sm font-semibold">{title}</legend>}
    {children}
  </fieldset>
);

const AS_AGENT = "As the agent";

/** The second lane's own settings. */
function SecondLane({ playground }: { playground: PlaygroundState }) {
  const { settings, changeSettings } = playground;
  const text = textsOf(playground);
  const { provider2, agentInstructions2 } = settings;
  return (
    <Group title="Lane B">
      <JsonField
        {...text("context2")}
        label="Lane B context"
        hint="Leave empty to use lane A's context, or enter {} for none"
        rows={3}
      />
      <div className="grid gap-2">
        {!agentInstructions2 && (
          <Instructions {...text("instructions2")} label="Lane B instructions" empty="lane A's" />
        )}
        <Switch
          label="Lane B uses the agent's instructions"
          checked={agentInstructions2}
          onChange={(next) => changeSettings({ agentInstructions2: next })}
        />
      </div>
      <Field label="Lane B provider">
        <ProviderSelect
          label="Lane B provider"
          none="As in lane A"
          others={[{ value: "agent", label: AS_AGENT }]}
          value={provider2}
          onChange={(next) => changeSettings({ provider2: next })}
        />
      </Field>
      {provider2 !== "" && provider2 !== "agent" && (
        <ModelField {...text("model2")} label="Lane B model" provider={provider2} />
      )}
    </Group>
  );
}

function ModelSettings({ playground }: { playground: PlaygroundState }) {
  const { provider, reasoning } = playground.settings;
  const text = textsOf(playground);
  return (
    <>
      <Field label="Provider">
        <ProviderSelect
          label="Provider"
          none={AS_AGENT}
          value={provider}
          onChange={(next) => playground.changeSettings({ provider: next })}
        />
      </Field>
      {provider === "" ? (
        <p className="text-muted -mt-3 text-xs">Pick a provider to set model and limits</p>
      ) : (
        <>
          <ModelField {...text("model")} label="Model" provider={provider} />
          <Field label="Reasoning">
            <ReasoningSelect
              label="Reasoning"
              none={AS_AGENT}
              value={reasoning}
              onChange={(next) => playground.changeSettings({ reasoning: next })}
            />
          </Field>
          <div className="grid grid-cols-2 items-start gap-3">
            <TextField {...text("maxTokens")} label="Max tokens" inputMode="numeric" placeholder="8192" />
            <TextField {...text("temperature")} label="Temperature" inputMode="decimal" placeholder="default" />
          </div>
        </>
      )}
    </>
  );
}

interface TextProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

const JsonField = (props: TextProps & { hint: string; rows: number; placeholder?: string }) => (
  <div className="relative">
    <TextField {...props} spellCheck={false} className="font-mono text-xs leading-5" />
    {props.value.trim() !== "" && props.error === undefined && (
      <Button
        size="small"
        look="ghost"
        className="absolute -top-1.5 right-0"
        onClick={() => props.onChange(JSON.stringify(JSON.parse(props.value), null, 2))}
      >
        Format<span className="sr-only"> {props.label}</span>
      </Button>
    )}
  </div>
);

const route = getRouteApi("/shell/agents/$agentId/playground");

/** Instructions for this page's runs; the agent keeps its own. */
function Instructions({ value, onChange, empty, ...rest }: TextProps & { empty: string }) {
  const { agentId } = route.useParams();
  const agent = useQuery(resource("/agents/:agent_id", { params: { agentId } }));
  const { instructions = "" } = agent.data ?? {};
  return (
    <div className="relative">
      <TextField
        {...rest}
        value={value}
        onChange={onChange}
        hint={`Applies to queries from this page only. Leave empty to use ${empty}.`}
        rows={4}
      />
      {value === "" && instructions !== "" && (
        <Button size="small" look="ghost" className="absolute -top-1.5 right-0" onClick={() => onChange(instructions)}>
          Copy the agent's<span className="sr-only"> to {rest.label}</span>
        </Button>
      )}
    </div>
  );
}
