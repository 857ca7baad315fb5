import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { connectSnippetsOf } from "../../format/snippets.ts";
import { useSession } from "../../state/session.ts";
import { buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/states.tsx";

/** Stands for what is known from functions alone, of an agent that never had any. */
export function NeverConnected({ agentId, children }: { agentId: string; children: ReactNode }) {
  const { baseUrl } = useSession();
  return (
    <EmptyState
      icon="function"
      title="No functions were connected yet"
      command={connectSnippetsOf({ baseUrl, agentId }).cli}
      action={
        <Link to="/agents/$agentId/runtimes" params={{ agentId }} className={buttonClass("primary")}>
          How to connect
        </Link>
      }
    >
      {children}
    </EmptyState>
  );
}
