import type { FieldShape } from "./field-shape.ts";

/** The owner's description and the schema's limits. */
export function hintOf(shape: FieldShape): string | undefined {
  const parts = [shape.description ?? shape.title, boundsOf(shape)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(" · ");
}

function boundsOf(shape: FieldShape): string | undefined {
  switch (shape.kind) {
    case "text":
      return shape.format ?? between(shape.minLength || undefined, shape.maxLength, "characters");
    case "number":
      return numberBounds(shape);
    case "record":
      return "any names";
    case "list":
      return between(shape.minItems || undefined, shape.maxItems, "items");
    case "json":
      return "JSON";
    default:
      return undefined;
  }
}

function numberBounds({ integer, minimum, maximum, above, below, multipleOf }: FieldShape & { kind: "number" }) {
  const parts = [
    integer ? "whole number" : "number",
    between(minimum, maximum, ""),
    above !== undefined && `more than ${above}`,
    below !== undefined && `less than ${below}`,
    multipleOf !== undefined && `a multiple of ${multipleOf}`,
  ];
  return parts.filter(Boolean).join(", ");
}

function between(min: number | undefined, max: number | undefined, unit: string): string | undefined {
  if (min === undefined && max === undefined) return undefined;
  const range = min === undefined ? `at most ${max}` : max === undefined ? `at least ${min}` : `${min} to ${max}`;
  return `${range} ${unit}`.trim();
}
