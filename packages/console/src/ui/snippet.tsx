import { useState } from "react";
import { snippetsOf, type SnippetLanguage, type SnippetQuery } from "../format/snippets.ts";
import { CodeBlock } from "./code.tsx";
import { Tabs } from "./tabs.tsx";

const LANGUAGES: { value: SnippetLanguage; label: string }[] = [
  { value: "curl", label: "curl" },
  { value: "fetch", label: "fetch" },
  { value: "python", label: "Python" },
];

/** A query ready to be copied, for curl, fetch and Python. */
export function Snippets(query: SnippetQuery) {
  const [language, setLanguage] = useState<SnippetLanguage>("curl");
  const snippets = snippetsOf(query);
  return (
    <Tabs
      value={language}
      onChange={setLanguage}
      tabs={LANGUAGES.map(({ value, label }) => ({ value, label, content: <CodeBlock text={snippets[value]} /> }))}
    />
  );
}
