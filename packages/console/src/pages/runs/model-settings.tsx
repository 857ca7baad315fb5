import type { RunTrace } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { formatCount } from "../../format/numbers.ts";
import { CodeBlock } from "../../ui/code.tsx";
import { Json } from "../../ui/text/json.tsx";
import { Money } from "../../ui/values.tsx";

/** A run property, as its page and a comparison show it. */
export interface RunFact {
  name: string;
  /** What must be equal for two runs to count as the same. */
  value: (run: RunTrace) => unknown;
  show: (run: RunTrace) => ReactNode;
}

type Shown = RunTrace & RunTrace["settings"];

/** The fact with the value of one property. */
export function factOf<Key extends keyof Shown>(
  name: string,
  key: Key,
  show: (value: Shown[Key], run: RunTrace) => ReactNode,
): RunFact {
  const value = (run: RunTrace): Shown[Key] => ({ ...run, ...run.settings })[key];
  return { name, value, show: (run) => show(value(run), run) };
}

/** A run's model settings besides its provider and its model. */
export const MODEL_SETTINGS: RunFact[] = [
  factOf("Temperature", "temperature", (value) => value ?? "Provider default"),
  factOf("Reasoning", "reasoning", (value) => value ?? "Provider default"),
  factOf("Max tokens", "maxTokens", formatCount),
  factOf("Steps", "steps", formatCount),
  factOf("Fallback", "fallback", (models) =>
    models.length === 0 ? (
      "none"
    ) : (
      <ol className="font-mono text-xs break-all">
        {models.map((model) => (
          <li key={model}>{model}</li>
        ))}
      </ol>
    ),
  ),
  factOf("History", "historyTokens", (tokens) =>
    tokens === null ? "Half the model's context window" : `${formatCount(tokens)} tokens`,
  ),
  factOf("Instructions", "instructions", (text) =>
    text === null ? "The agent's" : <CodeBlock text={text} title="This run's" wrap />,
  ),
  factOf("Cost cap", "maxCostUsd", (usd) => (usd === null ? "none" : <Money usd={usd} />)),
  factOf("Answer schema", "responseSchema", (schema) =>
    schema === null ? "none" : <Json value={schema} name="Answer schema" />,
  ),
];
