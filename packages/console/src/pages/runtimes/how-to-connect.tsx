import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useSession } from "../../state/session.ts";
import { Card } from "../../ui/card.tsx";
import { Command } from "../../ui/code.tsx";
import { GuardedLink } from "../../ui/guarded-button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ConnectSnippets } from "../keys/connect-snippets.tsx";

/** How a runtime of this agent is started, and what to look at when it does not come up. */
export function HowToConnect({ agentId, open }: { agentId: string; open: boolean }) {
  if (open)
    return (
      <div className="grid gap-5 lg:grid-cols-2">
        <Card title="Start one">
          <Steps agentId={agentId} />
        </Card>
        <Card title="When it does not connect">
          <Faults />
        </Card>
      </div>
    );
  return (
    <details className="border-line bg-surface shadow-card group min-w-0 rounded-lg border">
      <summary className="hover:bg-hover/60 flex items-center gap-2 rounded-lg px-4 py-2.5 text-sm font-semibold">
        <Icon name="right" className="size-3.5 transition-transform group-open:rotate-90" />
        Start another, or mend one that does not connect
      </summary>
      <div className="border-line grid gap-6 border-t p-4 lg:grid-cols-2">
        <Steps agentId={agentId} />
        <Faults />
      </div>
    </details>
  );
}

function Steps({ agentId }: { agentId: string }) {
  return (
    <ol className="grid min-w-0 gap-4">
      <Step number={1} title="Make a runtime key">
        <p className="text-muted mb-2 text-sm">
          It belongs to this agent alone, and asks no queries. The console shows it once.
        </p>
        <GuardedLink
          needs="developer"
          size="small"
          icon="key"
          link={
            <Link to="/agents/$agentId/keys" params={{ agentId }} search={{ kind: "runtime", create: "runtime" }} />
          }
        >
          New runtime key
        </GuardedLink>
      </Step>
      <Step number={2} title="Start it where your functions run">
        <p className="text-muted mb-2 text-sm">
          It connects outwards, so that nothing has to be opened there. Several may run at a time.
        </p>
        <ConnectSnippets agentId={agentId} />
      </Step>
    </ol>
  );
}

const Step = ({ number, title, children }: { number: number; title: string; children: ReactNode }) => (
  <li className="flex min-w-0 gap-3">
    <span
      aria-hidden="true"
      className="border-line text-muted flex size-5 shrink-0 items-center justify-center rounded-full border text-xs"
    >
      {number}
    </span>
    <div className="min-w-0 flex-1">
      <h3 className="text-sm font-semibold">{title}</h3>
      {children}
    </div>
  </li>
);

/** What goes wrong most often, as the runtime's own log says it. */
function Faults() {
  const { baseUrl } = useSession();
  const faults: [said: string, remedy: ReactNode][] = [
    [
      "refused the runtime key",
      "It is revoked, expired, or an API key. Only keys of the kind “runtime key” connect functions.",
    ],
    ["belongs to another agent", "The key is right, the agent id is not: each agent has runtime keys of its own."],
    ["the address is no control plane", <Address key="address" baseUrl={baseUrl} />],
    [
      "no link to the control plane",
      "Something between the two ends it. A proxy must pass WebSocket upgrades on /functions/connect, and the machine must be able to reach the address.",
    ],
    [
      "refused the function set",
      "The reason names the fault: a schema that is too large or too deep, or more than 200 functions.",
    ],
  ];
  return (
    <div className="grid min-w-0 content-start gap-4">
      <dl className="grid gap-3 text-sm">
        {faults.map(([said, remedy]) => (
          <div key={said}>
            <dt className="font-medium">“{said}”</dt>
            <dd className="text-muted">{remedy}</dd>
          </div>
        ))}
      </dl>
      <div className="grid gap-1.5">
        <p className="text-muted text-sm">Or let the machine look for itself:</p>
        <Command text={`patchbay doctor --url ${baseUrl}`} />
      </div>
    </div>
  );
}

const Address = ({ baseUrl }: { baseUrl: string }) => (
  <>
    The runtime was given another one. This service is at <code className="font-mono text-xs">{baseUrl}</code>.
  </>
);
