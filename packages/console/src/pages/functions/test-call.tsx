import type { ConsoleFunction, FunctionCase, FunctionSet } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type Dispatch, type SetStateAction, useState } from "react";
import { oneLine } from "../../format/one-line.ts";
import { resource, useHasRole } from "../../api/api.ts";
import {
  type Arguments,
  type ArgumentsDraft,
  ArgumentsForm,
  JsonEditor,
  readArguments,
  readJsonObject,
} from "../../parts/schema-form/arguments-form.tsx";
import { shapeOf } from "../../parts/schema-form/field-shape.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { Button, GuardedButton } from "../../ui/button.tsx";
import { Combobox } from "../../ui/form/combobox.tsx";
import { Field } from "../../ui/form/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { Kbd } from "../../ui/values.tsx";
import { argumentsDraft, contextText } from "./earlier-call.ts";
import { TestCallOutcome } from "./test-call-outcome.tsx";
import { isPending, type TestRunOptions, useTestRun } from "./test-run.ts";

const route = getRouteApi("/shell/agents/$agentId/functions/$functionName");

/** The test call as typed, besides its role, which is in the URL. */
export interface TestForm {
  written: ArgumentsDraft;
  context: string;
}

interface TestCallProps extends TestRunOptions {
  fn: ConsoleFunction;
  set: FunctionSet;
  form: [TestForm, Dispatch<SetStateAction<TestForm>>];
  /** Shown above the form. */
  notice: string | undefined;
}

/** Calls the function as a role, without a model; the runtime makes the same checks as for a model's calls. */
export function TestCall(props: TestCallProps) {
  const { fn, set, notice } = props;
  const call = useTestCall(props);
  const { run, isSending, submitted, input, shape, written, role, invalid, change, send } = call;
  const faults = submitted ? input.faults : [];
  const look = fn.effect === "destructive" ? "danger" : "primary";
  const pickCase = ({ input, context, roles }: FunctionCase): void => {
    change({ written: argumentsDraft(shape, input), context: contextText(context) });
    const applies = roles ?? (fn.roles === "everyone" ? [] : fn.roles);
    if (applies[0] !== undefined && !applies.includes(role)) call.setRole(applies[0]);
  };
  return (
    <div className="grid items-start gap-5 lg:grid-cols-2">
      <Card>
        <form
          className="grid gap-5"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            send(event.currentTarget);
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey)) return;
            event.preventDefault();
            send(event.currentTarget);
          }}
        >
          {notice !== undefined && <p className="text-muted text-sm">{notice}</p>}
          <Examples fn={fn} onPick={(example) => change({ written: argumentsDraft(shape, example) })} />
          <Cases fn={fn} onPick={pickCase} />
          <ArgumentsForm shape={shape} written={written} onChange={(written) => change({ written })} faults={faults} />
          <CallerFields set={set} call={call} />
          {!set.connected && (
            <p className="text-muted text-sm">
              This function set is not connected. The call goes to the connected set, as declared there.
            </p>
          )}
          {fn.effect !== "read" && <EffectWarning effect={fn.effect} />}
          <div className="flex flex-wrap items-center justify-end gap-3">
            {submitted && invalid && (
              <p role="status" className="text-bad text-xs">
                Fix the fields marked above
              </p>
            )}
            <GuardedButton needs="developer" type="submit" look={look} icon="send" busy={isSending}>
              Call {role === "" ? "without a role" : `as ${role.length > 24 ? "this role" : role}`}
              <span className="opacity-80 max-sm:hidden">
                <Kbd keys="mod ↵" />
              </span>
            </GuardedButton>
          </div>
        </form>
      </Card>
      <TestCallOutcome fn={fn} run={run} />
    </div>
  );
}

/** The owner's example arguments; each fills the form. */
const Examples = ({ fn: { examples = [] }, onPick }: { fn: ConsoleFunction; onPick: (example: Arguments) => void }) => (
  <Fillings
    title="Examples"
    items={examples.map((example) => ({ label: oneLine(example), pick: () => onPick(example) }))}
  />
);

