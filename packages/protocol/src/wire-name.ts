/** The longest name of a function on the wires of models and of MCP. */
export const WIRE_NAME_CHARS = 64;

/**
 * A function's name as every provider and every client of MCP takes it: Gemini wants a letter or underscore first, Anthropic and
 * OpenAI know no dots. A name that all take stays as it is. Different names may become one.
 */
export function wireName(name: string): string {
  const cleaned = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const begun = /^[A-Za-z_]/.test(cleaned) ? cleaned : `_${cleaned}`;
  return begun.slice(0, WIRE_NAME_CHARS);
}
