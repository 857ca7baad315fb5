import { Registry } from "prom-client";
import { createMetrics } from "@patchbay/control-plane/start/metrics";
import type { Section } from "./section.ts";

/** What prom-client keeps of a metric and its types do not show. */
interface Registered {
  name: string;
  help: string;
  type?: string;
  labelNames?: string[];
  constructor: { name: string };
}

/** The metrics of the service; those of the Node process come from prom-client. */
export function metricSections(): Section[] {
  const registry = new Registry();
  createMetrics({ registry });
  const own = (registry.getMetricsAsArray() as unknown as Registered[]).filter(({ name }) =>
    name.startsWith("patchbay_"),
  );
  return [
    {
      columns: ["metric", "type and labels", "meaning"],
      entries: own.map(({ name, help, labelNames = [], constructor }) => ({
        name: `\`${name}\``,
        facts: [constructor.name.toLowerCase(), ...labelNames.map((label) => `\`${label}\``)].join(", "),
        description: `${help}.`,
      })),
    },
  ];
}
