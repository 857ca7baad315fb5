import type { Agent } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { useSession } from "../../api/api.ts";
import { connectSnippetsOf, KEY_VARIABLE, shellQuote } from "../../format/snippets.ts";
import { GuardedLink, LinkButton } from "../../ui/button.tsx";
import { Command } from "../../ui/code.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card } from "../../ui/page.tsx";
import { PlaygroundLink } from "../playground/playground-link.tsx";

interface Step {
  title: string;
  done: boolean;
  why: string;
  /** How to do it; shown for the first open step. */
  how: ReactNode;
}

/**
 * The steps from an empty organisation to the first answer, with the next one expanded. Without an agent the first step shows
 * `create`. Renders nothing when all steps are done.
 */
export function FirstSteps({ agent, create }: { agent?: Agent; create?: ReactNode }) {
  const steps = useSteps(agent, create);
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

function useSteps(agent: Agent | undefined, create: ReactNode): Step[] {
  return [
    {
      title: "Create an agent",
      done: agent !== undefined,
      why: "Clients send queries to an agent. A new agent comes with an API key.",
      how: create && <div>{create}</div>,
    },
    {
      title: "Connect your functions",
      done: agent !== undefined && (agent.runtimes > 0 || agent.functions !== null),
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
}

function HowToConnect({ agentId }: { agentId: string }) {
  const { baseUrl } = useSession();
  return (
    <>
      <Command text={connectSnippetsOf({ baseUrl, agentId }).cli} />
      <div className="flex flex-wrap gap-2">
        <GuardedLink
          needs="developer"
          look="primary"
          link={
            <LinkButton
              to="/agents/$agentId/keys"
              params={{ agentId }}
              search={{ kind: "runtime", create: "runtime" }}
            />
          }
        >
          Create runtime key
        </GuardedLink>
        <LinkButton to="/agents/$agentId/runtimes" params={{ agentId }}>
          How to connect
        </LinkButton>
      </div>
    </>
  );
}

function HowToQuery({ agentId }: { agentId: string }) {
  const { baseUrl } = useSession();
  const url = `${baseUrl}/agents/${encodeURIComponent(agentId)}/query`;
  const body = `-H 'Content-Type: application/json' -d '{"query":"What can you do?"}'`;
  return (
    <>
      <Command text={`curl ${shellQuote(url)} -H "X-API-Key: $${KEY_VARIABLE}" ${body}`} />
      <PlaygroundLink agentId={agentId} className="justify-self-start" />
    </>
  );
}

function Mark({ number, done, current }: { number: number; done: boolean; current: boolean }) {
  if (done)
    return (
      <span
        aria-hidden="true"
        className="bg-ok-soft text-ok flex size-6 shrink-0 items-center justify-center rounded-full"
      >
        <Icon name="check" className="size-3.5" />
      </span>
    );
  return (
    <span
      aria-hidden="true"
      className={`flex size-6 shrink-0 items-center justify-center rounded-full text-xs font-semibold ${
        current ? "bg-accent-fill text-on-accent" : "bg-idle-soft text-idle"
      }`}
    >
      {number}
    </span>
  );
}
