/** A longer text is cut. */
export const ONE_LINE_UNITS = 300;

/** A JSON value on one line, without an object's braces: `order_id: "#W1", reason: "…"`. */
export function oneLine(value: unknown): string {
  if (typeof value === "string") return value.slice(0, ONE_LINE_UNITS);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return (JSON.stringify(value) ?? "").slice(0, ONE_LINE_UNITS);
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${JSON.stringify(field)}`);
  return fields.join(", ").slice(0, ONE_LINE_UNITS);
}
