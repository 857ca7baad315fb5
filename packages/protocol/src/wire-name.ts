/** The longest function name on the wires to models and MCP clients. */
export const WIRE_NAME_CHARS = 64;

/**
 * A function's name in a form that every provider and MCP client accepts: Gemini wants a letter or underscore first,
 * Anthropic and OpenAI know no dots. A name that all take stays as it is. Different names may become one.
 */
export function wireName(name: string): string {
  const cleaned = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const begun = /^[A-Za-z_]/.test(cleaned) ? cleaned : `_${cleaned}`;
  return begun.slice(0, WIRE_NAME_CHARS);
}
