import type { RunTrace } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { formatCount } from "../../format/numbers.ts";
import { CodeBlock } from "../../ui/code.tsx";
import { Json } from "../../ui/text/json.tsx";
import { Money } from "../../ui/values.tsx";

/** A run property, as its page and a comparison show it. */
export interface RunFact {
  name: string;
  show: (run: RunTrace) => ReactNode;
  /** What must be equal for two runs to count as the same. */
  value: (run: RunTrace) => unknown;
}

/** A run's model settings besides its provider and its model. */
export const MODEL_SETTINGS: RunFact[] = [
  {
    name: "Temperature",
    show: ({ settings }) => settings.temperature ?? "Provider default",
    value: ({ settings }) => settings.temperature,
  },
  {
    name: "Max tokens",
    show: ({ settings }) => formatCount(settings.maxTokens),
    value: ({ settings }) => settings.maxTokens,
  },
  { name: "Steps", show: ({ settings }) => formatCount(settings.steps), value: ({ settings }) => settings.steps },
  {
    name: "Fallback",
    show: ({ settings: { fallback } }) =>
      fallback.length === 0 ? (
        "none"
      ) : (
        <ol className="font-mono text-xs break-all">
          {fallback.map((model) => (
            <li key={model}>{model}</li>
          ))}
        </ol>
      ),
    value: ({ settings }) => settings.fallback,
  },
  {
    name: "History",
    show: ({ settings: { historyTokens } }) =>
      historyTokens === null ? "Half the model's context window" : `${formatCount(historyTokens)} tokens`,
    value: ({ settings }) => settings.historyTokens,
  },
  {
    name: "Instructions",
    show: ({ instructions }) =>
      instructions === null ? "The agent's" : <CodeBlock text={instructions} title="This run's" wrap />,
    value: ({ instructions }) => instructions,
  },
  {
    name: "Cost cap",
    show: ({ settings: { maxCostUsd } }) => (maxCostUsd === null ? "none" : <Money usd={maxCostUsd} />),
    value: ({ settings }) => settings.maxCostUsd,
  },
  {
    name: "Answer schema",
    show: ({ settings: { responseSchema } }) =>
      responseSchema === null ? "none" : <Json value={responseSchema} name="Answer schema" />,
    value: ({ settings }) => settings.responseSchema,
  },
];
