import type { RunTrace } from "@patchbay/protocol/console";
import { formatCount } from "../../format/numbers.ts";
import { Card, Facts } from "../../ui/card.tsx";
import { Money } from "../../ui/figures.tsx";

/** How the run asks its model: from its query, the agent's settings and the defaults of the service, as they were when it began. */
export function RunSettings({ run: { provider, model, settings } }: { run: RunTrace }) {
  const { temperature, maxTokens, steps, fallback, historyTokens, maxCostUsd, hasResponseSchema } = settings;
  return (
    <Card
      title="Model settings"
      description="From the query, the agent and the defaults, as they were when the run began."
    >
      <Facts
        items={[
          ["Provider", provider || "none"],
          ["Model", <code className="font-mono text-xs break-all">{model || "none"}</code>],
          ["Temperature", temperature ?? "The provider's default"],
          ["Max tokens", formatCount(maxTokens)],
          ["Steps", formatCount(steps)],
          [
            "Fallback",
            fallback.length === 0 ? (
              "none"
            ) : (
              <ol className="font-mono text-xs break-all">
                {fallback.map((one) => (
                  <li key={one}>{one}</li>
                ))}
              </ol>
            ),
          ],
          [
            "History",
            historyTokens === null ? "Half of the model's context window" : `${formatCount(historyTokens)} tokens`,
          ],
          ["Cost cap", maxCostUsd === null ? "none" : <Money usd={maxCostUsd} />],
          ["Answer schema", hasResponseSchema ? "yes" : "none"],
        ]}
      />
    </Card>
  );
}
