import type { Agent, CreatedAgent } from "@patchbay/protocol/console";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, refetch } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { toAgent } from "../../state/addresses.ts";
import { lastAgentId } from "../../state/signals.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Secret } from "../../ui/copy.tsx";
import { Dialog, FormDialog } from "../../ui/form/dialog.tsx";
import { TextField, useTexts } from "../../ui/form/field.tsx";
import { Snippets } from "../../ui/text/snippet.tsx";
import { showSuccess } from "../../ui/toast.tsx";

/** Creates an agent, then shows its first key and how to send a query. */
export function CreateAgent({ onClose }: { onClose: () => void }) {
  const [body, field] = useTexts({ name: "", instructions: "" });
  return (
    <FormDialog
      title="New agent"
      sticky
      submit="Create agent"
      send={() => api.post("/agents", { body })}
      refetches={["/agents"]}
      result={(created) => <Created created={created} onClose={onClose} />}
      onClose={onClose}
    >
      <TextField {...field("name")} label="Name" required maxLength={200} placeholder="orders" />
      <TextField
        {...field("instructions")}
        label="Instructions"
        hint="Sent to the model with every query; do not include secrets"
        rows={4}
        maxLength={20_000}
      />
    </FormDialog>
  );
}

const Created = ({ created: { agent, key }, onClose }: { created: CreatedAgent; onClose: () => void }) => (
  <Dialog
    open
    onClose={onClose}
    sticky
    wide
    title={`${agent.name} is ready`}
    description="Copy the API key now: it is shown only once."
    footer={
      <>
        <Button onClick={onClose}>Close</Button>
        <LinkButton {...toAgent(agent.agentId)} look="primary">
          Connect functions
        </LinkButton>
      </>
    }
  >
    <div className="grid gap-5">
      <Secret label="API key" secret={key.secret} />
      <section className="min-w-0">
        <h3 className="mb-1 font-semibold">Send a query</h3>
        <p className="text-muted mb-2 text-sm">
          Queries fail with “Agent session not found” until a runtime connects its functions.
        </p>
        <Snippets agentId={agent.agentId} apiKey={key.secret} body={{ query: "What can you do?" }} />
      </section>
    </div>
  </Dialog>
);

/** Deletes an agent after its name is typed, which prevents deletion by accident. */
export function DeleteAgent({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const { agentId, name, runtimes, queries: lastDay } = agent;
  const [typed, setTyped] = useState("");
  const navigate = useNavigate();
  const inUse = [
    runtimes > 0 && `${countOf(runtimes, "runtime")} ${runtimes === 1 ? "is" : "are"} connected`,
    lastDay > 0 && `${countOf(lastDay, "query", "queries")} arrived in the last 24 hours`,
  ].filter((part) => part !== false);
  return (
    <FormDialog
      title={`Delete ${name}?`}
      submit="Delete agent"
      look="danger"
      icon="trash"
      disabled={typed.trim() !== name}
      send={() => api.delete("/agents/:agent_id", { params: { agentId } })}
      onSent={async () => {
        showSuccess(`Deleted ${name}`);
        lastAgentId.set(undefined);
        await navigate({ to: "/agents", ignoreBlocker: true });
        void refetch("/agents", "/organisation");
      }}
      onClose={onClose}
    >
      <p className="text-pretty">
        All keys and tokens of this agent stop working immediately. This cannot be undone.
        {inUse.length > 0 && <strong className="font-semibold"> It is in use: {inUse.join(", and ")}.</strong>}
      </p>
      <TextField
        label={
          <>
            Type <span className="font-mono">{name}</span> to confirm
          </>
        }
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={setTyped}
      />
    </FormDialog>
  );
}
