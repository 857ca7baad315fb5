import type { CreatedCredential } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { useSession } from "../../api/api.ts";
import { localSnippetOf } from "../../format/snippets.ts";
import { NewSecret } from "../../parts/secret/secret-dialogs.tsx";
import { Section } from "../../ui/page.tsx";
import { Snippets, SnippetTabs } from "../../ui/text/snippet.tsx";
import { ConnectSnippets } from "../../parts/runtime/connect.tsx";
import { KINDS } from "./kinds.ts";

/** Shows a new secret and how to use it; the API does not return it again. */
export function CreatedKey({
  created,
  note,
  onClose,
}: {
  created: CreatedCredential;
  note?: ReactNode;
  onClose: () => void;
}) {
  const { credential, secret } = created;
  const { kind } = credential;
  return (
    <NewSecret
      wide
      title={`Your new ${KINDS[kind].singular}`}
      label={KINDS[kind].singular}
      secret={secret}
      onClose={onClose}
    >
      {note}
      <Usage {...created} />
    </NewSecret>
  );
}

function Usage({ credential: { kind, agentId, roles }, secret }: CreatedCredential) {
  const { baseUrl } = useSession();
  if (kind === "api")
    return (
      <Section title="Send a query">
        <Snippets
          agentId={agentId}
          apiKey={secret}
          body={{ query: "What can you do?", ...(roles?.[0] !== undefined && { role: roles[0] }) }}
        />
      </Section>
    );
  if (kind === "runtime")
    return (
      <Section title="Connect your functions">
        <ConnectSnippets agentId={agentId} runtimeKey={secret} />
      </Section>
    );
  return (
    <Section title="Use the local API">
      <SnippetTabs
        secret={secret}
        insertLabel="Insert my token"
        snippets={(accessToken) => [{ label: "curl", text: localSnippetOf(baseUrl, accessToken) }]}
      />
    </Section>
  );
}
