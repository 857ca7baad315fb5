import type { Runtime } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { useSession } from "../../api/api.ts";
import { connectSnippetsOf } from "../../format/snippets.ts";
import { LinkButton, TextLink } from "../../ui/button.tsx";
import { Command } from "../../ui/code.tsx";
import { Icon } from "../../ui/icon.tsx";
import { EmptyState } from "../../ui/page.tsx";
import { SnippetTabs } from "../../ui/text/snippet.tsx";
import { Badge, Status } from "../../ui/values.tsx";

/** The command and the code that connect a runtime. */
export function ConnectSnippets({ agentId, runtimeKey }: { agentId: string; runtimeKey?: string | undefined }) {
  const { baseUrl } = useSession();
  return (
    <SnippetTabs
      secret={runtimeKey}
      insertLabel="Insert my key"
      snippets={(key) => {
        const { cli, code } = connectSnippetsOf({ baseUrl, agentId, runtimeKey: key });
        return [
          { label: "Command", text: cli },
          { label: "TypeScript", text: code },
        ];
      }}
    />
  );
}

/** Shown in place of lists that need functions, until a runtime has connected some. */
export function NeverConnected({ agentId, children }: { agentId: string; children: ReactNode }) {
  const { baseUrl } = useSession();
  return (
    <EmptyState
      icon="function"
      title="No functions yet"
      command={connectSnippetsOf({ baseUrl, agentId }).cli}
      action={
        <LinkButton to="/agents/$agentId/runtimes" params={{ agentId }} look="primary">
          How to connect
        </LinkButton>
      }
    >
      {children}
    </EmptyState>
  );
}

/** Whether a runtime is connected, and whether its function set waits for a confirmation. */
export const RuntimeState = ({ connected, draining, pending }: Pick<Runtime, "connected" | "draining" | "pending">) => (
  <span className="flex flex-wrap gap-1">
    <Status state={draining ? "draining" : connected ? "connected" : "disconnected"} />
    {connected && pending && (
      <Badge tone="warn" icon="clock">
        waiting for confirmation
      </Badge>
    )}
  </span>
);

/** Says that queries fail, with the command that connects a runtime. */
export function NotConnected({ agentId }: { agentId: string }) {
  const { baseUrl } = useSession();
  return (
    <section aria-label="No runtime is connected" className="grid min-w-0 gap-2.5">
      <p className="flex items-start gap-2 text-sm">
        <Icon name="alert" className="text-warn mt-0.5 size-4" />
        <span className="min-w-0">
          <span className="block font-medium">No runtime is connected.</span>
          <span className="text-muted">Queries fail with “Agent session not found”. Start a runtime:</span>
        </span>
      </p>
      <Command text={connectSnippetsOf({ baseUrl, agentId }).cli} />
      <p className="text-muted text-xs">
        Create a runtime key under{" "}
        <TextLink to="/agents/$agentId/keys" params={{ agentId }} search={{ kind: "runtime" }}>
          Keys
        </TextLink>
        .
      </p>
    </section>
  );
}
