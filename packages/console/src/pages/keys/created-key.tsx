import type { CreatedCredential } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { useSession } from "../../api/api.ts";
import { localSnippetOf } from "../../format/snippets.ts";
import { NewSecret } from "../../parts/secret/secret-dialogs.tsx";
import { Section } from "../../ui/page.tsx";
import { Snippets, SnippetTabs } from "../../ui/text/snippet.tsx";
import { ConnectSnippets } from "../../parts/runtime/connect.tsx";
import { KINDS } from "./kinds.ts";

interface CreatedKeyProps {
  created: CreatedCredential;
  note?: ReactNode;
  onClose: () => void;
}

/** Shows a new secret and how to use it; the API does not return it again. */
export function CreatedKey({ created, note, onClose }: CreatedKeyProps) {
  const { singular } = KINDS[created.credential.kind];
  return (
    <NewSecret wide title={`Your new ${singular}`} label={singular} secret={created.secret} onClose={onClose}>
      {note}
      <Usage {...created} />
    </NewSecret>
  );
}

function Usage({ credential: { kind, agentId, roles }, secret }: CreatedCredential) {
  const { baseUrl } = useSession();
  const body = { query: "What can you do?", ...(roles?.[0] !== undefined && { role: roles[0] }) };
  const [title, snippets] = {
    api: ["Send a query", <Snippets agentId={agentId} apiKey={secret} body={body} />],
    runtime: ["Connect your functions", <ConnectSnippets agentId={agentId} runtimeKey={secret} />],
    access: [
      "Use the local API",
      <SnippetTabs
        secret={secret}
        insertLabel="Insert my token"
        snippets={(accessToken) => [{ label: "curl", text: localSnippetOf(baseUrl, accessToken) }]}
      />,
    ],
  }[kind];
  return <Section title={title}>{snippets}</Section>;
}
