import { connectSnippetsOf } from "../../format/snippets.ts";
import { useSession } from "../../state/session.ts";
import { SnippetTabs } from "../../ui/snippet.tsx";

/** How a runtime of an agent is started. */
export function ConnectSnippets({ agentId, runtimeKey }: { agentId: string; runtimeKey?: string }) {
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
