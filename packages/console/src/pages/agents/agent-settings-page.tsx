import type { Agent } from "@patchbay/protocol/console";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { api } from "../../api/api.ts";
import { pathOfKey, resource } from "../../api/queries.ts";
import { formatCount } from "../../format/numbers.ts";
import { useMay } from "../../state/session.ts";
import { tellDone } from "../../state/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { Card, Facts } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Field, Input, Textarea } from "../../ui/field.tsx";
import { Time } from "../../ui/figures.tsx";
import { GuardedButton } from "../../ui/guarded-button.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Select } from "../../ui/select.tsx";
import { ErrorState, Fault, Loading, Skeleton } from "../../ui/states.tsx";
import { LeaveQuestion } from "./leave-question.tsx";
import { ModelSettings } from "./model-settings.tsx";

const DeleteAgent = lazy(async () => ({ default: (await import("./delete-agent.tsx")).DeleteAgent }));

const route = getRouteApi("/shell/agents/$agentId/settings");

/** An agent's name, instructions and how it takes changes of access, how its runs ask their model, and its deletion. */
export function AgentSettingsPage() {
  const { agentId } = route.useParams();
  const agent = useQuery(resource("/agents/:agent_id", { params: { agent_id: agentId } }));
  return (
    <>
      <PageHeader title="Agent settings" />
      {agent.data ? (
        <div className="grid max-w-4xl gap-5">
          <General agent={agent.data} />
          <ModelSettings agent={agent.data} />
          {agent.data.functions !== null && <OwnInstructions agentId={agentId} />}
          <End agent={agent.data} />
        </div>
      ) : agent.error ? (
        <ErrorState error={agent.error} onRetry={() => void agent.refetch()} />
      ) : (
        <Loading label="Loading the agent">
          <Skeleton className="h-96 w-full max-w-4xl rounded-lg" />
        </Loading>
      )}
    </>
  );
}

const INSTRUCTIONS_LIMIT = 20_000;

const ACCESS_CHANGES = [
  { value: "follow", label: "Use them at once" },
  { value: "confirm", label: "Wait until a developer or an owner confirms them" },
] as const;

function General({ agent }: { agent: Agent }) {
  const mayChange = useMay("developer");
  const queries = useQueryClient();
  // Undefined while it is as it is stored, so that a change made elsewhere shows.
  const [draft, setDraft] = useState<Partial<Pick<Agent, "name" | "instructions" | "accessChanges">>>({});
  const { name, instructions, accessChanges } = { ...agent, ...draft };
  const dirty =
    name.trim() !== agent.name || instructions !== agent.instructions || accessChanges !== agent.accessChanges;
  const save = useMutation({
    mutationFn: () =>
      api.patch("/agents/:agent_id", {
        params: { agent_id: agent.agentId },
        body: { name: name.trim(), instructions, accessChanges },
      }),
    onSuccess: (saved) => {
      queries.setQueryData(resource("/agents/:agent_id", { params: { agent_id: agent.agentId } }).queryKey, saved);
      void queries.invalidateQueries({ predicate: ({ queryKey }) => pathOfKey(queryKey) === "/agents" });
      setDraft({});
      tellDone("Saved", "It holds from the next query on.");
    },
  });
  return (
    <Card title="General">
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Facts
          items={[
            [
              "Id",
              <span key="id" className="flex items-center gap-1">
                <code className="min-w-0 font-mono text-xs break-all">{agent.agentId}</code>
                <span className="-my-1">
                  <CopyButton text={agent.agentId} label="Copy agent id" />
                </span>
              </span>,
            ],
            ["Created", <Time key="created" at={agent.createdAt} />],
          ]}
        />
        <Field label="Name">
          <Input
            required
            maxLength={200}
            readOnly={!mayChange}
            value={name}
            onChange={(event) => setDraft({ ...draft, name: event.target.value })}
          />
        </Field>
        <Field
          label="Instructions"
          hint={
            <span className="flex flex-wrap justify-between gap-x-4">
              <span>Told to the model before every query. Put no secrets here: a model may repeat it.</span>
              <span>
                {formatCount(instructions.length)} of {formatCount(INSTRUCTIONS_LIMIT)} characters
              </span>
            </span>
          }
        >
          <Textarea
            rows={12}
            maxLength={INSTRUCTIONS_LIMIT}
            readOnly={!mayChange}
            value={instructions}
            onChange={(event) => setDraft({ ...draft, instructions: event.target.value })}
          />
        </Field>
        <Field
          label="Functions that widen access"
          hint="Functions that let a role do or see more than the ones before are listed on Access."
        >
          <Select
            options={ACCESS_CHANGES}
            disabled={!mayChange}
            value={accessChanges}
            onChange={(next) => setDraft({ ...draft, accessChanges: next })}
          />
        </Field>
        <Fault error={save.error} />
        <div className="flex flex-wrap gap-2">
          <GuardedButton
            needs="developer"
            type="submit"
            look="primary"
            busy={save.isPending}
            disabled={!dirty || name.trim() === ""}
          >
            Save
          </GuardedButton>
          {dirty && (
            <Button look="ghost" onClick={() => setDraft({})}>
              Discard
            </Button>
          )}
        </div>
      </form>
      <LeaveQuestion dirty={dirty} />
    </Card>
  );
}

/** What the connected service tells the model by itself: it stands in the owner's code. */
function OwnInstructions({ agentId }: { agentId: string }) {
  const { data } = useQuery(resource("/agents/:agent_id/functions", { params: { agent_id: agentId } }));
  if (!data?.instructions) return null;
  return (
    <Card
      title="Instructions of the service"
      description={`They come with the functions of ${data.service} and follow yours. They are changed in its code.`}
    >
      <p className="max-w-prose text-sm whitespace-pre-wrap">{data.instructions}</p>
    </Card>
  );
}

function End({ agent }: { agent: Agent }) {
  const [asked, setAsked] = useState(false);
  return (
    <Card title="Delete this agent">
      <div className="flex flex-wrap items-center justify-between gap-4">
        <p className="text-muted max-w-prose text-sm text-pretty">
          Its keys end at once: queries are refused, and runtimes are let in no more. Its pages are gone; what it did
          stays in the audit log. This cannot be undone.
        </p>
        <GuardedButton needs="owner" look="danger" icon="trash" onClick={() => setAsked(true)}>
          Delete agent
        </GuardedButton>
      </div>
      <Suspense>{asked && <DeleteAgent agent={agent} onClose={() => setAsked(false)} />}</Suspense>
    </Card>
  );
}
