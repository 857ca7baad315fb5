import type { ConsoleFunction, FunctionSet, TrialResult } from "@patchbay/protocol/console";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import {
  type Arguments,
  ArgumentsForm,
  type ArgumentsDraft,
  JsonEditor,
  readArguments,
  readJsonObject,
} from "../../schema-form/arguments-form.tsx";
import type { FieldShape } from "../../schema-form/field-shape.ts";
import { useMay } from "../../state/session.ts";
import { Card } from "../../ui/card.tsx";
import { Combobox } from "../../ui/combobox.tsx";
import { Field } from "../../ui/field.tsx";
import { GuardedButton } from "../../ui/guarded-button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Kbd } from "../../ui/kbd.tsx";
import { TrialOutcome } from "./trial-outcome.tsx";

const route = getRouteApi("/shell/agents/$agentId/functions/$functionName");

/** A call as it was sent. */
export interface Tried {
  role: string | undefined;
  arguments: Arguments;
  context: Arguments | undefined;
}

/** Calls the function as a role, without a model, through the gate that every call goes through. */
export function Trial({
  one,
  set,
  shape,
  written,
  onWritten,
}: {
  one: ConsoleFunction;
  set: FunctionSet;
  shape: FieldShape;
  written: ArgumentsDraft;
  onWritten: (written: ArgumentsDraft) => void;
}) {
  const { agentId } = route.useParams();
  const may = useMay("developer");
  const [asked, setAsked] = useState(false);
  const [context, setContext] = useState("");
  const { role, setRole } = useRole();
  const given = readArguments(shape, written);
  const givenContext = context.trim() === "" ? { value: undefined, faults: [] } : readJsonObject(context);
  const call = useMutation<TrialResult, Error, Tried>({
    mutationFn: (tried) =>
      api.post("/agents/:agent_id/functions/:function_name/try", {
        params: { agent_id: agentId, function_name: one.name },
        body: {
          arguments: tried.arguments,
          ...(tried.role !== undefined && { role: tried.role }),
          ...(tried.context && { context: tried.context }),
        },
      }),
  });
  const send = (form: HTMLFormElement): void => {
    // Keys send the form though its button is not to be pressed.
    if (!may || call.isPending) return;
    setAsked(true);
    if (given.faults.length > 0 || givenContext.faults.length > 0) {
      // Once the faults are drawn.
      requestAnimationFrame(() =>
        form.querySelector<HTMLElement>("[aria-invalid=true], button[data-invalid]")?.focus(),
      );
      return;
    }
    call.mutate({ role: role || undefined, arguments: given.value, context: givenContext.value });
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
          <ArgumentsForm shape={shape} written={written} onChange={onWritten} faults={asked ? given.faults : []} />
          <div className="border-line grid gap-4 border-t pt-4">
            <Field label="Role" hint="Whom the call is for. Any name may be given; empty stands for no role.">
              <Combobox
                suggestions={set.roles}
                value={role}
                onChange={setRole}
                placeholder={set.defaultRole === null ? "no role" : `${set.defaultRole} (default)`}
              />
            </Field>
            <details className="group" open={context !== "" || undefined}>
              <summary className="text-muted hover:text-text flex items-center gap-1.5 text-sm font-medium">
                <Icon name="right" className="size-3.5 transition-transform group-open:rotate-90" />
                Context
              </summary>
              <div className="mt-2 grid gap-1">
                <p className="text-muted text-xs">
                  What the caller says of its user, as the contextJson of a query: an object, or nothing.
                </p>
                <JsonEditor
                  label="Context as JSON"
                  rows={4}
                  text={context}
                  onChange={setContext}
                  error={asked ? givenContext.faults[0]?.message : undefined}
                />
              </div>
            </details>
          </div>
          {!set.connected && (
            <p className="text-muted text-sm">
              The set shown here is not connected. A call goes to the one that is, as it is declared there.
            </p>
          )}
          {one.effect !== "read" && <Consequence effect={one.effect} />}
          <div className="flex flex-wrap items-center justify-end gap-3">
            {asked && given.faults.length + givenContext.faults.length > 0 && (
              <p role="status" className="text-bad text-xs">
                Something is missing or wrong above.
              </p>
            )}
            <GuardedButton
              needs="developer"
              type="submit"
              look={one.effect === "destructive" ? "danger" : "primary"}
              icon="send"
              busy={call.isPending}
            >
              Call {role === "" ? "without a role" : `as ${role.length > 24 ? "this role" : role}`}
              <span className="opacity-80 max-sm:hidden">
                <Kbd keys="mod ↵" />
              </span>
            </GuardedButton>
          </div>
        </form>
      </Card>
      <TrialOutcome one={one} tried={call.variables} result={call.data} error={call.error} pending={call.isPending} />
    </div>
  );
}

/** The role stands in the URL, where a link may set it. */
function useRole() {
  const { role = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const setRole = (next: string) =>
    void navigate({
      search: (before) => ({ ...before, role: next === "" ? undefined : next }),
      replace: true,
      resetScroll: false,
    });
  return { role, setRole };
}

function Consequence({ effect }: { effect: "write" | "destructive" }) {
  const destructive = effect === "destructive";
  return (
    <p
      className={`flex items-start gap-2 rounded-md px-3 py-2 text-sm ${destructive ? "bg-bad-soft text-bad" : "bg-warn-soft text-warn"}`}
    >
      <Icon name="alert" className="mt-0.5 size-4" />
      <span>
        This calls the function that is connected, on its real data.{" "}
        {destructive ? "Its owner declares that what it does cannot be undone." : "It changes that data."}
      </span>
    </p>
  );
}
