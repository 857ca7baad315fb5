import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useAction } from "../../api/action.ts";
import { ApiError } from "../../api/api-error.ts";
import { api, queryClient, refetch, resource } from "../../api/api.ts";
import type { BodyOf } from "../../api/routes.ts";
import { Button, GuardedButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/form/dialog.tsx";
import { Form } from "../../ui/form/form.tsx";
import { Card, type CardProps } from "../../ui/page.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import type { ModelErrors } from "./model-draft.ts";

interface AgentSettingsFormProps<Draft> extends Pick<CardProps, "title" | "description"> {
  agentId: string;
  /** Text on the save button. */
  saveLabel: string;
  /** The saved fields. */
  stored: Draft;
  isValid: (draft: Draft) => boolean;
  /** The request that saves a valid draft. */
  changeOf: (draft: Draft) => BodyOf<"PATCH", "/agents/:agent_id">;
  /** The API's errors that the fields show. */
  errorsOf?: (details: ApiError["details"]) => ModelErrors;
  noValidate?: boolean;
  /** The fields. */
  children: (draft: Draft, onChange: (changed: Partial<Draft>) => void, errors: ModelErrors) => ReactNode;
}

/** A card with a form that saves or discards a draft, and warns before a draft is lost. */
export function AgentSettingsForm<Draft extends object>(props: AgentSettingsFormProps<Draft>) {
  const { agentId, saveLabel, stored, isValid, changeOf, errorsOf, noValidate = false, children, ...card } = props;
  // Only edited fields are kept here, so that the others follow changes made elsewhere.
  const [edited, setEdited] = useState<Partial<Draft>>({});
  const draft = { ...stored, ...edited };
  const valid = isValid(draft);
  const dirty = !valid || JSON.stringify(changeOf(draft)) !== JSON.stringify(changeOf(stored));
  const canSave = dirty && valid;
  const params = { agentId };
  const save = useAction({
    mutationFn: () => api.patch("/agents/:agent_id", { params, body: changeOf(draft) }),
    onMutate: () => edited,
    onSuccess: (saved, _, sent) => {
      queryClient.setQueryData(resource("/agents/:agent_id", { params }).queryKey, saved);
      void refetch("/agents");
      // After the agent's data is updated everywhere. Fields edited while the request was sent stay edited.
      setEdited((now) => changedSince(sent, now));
      showSuccess("Saved", "Applies from the next query.");
    },
  });
  const rejected = (save.error instanceof ApiError && errorsOf?.(save.error.details)) || {};
  const change = (next: Partial<Draft>) => {
    setEdited(next);
    save.reset();
  };
  return (
    <Card {...card}>
      <Form
        noValidate={noValidate}
        error={Object.keys(rejected).length > 0 ? undefined : save.error}
        onSubmit={save.mutate}
        submit={
          <div className="flex flex-wrap gap-2">
            <GuardedButton needs="developer" type="submit" look="primary" busy={save.isPending} disabled={!canSave}>
              {saveLabel}
            </GuardedButton>
            {dirty && (
              <Button look="ghost" onClick={() => change({})}>
                Discard
              </Button>
            )}
          </div>
        }
      >
        {children(draft, (changed) => change({ ...edited, ...changed }), rejected)}
      </Form>
      <UnsavedChanges dirty={dirty} />
    </Card>
  );
}

const changedSince = <Draft extends object>(sent: Draft, now: Draft): Draft =>
  Object.fromEntries(Object.entries(now).filter(([name, value]) => sent[name as keyof Draft] !== value)) as Draft;

/** Asks before navigation discards unsaved changes. */
function UnsavedChanges({ dirty }: { dirty: boolean }) {
  const blocker = useBlocker({ shouldBlockFn: () => dirty, enableBeforeUnload: dirty, withResolver: true });
  if (blocker.status !== "blocked") return null;
  return (
    <Dialog
      open
      onClose={blocker.reset}
      title="Leave without saving?"
      footer={
        <>
          <Button look="danger" onClick={blocker.proceed}>
            Leave
          </Button>
          <Button look="primary" onClick={blocker.reset}>
            Stay
          </Button>
        </>
      }
    >
      <p>You have unsaved changes.</p>
    </Dialog>
  );
}
