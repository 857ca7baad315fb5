import { Button } from "../../ui/button.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { Kbd } from "../../ui/kbd.tsx";
import { Switch } from "../../ui/toggle.tsx";
import { QUERY_UNITS, type Faults, type Settings } from "./settings.ts";

interface ComposerProps {
  draft: string;
  onDraft: (draft: string) => void;
  settings: Settings;
  faults: Faults;
  onChange: (changed: Partial<Settings>) => void;
  roles: readonly string[];
  defaultRole: string | null;
  running: boolean;
  stopping: boolean;
  onSend: () => void;
  onStop: () => void;
  /** Shown where some setting is wrong: leads to it. */
  onShowSettings: () => void;
  fieldRef: React.Ref<HTMLTextAreaElement>;
}

/** Where a query is written, as whom it is asked, and sent. */
export function Composer(props: ComposerProps) {
  const { draft, onDraft, settings, faults, onChange, running, stopping, onSend, onStop, fieldRef } = props;
  const wrong = Object.keys(faults).length > 0;
  const long = draft.length > QUERY_UNITS;
  const ready = draft.trim() !== "" && !wrong && !long && !running;
  return (
    <form
      className="border-line bg-surface shadow-raised has-[textarea:focus-visible]:outline-focus has-[textarea:focus-visible]:outline-2 grid gap-2 rounded-xl border p-2.5"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) onSend();
      }}
    >
      <textarea
        ref={fieldRef}
        aria-label="Query"
        placeholder={settings.compare ? "Ask as both roles…" : "Ask the agent…"}
        rows={1}
        value={draft}
        onChange={(event) => onDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey)) return;
          event.preventDefault();
          if (ready) onSend();
        }}
        className="text-text h-auto max-h-60 min-h-10 sm:min-h-14 w-full resize-none bg-transparent px-1.5 py-1 text-base outline-none field-sizing-content"
      />
      <div className="flex flex-wrap items-center gap-x-2 gap-y-2 sm:gap-x-3">
        <RoleField {...props} name="role" label={settings.compare ? "Role A" : "Role"} />
        {settings.compare && <RoleField {...props} name="role2" label="Role B" />}
        <Switch
          label={
            <span>
              Compare<span className="max-sm:sr-only"> roles</span>
            </span>
          }
          checked={settings.compare}
          onChange={(compare) => onChange({ compare })}
        />
        <div className="ml-auto flex items-center gap-2">
          {wrong && (
            <Button size="small" look="ghost" icon="alert" onClick={props.onShowSettings}>
              A setting is wrong
            </Button>
          )}
          {long && <span className="text-bad text-xs">At most 100,000 characters</span>}
          {running ? (
            <Button icon="stopped" busy={stopping} onClick={onStop}>
              Stop
            </Button>
          ) : (
            <Button type="submit" look="primary" icon="send" disabled={!ready}>
              <span className="max-sm:sr-only">Send</span>
              <span className="max-sm:hidden" aria-hidden="true">
                <Kbd keys="mod ↵" />
              </span>
            </Button>
          )}
        </div>
      </div>
    </form>
  );
}

function RoleField({
  name,
  label,
  settings,
  faults,
  onChange,
  roles,
  defaultRole,
}: ComposerProps & { name: "role" | "role2"; label: string }) {
  return (
    <label className="flex min-w-0 items-center gap-2 text-sm">
      <span className="text-muted shrink-0">{label}</span>
      <Combobox
        label={label}
        suggestions={roles}
        value={settings[name]}
        onChange={(role) => onChange({ [name]: role })}
        placeholder={defaultRole === null ? "none" : `${defaultRole} (default)`}
        className={`w-28 sm:w-36 ${faults[name] === undefined ? "" : "border-bad"}`}
        clearable
      />
    </label>
  );
}
