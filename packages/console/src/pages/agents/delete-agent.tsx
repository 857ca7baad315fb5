import type { Agent } from "@patchbay/protocol/console";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { pathOfKey } from "../../api/queries.ts";
import { countOf } from "../../format/words.ts";
import { tellDone } from "../../state/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Fault } from "../../ui/states.tsx";

const FORM = "delete-agent";

/** Asks for the agent's name, so that none is deleted by a slip. */
export function DeleteAgent({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const { agentId, name, runtimes, queries: lastDay } = agent;
  const [typed, setTyped] = useState("");
  const navigate = useNavigate();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api.delete("/agents/:agent_id", { params: { agent_id: agentId } }),
    onSuccess: async () => {
      tellDone(`${name} is deleted`);
      await navigate({ to: "/agents", ignoreBlocker: true });
      void queries.invalidateQueries({
        predicate: ({ queryKey }) => ["/agents", "/organisation"].includes(pathOfKey(queryKey) as string),
      });
    },
  });
  const matches = typed.trim() === name;
  const inUse = [
    runtimes > 0 && `${countOf(runtimes, "runtime")} ${runtimes === 1 ? "is" : "are"} connected now`,
    lastDay > 0 && `${countOf(lastDay, "query", "queries")} came in the last 24 hours`,
  ].filter((part) => part !== false);
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Delete ${name}?`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={FORM} look="danger" icon="trash" busy={remove.isPending} disabled={!matches}>
            Delete agent
          </Button>
        </>
      }
    >
      <form
        id={FORM}
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (matches) remove.mutate();
        }}
      >
        <p className="text-pretty">
          All keys and tokens of this agent end at once. This cannot be undone.
          {inUse.length > 0 && <strong className="font-semibold"> It is in use: {inUse.join(", and ")}.</strong>}
        </p>
        <Field
          label={
            <>
              Type <span className="font-mono">{name}</span> to delete it
            </>
          }
        >
          <Input
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </Field>
        <Fault error={remove.error} />
      </form>
    </Dialog>
  );
}
