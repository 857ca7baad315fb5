import type { ReactNode } from "react";
import { useSession } from "../../api/api.ts";
import { CLI } from "../../format/snippets.ts";
import { toPage } from "../../state/addresses.ts";
import { GuardedLink, LinkButton } from "../../ui/button.tsx";
import { Command } from "../../ui/code.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card } from "../../ui/page.tsx";
import { ConnectSnippets } from "../../parts/runtime/connect.tsx";

/** How to start a runtime for this agent, and what its errors mean. */
export function HowToConnect({ agentId, open }: { agentId: string; open: boolean }) {
  if (open)
    return (
      <div className="grid gap-5 lg:grid-cols-2">
        <Card title="Add a runtime">
          <Steps agentId={agentId} />
        </Card>
        <Card title="Troubleshooting">
          <Troubleshooting />
        </Card>
      </div>
    );
  return (
    <details className="border-line bg-surface shadow-card group min-w-0 rounded-lg border">
      <summary className="hover:bg-hover/60 flex items-center gap-2 rounded-lg px-4 py-2.5 text-sm font-semibold">
        <Icon name="right" className="size-3.5 transition-transform group-open:rotate-90" />
        Add or troubleshoot a runtime
      </summary>
      <div className="border-line grid gap-6 border-t p-4 lg:grid-cols-2">
        <Steps agentId={agentId} />
        <Troubleshooting />
      </div>
    </details>
  );
}

const Steps = ({ agentId }: { agentId: string }) => (
  <ol className="grid min-w-0 gap-4">
    <Step number={1} title="Create a runtime key">
      <p className="text-muted mb-2 text-sm">It works for this agent only and is shown only once.</p>
      <GuardedLink
        needs="developer"
        size="small"
        icon="key"
        link={<LinkButton {...toPage(agentId, "keys")} search={{ kind: "runtime", create: "runtime" }} />}
      >
        New runtime key
      </GuardedLink>
    </Step>
    <Step number={2} title="Start the runtime in your service folder">
      <p className="text-muted mb-2 text-sm">It connects out and opens no port; several can run at the same time.</p>
      <ConnectSnippets agentId={agentId} />
    </Step>
  </ol>
);

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

/** The most common errors in a runtime's log, with their remedies. */
function Troubleshooting() {
  const { baseUrl } = useSession();
  const errors: [logged: string, remedy: ReactNode][] = [
    ["refused the runtime key", "The key is revoked, expired or not a runtime key; API keys cannot connect."],
    ["belongs to another agent", "The key is valid, but the agent ID is another one: use this agent's runtime key."],
    ["the address is not a control plane", <Address baseUrl={baseUrl} />],
    [
      "no connection to the control plane",
      "Check that the machine can reach the address, and that proxies allow WebSocket upgrades on /functions/connect.",
    ],
    [
      "refused the function set",
      "The reason names the error, such as a schema that is too large or too deep, or more than 200 functions.",
    ],
  ];
  return (
    <div className="grid min-w-0 content-start gap-4">
      <dl className="grid gap-3 text-sm">
        {errors.map(([logged, remedy]) => (
          <div key={logged}>
            <dt className="font-medium">“{logged}”</dt>
            <dd className="text-muted">{remedy}</dd>
          </div>
        ))}
      </dl>
      <div className="grid gap-1.5">
        <p className="text-muted text-sm">Diagnose the connection from that machine:</p>
        <Command text={`${CLI} doctor --url ${baseUrl}`} />
      </div>
    </div>
  );
}

const Address = ({ baseUrl }: { baseUrl: string }) => (
  <>
    Use the address of this control plane: <code className="font-mono text-xs">{baseUrl}</code>.
  </>
);