/** The owner's cases; each fills the form, its context included, with a role that the case applies to. */
function Cases({ fn, onPick }: { fn: ConsoleFunction; onPick: (picked: FunctionCase) => void }) {
  const { agentId } = route.useParams();
  const { manifestHash } = route.useSearch();
  const mayCall = useHasRole("developer");
  const { data } = useQuery({
    ...resource("/agents/:agent_id/functions/:function_name/cases", {
      params: { agentId, functionName: fn.name },
      query: { manifestHash },
    }),
    enabled: mayCall && fn.cases !== undefined,
  });
  if (data?.cases.length === 0)
    return (
      <p className="text-muted text-xs">
        To call the owner’s cases from here, connect with <code className="font-mono">reportCases: true</code>.
      </p>
    );
  const items = (data?.cases ?? []).map((item) => ({ label: item.name, pick: () => onPick(item) }));
  return <Fillings title="Cases" items={items} />;
}

/** Buttons that fill the form. */
function Fillings({ title, items }: { title: string; items: readonly { label: string; pick: () => void }[] }) {
  if (items.length === 0) return null;
  return (
    <div role="group" aria-label={title} className="flex min-w-0 flex-wrap items-center gap-2">
      <span className="text-muted text-xs">{title}</span>
      {items.map(({ label, pick }, index) => (
        <Button key={index} size="small" className="max-w-full min-w-0" onClick={pick}>
          <span className="truncate font-mono">{label}</span>
        </Button>
      ))}
    </div>
  );
}

/** The call as typed, with what changes it, and the test call made from it. */
function useTestCall({ fn, form: [{ written, context }, setForm], open, onBegin }: TestCallProps) {
  const { agentId } = route.useParams();
  const mayCall = useHasRole("developer");
  const [submitted, setSubmitted] = useState(false);
  // The role is in the URL, so that links can set it; the context is not.
  const { role = "" } = route.useSearch();
  const changeSearch = useSearchChange(route);
  const shape = shapeOf(fn.inputSchema);
  const input = readArguments(shape, written);
  const parsed = context.trim() === "" ? { value: undefined, faults: [] } : readJsonObject(context);
  const invalid = input.faults.length + parsed.faults.length > 0;
  const { run, begin } = useTestRun(agentId, fn.name, { open, onBegin });
  // A call that is followed may wait for days: its arguments can be sent again.
  const isSending = isPending(run) && run?.followed === false;
  const send = (element: HTMLFormElement): void => {
    // The keyboard submits the form even if its button is disabled.
    if (!mayCall || isSending) return;
    setSubmitted(true);
    if (invalid) {
      // Errors are rendered in the next frame.
      requestAnimationFrame(() =>
        element.querySelector<HTMLElement>("[aria-invalid=true], button[data-invalid]")?.focus(),
      );
      return;
    }
    begin({ role: role || undefined, arguments: input.value, context: parsed.value });
  };
  const setRole = (next: string) => changeSearch({ role: next });
  const change = (changed: Partial<TestForm>) => setForm((before) => ({ ...before, ...changed }));
  return { run, isSending, submitted, shape, written, input, role, setRole, context, parsed, invalid, change, send };
}

function CallerFields({ set, call }: { set: FunctionSet; call: ReturnType<typeof useTestCall> }) {
  const { role, setRole, context, change, parsed, submitted } = call;
  const preset = set.defaultRole === null ? "no role" : `${set.defaultRole} (default)`;
  return (
    <div className="border-line grid gap-4 border-t pt-4">
      <Field label="Role" hint="Role to call as; leave empty for none">
        <Combobox suggestions={set.roles} value={role} onChange={setRole} placeholder={preset} />
      </Field>
      <details className="group" open={context !== "" || undefined}>
        <summary className="text-muted hover:text-text flex items-center gap-1.5 text-sm font-medium">
          <Icon name="right" className="size-3.5 transition-transform group-open:rotate-90" />
          Context
        </summary>
        <div className="mt-2 grid gap-1">
          <p className="text-muted text-xs">JSON object about the caller, like a query's contextJson</p>
          <JsonEditor
            label="Context as JSON"
            rows={4}
            text={context}
            onChange={(next) => change({ context: next })}
            error={submitted ? parsed.faults[0]?.message : undefined}
          />
        </div>
      </details>
    </div>
  );
}

const EffectWarning = ({ effect }: { effect: "write" | "destructive" }) => (
  <Notice tone={effect === "write" ? "warn" : "bad"} icon="alert">
    {effect === "write"
      ? "This calls the real function and changes its data."
      : "This calls the real function; its effect cannot be undone."}
  </Notice>
);
