import { Button } from "../../ui/button.tsx";
import { Combobox } from "../../ui/form/combobox.tsx";
import { Switch } from "../../ui/form/toggle.tsx";
import { Kbd } from "../../ui/values.tsx";
import { isRunning, type ShownExchange } from "./lane.ts";
import { QUERY_UNITS } from "../../parts/playground/settings.ts";
import type { PlaygroundState } from "./use-playground.ts";

/** The form that sends a query: its text, its role or roles, and the button. */
export function Composer({ playground }: { playground: PlaygroundState }) {
  const { draft, setDraft, settings, errors, changeSettings, running, sendDraft } = playground;
  const invalid = Object.keys(errors).length > 0;
  const tooLong = draft.length > QUERY_UNITS;
  const ready = draft.trim() !== "" && !invalid && !tooLong && !running;
  return (
    <form
      className="border-line bg-surface shadow-raised has-[textarea:focus-visible]:outline-focus has-[textarea:focus-visible]:outline-2 grid gap-2 rounded-xl border p-2.5"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) sendDraft();
      }}
    >
      <textarea
        ref={playground.fieldRef}
        aria-label="Query"
        placeholder={settings.compare ? "Ask in both lanes…" : "Ask the agent…"}
        rows={1}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          // Enter also confirms an input method's word.
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          if (ready) sendDraft();
        }}
        className="text-text h-auto max-h-60 min-h-10 sm:min-h-14 w-full resize-none bg-transparent px-1.5 py-1 text-base outline-none field-sizing-content"
      />
      <div className="flex flex-wrap items-center gap-x-2 gap-y-2 sm:gap-x-3">
        <RoleField playground={playground} name="role" label={settings.compare ? "Role A" : "Role"} />
        {settings.compare && <RoleField playground={playground} name="role2" label="Role B" />}
        <Switch
          label={
            <span>
              Compare<span className="max-sm:sr-only"> lanes</span>
            </span>
          }
          checked={settings.compare}
          onChange={(compare) => changeSettings({ compare })}
        />
        <div className="ml-auto flex items-center gap-2">
          {invalid && (
            <Button size="small" look="ghost" icon="alert" onClick={() => playground.openTab("settings")}>
              Fix settings
            </Button>
          )}
          {tooLong && <span className="text-bad text-xs">At most 100,000 characters</span>}
          {running ? (
            <Button icon="stopped" busy={playground.stopping} onClick={playground.stop}>
              Stop
            </Button>
          ) : (
            <Button type="submit" look="primary" icon="send" disabled={!ready}>
              <span className="max-sm:sr-only">Send</span>
              <span className="max-sm:hidden" aria-hidden="true">
                <Kbd keys="↵" />
              </span>
            </Button>
          )}
        </div>
      </div>
    </form>
  );
}

interface RoleFieldProps {
  playground: PlaygroundState;
  name: "role" | "role2";
  label: string;
}

function RoleField({ playground, name, label }: RoleFieldProps) {
  const { settings, errors, changeSettings, functions } = playground;
  const { roles = [], defaultRole = null } = functions.data ?? {};
  return (
    <label className="flex min-w-0 items-center gap-2 text-sm">
      <span className="text-muted shrink-0">{label}</span>
      <Combobox
        label={label}
        suggestions={roles}
        value={settings[name]}
        onChange={(role) => changeSettings({ [name]: role })}
        placeholder={defaultRole === null ? "none" : `${defaultRole} (default)`}
        className={`w-28 sm:w-36 ${errors[name] === undefined ? "" : "border-bad"}`}
        clearable
      />
    </label>
  );
}

/** Announces the latest answer's state to screen readers; announcing each token would be too much. */
export const Announcer = ({ shown }: { shown: readonly (ShownExchange | undefined)[] }) => (
  <p role="status" className="sr-only">
    {shown.map((exchange) => exchange?.live && announcementOf(exchange.live)).join(" ")}
  </p>
);

function announcementOf(live: NonNullable<ShownExchange["live"]>): string {
  const { end, steps } = live.transcript;
  if (end?.ok) return "Answered.";
  if (end) return end.code === "cancelled" ? "Cancelled." : `Failed: ${end.errorMessage}.`;
  if (!isRunning(live)) return "";
  const last = steps.at(-1);
  return last?.kind === "call" ? `Calling ${last.call.name}.` : "Running.";
}
