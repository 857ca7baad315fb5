/** A part of a schema that JSON Schema has no word for. */
export interface Unwritable {
  path: string;
  kind: string;
}

/** Which values a schema is written for: those that it accepts, or those that it makes. */
export interface Writing {
  side: "input" | "output";
  /** Called for each part that JSON does not have. */
  unwritable?: (part: Unwritable) => void;
}

const INSTEAD: Record<string, string> = {
  date: "take text and convert it: z.iso.datetime(), z.coerce.date(), or z.string().pipe(z.coerce.date())",
  bigint: "take an integer or its text: z.int(), or z.string().transform(BigInt)",
  map: "take an object: z.record(z.string(), ...)",
  set: "take an array: z.array(...)",
  transform: "put a schema before it: z.string().transform(...)",
  custom: "describe what it accepts with a built-in schema and refine that: z.string().refine(...)",
  undefined: "make the member optional: .optional()",
};

export function explainUnwritable({ path, kind }: Unwritable): string {
  const where = path === "" ? "the schema itself" : `"${path}"`;
  return `${where} is of kind "${kind}", which JSON cannot carry; ${INSTEAD[kind] ?? "use a kind that JSON has"}`;
}
