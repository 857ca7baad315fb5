interface Provider {
  label: string;
  /** Prefix of the variables `_API_KEY` and `_BASE_URL`. */
  env: string;
  keyShape: RegExp;
  /** Name in the semantic conventions of OpenTelemetry. */
  otel: string;
  /** True for providers with compatible servers that need no key. */
  keyOptional: boolean;
}

/**
 * The providers that a caller may name, in the order in which one with a key is the default. `models/src/providers.ts` has their
 * wires.
 */
export const PROVIDERS = {
  anthropic: { label: "Anthropic", env: "ANTHROPIC", keyShape: /^sk-ant-/, otel: "anthropic", keyOptional: false },
  openai: { label: "OpenAI", env: "OPENAI", keyShape: /^sk-/, otel: "openai", keyOptional: true },
  gemini: { label: "Gemini", env: "GEMINI", keyShape: /^AIza/, otel: "gcp.gemini", keyOptional: false },
} as const satisfies Record<string, Provider>;

/** Names of endpoints, with those of the providers, which name their first endpoint. Nothing can name the offline model. */
export const ENDPOINT_NAME = /^(?!offline$)[a-z][a-z0-9-]{0,39}$/;

/** One of {@link PROVIDERS}. */
export type ProviderName = keyof typeof PROVIDERS;

/** The names of {@link PROVIDERS}. */
export const PROVIDER_NAMES = Object.keys(PROVIDERS) as [ProviderName, ...ProviderName[]];

/** How much a model reasons before it answers. `max`: as much as it can. */
export const REASONING = ["none", "low", "medium", "high", "max"] as const;
/** One of {@link REASONING}. */
export type Reasoning = (typeof REASONING)[number];
