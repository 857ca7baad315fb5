import type { CreatedCredential } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { useSession } from "../../api/api.ts";
import { localSnippetOf } from "../../format/snippets.ts";
import { Button } from "../../ui/button.tsx";
import { Secret } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Snippets, SnippetTabs } from "../../ui/snippet.tsx";
import { ConnectSnippets } from "../runtimes/how-to-connect.tsx";
import { KINDS } from "./kinds.ts";

interface CreatedKeyProps {
  created: CreatedCredential;
  note?: ReactNode;
  onClose: () => void;
}

/** Shows a new secret and how to use it; the API does not return it again. */
export function CreatedKey({ created: { credential, secret }, note, onClose }: CreatedKeyProps) {
  const { kind } = credential;
  return (
    <Dialog
      open
      onClose={onClose}
      sticky
      wide
      title={`Your new ${KINDS[kind].singular}`}
      description="Copy it now: it is shown only once."
      footer={<Button onClick={onClose}>Done</Button>}
    >
      <div className="grid gap-5">
        <div className="grid gap-3">
          <Secret label={KINDS[kind].singular} secret={secret} />
          {note}
        </div>
        <Usage credential={credential} secret={secret} />
      </div>
    </Dialog>
  );
}

function Usage({ credential: { kind, agentId, roles }, secret }: CreatedCredential) {
  const { baseUrl } = useSession();
  if (kind === "api")
    return (
      <Titled title="Send a query">
        <Snippets
          baseUrl={baseUrl}
          agentId={agentId}
          apiKey={secret}
          body={{ query: "What can you do?", ...(roles?.[0] !== undefined && { role: roles[0] }) }}
        />
      </Titled>
    );
  if (kind === "runtime")
    return (
      <Titled title="Connect your functions">
        <ConnectSnippets agentId={agentId} runtimeKey={secret} />
      </Titled>
    );
  return (
    <Titled title="Use the local API">
      <SnippetTabs
        secret={secret}
        insertLabel="Insert my token"
        snippets={(accessToken) => [{ label: "curl", text: localSnippetOf({ baseUrl, accessToken }) }]}
      />
    </Titled>
  );
}

const Titled = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="min-w-0">
    <h3 className="mb-1 font-semibold">{title}</h3>
    {children}
  </section>
);
