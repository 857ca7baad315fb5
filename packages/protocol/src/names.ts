// Without zod, so that a command which only lists these names does not load it.

/** The providers a caller may name. */
export const PROVIDER_NAMES = ["anthropic", "openai", "gemini"] as const;
/** `provider` of an `LlmConfig`. */
export type ProviderName = (typeof PROVIDER_NAMES)[number];

/**
 * Model names that a query or the operator may give. Some providers take the name as a part of the request's path, so a name
 * holds nothing that can change the path or the query of an address.
 */
export const MODEL_NAME = /^(?!.*(?:\.\.|\/\/))[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$/;

/** Members of a query that an agent can refuse. `model` covers the provider too. */
export const OVERRIDES = ["model", "temperature", "maxTokens", "fallback", "responseSchema"] as const;
export type Override = (typeof OVERRIDES)[number];

/**
 * What happens when a new function set widens access: `follow` uses it, `confirm` keeps the set before it until a developer or an
 * owner confirms the new one.
 */
export const ACCESS_CHANGES = ["follow", "confirm"] as const;
export type AccessChanges = (typeof ACCESS_CHANGES)[number];
