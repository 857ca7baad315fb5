import type { Agent, CreatedCredential } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useAction } from "../../api/action.ts";
import { api, refetch, resource, useSession } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { FIRST_SERVICE, KEY_VARIABLE, shellQuote } from "../../format/snippets.ts";
import { toPage } from "../../state/addresses.ts";
import { GuardedButton, QuietLink } from "../../ui/button.tsx";
import { CodeBlock, Command } from "../../ui/code.tsx";
import { Secret } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, Fault } from "../../ui/page.tsx";
import { PlaygroundLink } from "../../parts/playground/playground-link.tsx";
import { ConnectSnippets } from "../../parts/runtime/connect.tsx";

interface Step {
  title: string;
  done: boolean;
  why: string;
  /** What the step has led to; shown when it is done. */
  result?: string;
  /** How to do it; shown for the first open step. */
  how: ReactNode;
}

/**
 * The steps from an empty organisation to the first answer, with the next one expanded. Without an agent the first step shows
 * `create`. Renders nothing when all steps are done.
 */
export function FirstSteps({ agent, create }: { agent?: Agent; create?: ReactNode }) {
  const steps = stepsOf(agent, create);
  const next = steps.findIndex(({ done }) => !done);
  if (next === -1) return null;
  return (
    <Card title="First steps" description={`${steps.filter(({ done }) => done).length} of ${steps.length} done`} flush>
      <ol>
        {steps.map((step, index) => (
          <li
            key={step.title}
            aria-current={index === next ? "step" : undefined}
            className="border-line flex gap-3 border-b px-4 py-3 last:border-b-0"
          >
            <Mark number={index + 1} done={step.done} current={index === next} />
            <div className="grid min-w-0 flex-1 gap-2.5">
              <div>
                <p className={step.done ? "text-muted" : "font-medium"}>
                  {step.title}
                  {step.done && <span className="sr-only"> (done)</span>}
                  {step.done && step.result !== undefined && (
                    <span className="text-ok ml-2 text-sm">{step.result}</span>
                  )}
                </p>
                {index === next && <p className="text-muted max-w-prose text-sm text-pretty">{step.why}</p>}
              </div>
              {index === next && step.how}
            </div>
          </li>
        ))}
      </ol>
    </Card>
  );
}

const stepsOf = (agent: Agent | undefined, create: ReactNode): Step[] => [
  {
    title: "Create an agent",
    done: agent !== undefined,
    why: "Clients send queries to an agent. A new agent comes with an API key.",
    how: create && <div>{create}</div>,
  },
  {
    title: "Connect your functions",
    done: agent !== undefined && (agent.runtimes > 0 || agent.functions !== null),
    result: `${countOf(agent?.functions ?? 0, "function")} connected`,
    why: "Your functions stay on your machines: a runtime connects out with a runtime key and opens no port.",
    how: agent && <HowToConnect agentId={agent.agentId} />,
  },
  {
    title: "Send the first query",
    done: agent !== undefined && agent.lastQueryAt !== null,
    why: "The role of a query decides which functions the model sees.",
    how: agent && <HowToQuery agentId={agent.agentId} />,
  },
];

/** The file to write, the command that connects it with a new key, and whether it has connected. */
function HowToConnect({ agentId }: { agentId: string }) {
  const { data, error, isPending, mutate } = useAction({
    mutationFn: (): Promise<CreatedCredential> =>
      api.post("/agents/:agent_id/credentials", {
        params: { agentId },
        body: { kind: "runtime", label: "first runtime" },
      }),
    onSuccess: () => refetch("/agents/:agent_id/credentials"),
  });
  const secret = data?.secret;
  return (
    <div className="grid min-w-0 gap-4">
      <Part title="Create a service from a clone of Patchbay">
        <p className="text-muted max-w-prose text-sm text-pretty">
          The packages are not on npm yet. This command packs them and prints a second one, which creates a service in
          another folder.
        </p>
        <Command text="npm run pack" />
      </Part>
      <Part title="Save your functions as its service.ts">
        <CodeBlock text={FIRST_SERVICE} />
      </Part>
      <Part title="Connect them with a runtime key, in your service folder">
        {secret === undefined ? (
          <div>
            <GuardedButton needs="developer" look="primary" icon="key" busy={isPending} onClick={() => mutate()}>
              Create runtime key
            </GuardedButton>
          </div>
        ) : (
          <Secret label="Runtime key" secret={secret} />
        )}
        <Fault error={error} />
        <ConnectSnippets agentId={agentId} runtimeKey={secret} />
      </Part>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p role="status" className="text-muted flex items-center gap-2 text-sm">
          <Icon name="running" className="animate-turn size-3.5" />
          Waiting for a runtime to connect
        </p>
        <QuietLink {...toPage(agentId, "runtimes")}>Troubleshoot</QuietLink>
      </div>
    </div>
  );
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <section aria-label={title} className="grid min-w-0 gap-2">
    <h3 className="text-sm font-semibold">{title}</h3>
    {children}
  </section>
);

/** With a query that the connected service gives as an example. */
function HowToQuery({ agentId }: { agentId: string }) {
  const { baseUrl } = useSession();
  const { data } = useQuery(resource("/agents/:agent_id/functions", { params: { agentId } }));
  const { query = "What can you do?", role = data?.roles[0] } = data?.exampleQueries[0] ?? {};
  const body = JSON.stringify({ query, ...(role !== undefined && { role }) });
  const url = `${baseUrl}/agents/${encodeURIComponent(agentId)}/query`;
  return (
    <>
      <PlaygroundLink agentId={agentId} search={{ query, role }} className="justify-self-start">
        {`Ask “${query.length > QUERY_UNITS ? `${query.slice(0, QUERY_UNITS)}…` : query}”`}
      </PlaygroundLink>
      <Command
        text={`curl ${shellQuote(url)} -H "X-API-Key: $${KEY_VARIABLE}" -H 'Content-Type: application/json' -d ${shellQuote(body)}`}
      />
    </>
  );
}

/** Query characters on the button. */
const QUERY_UNITS = 60;

function Mark({ number, done, current }: { number: number; done: boolean; current: boolean }) {
  const open = current ? "bg-accent-fill text-on-accent" : "bg-idle-soft text-idle";
  return (
    <span
      aria-hidden="true"
      className={`flex size-6 shrink-0 items-center justify-center rounded-full text-xs font-semibold ${
        done ? "bg-ok-soft text-ok" : open
      }`}
    >
      {done ? <Icon name="check" className="size-3.5" /> : number}
    </span>
  );
}
