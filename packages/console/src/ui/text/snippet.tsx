import { type ReactNode, useState } from "react";
import { useSession } from "../../api/api.ts";
import { type SnippetQuery, snippetsOf } from "../../format/snippets.ts";
import { CodeBlock } from "../code.tsx";
import { Tabs } from "../tabs.tsx";
import { Switch } from "../form/toggle.tsx";

/** A query for curl, fetch and Python. With an `apiKey`, a switch inserts it into the snippets. */
export function Snippets({ apiKey, ...query }: Omit<SnippetQuery, "baseUrl">) {
  const { baseUrl } = useSession();
  return (
    <SnippetTabs
      secret={apiKey}
      insertLabel="Insert my key"
      snippets={(key) => {
        const { curl, fetch, python } = snippetsOf({ ...query, baseUrl, apiKey: key });
        return [
          { label: "curl", text: curl },
          { label: "fetch", text: fetch },
          { label: "Python", text: python },
        ];
      }}
    />
  );
}

interface SnippetTabsProps {
  secret?: string | undefined;
  insertLabel: ReactNode;
  snippets: (secret: string | undefined) => readonly { label: string; text: string }[];
}

/** Tabs with equivalent snippets. The secret is inserted only on request: shell histories and files would keep it. */
export function SnippetTabs({ secret, insertLabel, snippets }: SnippetTabsProps) {
  const [chosen, setChosen] = useState<string>();
  const [inserted, setInserted] = useState(false);
  const written = snippets(inserted ? secret : undefined);
  return (
    <Tabs
      value={chosen ?? written[0]?.label ?? ""}
      onChange={setChosen}
      tabs={written.map(({ label, text }) => ({ value: label, label, content: <CodeBlock text={text} /> }))}
      actions={
        secret !== undefined && (
          <span className="shrink-0 pb-1.5">
            <Switch label={insertLabel} checked={inserted} onChange={setInserted} />
          </span>
        )
      }
    />
  );
}
