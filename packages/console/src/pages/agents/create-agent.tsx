import type { CreatedAgent } from "@patchbay/protocol/console";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { pathOfKey } from "../../api/queries.ts";
import { useSession } from "../../state/session.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Input, Textarea } from "../../ui/field.tsx";
import { Secret } from "../../ui/secret.tsx";
import { Snippets } from "../../ui/snippet.tsx";
import { Fault } from "../../ui/states.tsx";

/** Makes an agent, then shows its first key with queries that use it. */
export function CreateAgent({ onClose }: { onClose: () => void }) {
  const [created, setCreated] = useState<CreatedAgent>();
  return created ? (
    <Created created={created} onClose={onClose} />
  ) : (
    <CreateForm onClose={onClose} onCreated={setCreated} />
  );
}

const FORM = "create-agent";

function CreateForm({ onClose, onCreated }: { onClose: () => void; onCreated: (created: CreatedAgent) => void }) {
  const [name, setName] = useState("");
  const [instructions, setInstructions] = useState("");
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: () => api.post("/agents", { body: { name, instructions } }),
    onSuccess: (agent) => {
      void queries.invalidateQueries({ predicate: ({ queryKey }) => pathOfKey(queryKey) === "/agents" });
      onCreated(agent);
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="New agent"
      sticky
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={FORM} look="primary" busy={create.isPending}>
            Create agent
          </Button>
        </>
      }
    >
      <form
        id={FORM}
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <Field label="Name">
          <Input
            required
            maxLength={200}
            placeholder="orders"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </Field>
        <Field
          label="Instructions"
          hint="What the model is told before every query, besides your functions. It can be changed later. Put no secrets here: a model may repeat it."
        >
          <Textarea
            rows={4}
            maxLength={20_000}
            value={instructions}
            onChange={(event) => setInstructions(event.target.value)}
          />
        </Field>
        <Fault error={create.error} />
      </form>
    </Dialog>
  );
}

function Created({ created: { agent, key }, onClose }: { created: CreatedAgent; onClose: () => void }) {
  const { baseUrl } = useSession();
  return (
    <Dialog
      open
      onClose={onClose}
      sticky
      wide
      title={`${agent.name} is ready`}
      description="Copy its key now: it is shown this once. Further keys can be made at any time."
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Link to="/agents/$agentId/runtimes" params={{ agentId: agent.agentId }} className={buttonClass("primary")}>
            Connect its functions
          </Link>
        </>
      }
    >
      <div className="grid gap-5">
        <Secret label="API key" secret={key.secret} />
        <section className="min-w-0">
          <h3 className="mb-1 font-semibold">Send a query</h3>
          <p className="text-muted mb-2 text-sm">
            Until functions are connected it answers “Agent session not found”. The snippets read the key from the
            environment, so that it stays out of files and history.
          </p>
          <Snippets
            baseUrl={baseUrl}
            agentId={agent.agentId}
            apiKey={key.secret}
            body={{ query: "What can you do?" }}
          />
        </section>
      </div>
    </Dialog>
  );
}
