const KEYS = "ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY";

/** The default model provider in words, with what to do where it is no real one. */
export function describeProvider(provider: string): string {
  if (provider === "none") return `none, so queries fail; set ${KEYS}`;
  if (provider === "offline") return `offline, a stand-in that is no language model; set ${KEYS} for a real one`;
  return provider;
}
