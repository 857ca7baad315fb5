import { useBlocker } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAction } from "../../api/action.ts";
import { api, queryClient, refetch, resource } from "../../api/api.ts";
import type { BodyOf } from "../../api/routes.ts";
import { Button, GuardedButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/form/dialog.tsx";
import { Form } from "../../ui/form/form.tsx";
import { Card } from "../../ui/page.tsx";
import { showSuccess } from "../../ui/toast.tsx";

interface SaveOptions<Draft> {
  change: () => BodyOf<"PATCH", "/agents/:agent_id">;
  /** The edited fields. */
  edited: Draft;
  /** Removes the saved ones, after the agent's data is updated everywhere. */
  setEdited: (next: (now: Draft) => Draft) => void;
}

/** Saves an agent change. Fields edited while the request is sent stay edited. */
export function useSaveAgent<Draft extends object>(agentId: string, options: SaveOptions<Draft>) {
  const { change, edited, setEdited } = options;
  const params = { agentId };
  return useAction({
    mutationFn: () => api.patch("/agents/:agent_id", { params, body: change() }),
    onMutate: () => edited,
    onSuccess: (saved, _, sent) => {
      queryClient.setQueryData(resource("/agents/:agent_id", { params }).queryKey, saved);
      void refetch("/agents");
      setEdited((now) => changedSince(sent, now));
      showSuccess("Saved", "Applies from the next query.");
    },
  });
}

const changedSince = <Draft extends object>(sent: Draft, now: Draft): Draft =>
  Object.fromEntries(Object.entries(now).filter(([name, value]) => sent[name as keyof Draft] !== value)) as Draft;

interface AgentSettingsFormProps {
  title: string;
  description?: string;
  /** Text on the save button. */
  saveLabel: string;
  save: ReturnType<typeof useSaveAgent>;
  /** True while a field differs from its saved value. */
  dirty: boolean;
  valid: boolean;
  onDiscard: () => void;
  /** The last save's error, unless the fields show it. */
  error: unknown;
  noValidate?: boolean;
  children: ReactNode;
}

/** A card with a form that saves or discards a draft, and warns before a draft is lost. */
export function AgentSettingsForm(props: AgentSettingsFormProps) {
  const { title, description, saveLabel, save, dirty, valid, onDiscard, error, noValidate = false, children } = props;
  return (
    <Card title={title} {...(description !== undefined && { description })}>
      <Form
        noValidate={noValidate}
        error={error}
        onSubmit={save.mutate}
        submit={
          <div className="flex flex-wrap gap-2">
            <GuardedButton
              needs="developer"
              type="submit"
              look="primary"
              busy={save.isPending}
              disabled={!dirty || !valid}
            >
              {saveLabel}
            </GuardedButton>
            {dirty && (
              <Button look="ghost" onClick={onDiscard}>
                Discard
              </Button>
            )}
          </div>
        }
      >
        {children}
      </Form>
      <UnsavedChanges dirty={dirty} />
    </Card>
  );
}

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
